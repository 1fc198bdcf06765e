"""`mrprep dedupe`: the documents that are kept, as files of text."""

from pathlib import Path

from mrprep.books import Exported, document_facts
from mrprep.builddir.manifest import Build
from mrprep.building.attempt import Say, made
from mrprep.building.texts import read_texts
from mrprep.building.tokens import sizes
from mrprep.config import Pipeline
from mrprep.engine.work import Work
from mrprep.finish import finish
from mrprep.places import document_places
from mrprep.plan import Plan
from mrprep.request import Request, RunOptions
from mrprep.stages import export


def deduplicate(pipeline: Pipeline, out: Path, form: export.Form, options: RunOptions, say: Say) -> Build:
    """Write the documents that the map stages and dedupe of a pipeline leave, as jsonl or Parquet.

    Raises:
        MrprepError: the inputs, the options or what stands at ``out`` do not allow it.
        BugError: the ledger does not add up; nothing is published.
    """
    return made(pipeline, out, options, say, form, _export)


def _export(request: Request, found: Plan, out: Path, options: RunOptions, work: Work) -> Build:
    form: export.Form = "parquet" if request.form == "parquet" else "jsonl"
    texts = read_texts(work, request, found, options)
    assert texts.verdict is not None
    units = [export.ExportUnit(part, texts.verdict, form) for part in texts.parts]
    settings = {"version": export.VERSION, "form": form}
    written = work("export", units, export.export_unit, settings=settings, weights=sizes(texts.parts))
    exported = Exported(texts, written, form)
    said, places = document_facts(request, found, exported), dict(document_places(exported))
    return finish(request, said, places, work, out, options)
