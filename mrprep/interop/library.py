"""A build from Python: made, opened, its rows, its documents, and which documents a row is of.

Every mistake of a caller is a ``MrprepError``, here and in ``dataset`` and ``TorchRows``.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mrprep.builddir.layout import VERDICT
from mrprep.builddir.manifest import Build, url_of
from mrprep.builddir.manifest import open_build as read_manifest
from mrprep.building.build import build as build_phases
from mrprep.config import load_pipeline, with_inputs
from mrprep.errors import MrprepError, UsageError
from mrprep.mindrecord.read import Columns, read_rows
from mrprep.printable import printable
from mrprep.provenance import tables
from mrprep.request import RunOptions
from mrprep.stages.export import survivors
from mrprep.training.shards import place

Place = str | os.PathLike[str]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Text:
    """A document that stays, or one piece of a document of over 16 MB."""

    id: str
    """Sixteen hexadecimal digits: what ``mrprep why`` takes."""
    source: str
    path: str
    """Relative to its source."""
    line: int
    """Where it begins, counted from 1."""
    piece: int
    text: str
    """Cleaned."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of a document in a row."""

    at: int
    """Where it stands in the row."""
    length: int
    """Tokens."""
    token: int
    """Its first token's number in the document."""
    id: str
    """Of the document."""
    source: str
    where: str
    """``path:line``, relative to the source."""


@dataclass(frozen=True, slots=True)
class OpenBuild:
    """A finished build."""

    path: Path
    manifest: Mapping[str, Any]
    """``manifest.json``."""

    @property
    def splits(self) -> dict[str, int]:
        """Name of each split -> its rows; none of what ``mrprep dedupe`` has made."""
        return {name: split["rows"] for name, split in self.manifest["splits"].items()}

    def shards(self, split: str = "train") -> list[Path]:
        """Return the MindRecord files of a split, sorted; its rows are numbered through them.

        Raises:
            MrprepError: there is no such split.
        """
        if split not in self.splits:
            names = ", ".join(self.splits) or "none"
            raise MrprepError(
                f"{printable(str(self.path))} has no {printable(split)} split ({names}): name one of them"
            )
        return sorted(self._build.shards(split))

    def rows(self, split: str = "train", indices: Sequence[int] | I64 | None = None) -> Iterator[Columns]:
        """Yield rows, column -> int32[places], in the order asked for, or all in order; 30 Mtok/s.

        Raises:
            NoRowError: an index lies outside the split; an ``IndexError`` too.
            MrprepError: there is no such split, or a shard cannot be read.
        """
        names = ["input_ids", "labels", "loss_mask", "position_ids", "actual_seq_len"]
        columns = names if self.manifest.get("layout") == "mcore" else names[:1]
        return read_rows(self.shards(split), columns, indices)

    def documents(self) -> Iterator[Text]:
        """Yield the documents that stay after cleaning, filtering and deduplication, in the order they were read."""
        verdict = np.load(self._build.file(VERDICT), mmap_mode="r") if self._build.holds(VERDICT) else None
        for part in self.manifest["text"]["parts"]:
            mine = None if verdict is None else verdict[part["base"] : part["base"] + part["rows"]]
            for _, table in survivors(self._build.file(part["file"]), mine):
                yield from (Text(**record) for record in table.to_pylist())

    def provenance(self, row: int, split: str = "train") -> list[Stretch]:
        """Return which documents a row is of, in the order in which they stand in it.

        Args:
            row: its number in the split, as ``rows`` counts.
            split: name of the split.

        Raises:
            NoRowError: there is no such row; an ``IndexError`` too.
            MrprepError: there is no such split, or a table is damaged.
        """
        self.shards(split)
        shard, within = place(self._build, split, row)
        found = tables.stretches_of_row(self._build, dict(shard), within)
        return [self._stretch(line) for line in found]

    def _stretch(self, line: Mapping[str, Any]) -> Stretch:
        document, _, _ = tables.by_ordinal(self._build, line["doc"])
        name = f"{document.id:016x}"
        return Stretch(line["at"], line["length"], line["token"], name, document.source, document.place)

    @property
    def _build(self) -> Build:
        return Build(self.path, self.manifest)


def open_build(path: Place) -> OpenBuild:
    """Open a finished build.

    Raises:
        MrprepError: there is none, it is of a later format, or damaged.
    """
    found = read_manifest(Path(path))
    return OpenBuild(found.path, found.manifest)


def build(
    inputs: Place | Sequence[Place],
    out: Place,
    *,
    pipeline: str = "default",
    options: Mapping[str, Any] | None = None,
    jobs: int | None = None,
    overwrite: bool = False,
    strict: bool = False,
    allow_code: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> OpenBuild:
    """Make a build, as ``mrprep build`` does; killed, the same call goes on where it was.

    Workers are spawned: a script that calls this needs ``if __name__ == "__main__":``.

    Args:
        inputs: files and folders of text; none: those that the pipeline file names.
        out: directory to make.
        pipeline: name of a shipped pipeline, or path of a ``.toml``.
        options: laid over the pipeline, as its file has them: ``{"seed": 1, "pack": {"seq": 512}}``.
        jobs: worker processes, which decide no byte; one a core if None.
        overwrite: replace another build at ``out``.
        strict: stop at the first input that cannot be read.
        allow_code: run the stages of the pipeline that are its author's own code (docs/stages.md).
        say: is given lines for the user.

    Raises:
        MrprepError: the inputs, the options or what stands at ``out`` do not allow it.
    """
    overrides: dict[str, dict[str, Any]] = {"": {}}
    for key, value in (options or {}).items():
        if isinstance(value, Mapping):
            overrides[key] = dict(value)
        else:
            overrides[""][key] = value
    chosen = load_pipeline(pipeline, overrides)
    given = [inputs] if isinstance(inputs, str | os.PathLike) else inputs
    if given:
        chosen = with_inputs(chosen, [os.fspath(each) for each in given])
    if not chosen.source:
        raise UsageError("no inputs: name files or folders of text, or a pipeline that has a [[source]]")
    if url := url_of(Path(out)):
        raise UsageError(f"{url} is a URL: name a directory (mrprep build uploads to URLs)")
    workers = jobs or len(os.sched_getaffinity(0))
    switches = RunOptions(workers, overwrite=overwrite, strict=strict, allow_code=allow_code)
    made = build_phases(chosen, Path(out), switches, say)
    return OpenBuild(made.path, made.manifest)
