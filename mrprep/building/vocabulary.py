"""`mrprep tokenizer train`: the vocabulary that a build would train, as a file."""

from pathlib import Path

from mrprep.builddir.change import place
from mrprep.builddir.layout import work_of
from mrprep.builddir.lock import locked
from mrprep.building.attempt import Say, worked
from mrprep.building.texts import read_texts
from mrprep.building.tokens import vocabulary_of
from mrprep.config import Pipeline
from mrprep.engine.work import Work
from mrprep.plan import plan
from mrprep.request import Request, RunOptions, clear, settle_work
from mrprep.stages import tokenize


def train_tokenizer(pipeline: Pipeline, out: Path, options: RunOptions, say: Say) -> None:
    """Train a vocabulary on the sources of a pipeline, as a build would, and write it to the file ``out``.

    Raises:
        MrprepError: the inputs or the options do not allow it.
    """
    found = plan(pipeline.source, out, strict=options.strict)
    request = Request.of(pipeline, found, options)
    home = work_of(out)
    with locked(home):
        settle_work(request, home, overwrite=options.overwrite, say=say)

        def make(work: Work) -> Path:
            texts = read_texts(work, request, found, options)
            return vocabulary_of(work, pipeline, texts.parts, texts.verdict)

        vocabulary = worked(request, found, home, options, say, make)
        place(vocabulary / tokenize.MODEL, out, copy=options.keep_work)
        if not options.keep_work:
            clear(home)
