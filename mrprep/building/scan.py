"""`mrprep plan --scan`: what dedupe would take out of all the input."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from mrprep.building.attempt import Say, working
from mrprep.building.texts import read_texts
from mrprep.config import Pipeline
from mrprep.plan import plan
from mrprep.request import Request, RunOptions


def duplicate_share(pipeline: Pipeline, options: RunOptions, say: Say) -> float:
    """Return the share of the documents that pass the map stages which dedupe takes out; all input is read.

    The work is done, and thrown away, in a temporary directory.

    Raises:
        MrprepError: the inputs do not allow it.
    """
    found = plan(pipeline.source, None, strict=options.strict)
    request = Request.of(pipeline, found, options)
    with (
        TemporaryDirectory(prefix="mrprep-scan-") as folder,
        working(request, found, Path(folder), options, say) as work,
    ):
        verdict = read_texts(work, request, found, options).verdict
        return float((np.load(verdict) != -1).mean()) if verdict else 0.0
