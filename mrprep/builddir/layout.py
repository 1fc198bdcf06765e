"""The names inside a build directory and its work directory."""

import re
from pathlib import Path, PurePosixPath

MANIFEST = "manifest.json"
RUN = "run.json"
SUMMARY = "report/summary.json"
TEXT, DROPPED, FILES = (
    "text/part-{:05d}.parquet",
    "dropped/part-{:05d}.parquet",
    "report/files-{:05d}.parquet",
)
HITS = "report/hits-{:05d}.parquet"
DUPLICATES = "report/duplicates.json"
CLUSTERS = "dedup/clusters.parquet"
SKETCH = "dedup/part-{:05d}/{}.npy"
VERDICT = "dedup/verdict.npy"
REMOVED = "dedup/removed.npy"
REMOVED_NAMES = "dedup/removed-names.npy"
TOKENIZER = "tokenizer"
DOCUMENTS = "documents/part-{number:05d}.{form}"
SHARD = "{split}/{split}-{number:05d}.mindrecord"
PROVENANCE = "provenance/{split}-{number:05d}.parquet"
LOCK = "mrprep.lock"
INPUTS = "inputs.json"
CHANGE = "change.json"
"""In the work directory: what a change of a finished build puts in and takes away, until it is done."""
UPLOAD = "upload.json"
"""At the URL that a build is uploaded to, until it is whole: whose files lie there."""
UPLOADED = "uploaded.jsonl"
"""In the work directory: the files that an upload has sent."""
FORMAT = 1
"""Version of the build directory; the key ``mrprep`` of a manifest."""

_CHANGING = re.compile(
    r"((text|dropped)/part|report/(files|hits))-\d{5,}(\.\d+)?\.parquet"
    r"|report/(duplicates|summary)(\.\d+)?\.json"
    r"|dedup/(clusters(\.\d+)?\.parquet|(verdict|removed|removed-names|part-\d{5,}/(documents|bands))(\.\d+)?\.npy)"
    r"|(train/train|valid/valid)-\d{5,}\.mindrecord(\.db)?"
    r"|provenance/(train|valid)-\d{5,}\.parquet"
)


def changing(name: str) -> bool:
    """Return whether a file of a build has a name of those that its changes put in and take away."""
    return _CHANGING.fullmatch(name) is not None


def work_of(out: Path) -> Path:
    """Return where the work for a build goes: beside it, on the same file system."""
    return out.with_name(out.name + ".work")


def successor(name: str, generation: int) -> str:
    """Return under which name the ``generation``-th change of a build puts what takes the place of a file.

    ``dedup/verdict.npy`` becomes ``dedup/verdict.2.npy``.
    """
    path = PurePosixPath(name)
    return str(path.with_name(f"{path.stem}.{generation}{path.suffix}"))
