"""The first phase: read spans of files, pass their documents through the map stages, write and sketch the rest.

Not a stage of a pipeline but what runs its map stages, fused into one pass over the input. Costs one decode,
one pass of each map stage and one Parquet write a document; memory is a batch of some megabytes.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path

import orjson
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mrprep.builddir.textpart import TextPartWriter, join
from mrprep.document import BadRecord, Document, Dropped, MapItem, ReadItem
from mrprep.duplicates.sketches import Sketches
from mrprep.engine.parts import Parts
from mrprep.errors import MrprepError
from mrprep.printable import file_name
from mrprep.sources import guarded
from mrprep.sources.read import read
from mrprep.sources.spans import Span, count_lines
from mrprep.stages import boilerplate, clean, decontaminate, dedupe, own, paragraphs
from mrprep.stages import filter as filtering

VERSION = 3
PIECES = "pieces"
"""Phase that reads the pieces of long documents."""
_Map = Callable[[Iterable[Document]], Iterator[MapItem]]


@dataclass(frozen=True, slots=True)
class ReadUnit:
    """What one worker reads, and what it does with it."""

    spans: tuple[Span, ...]
    part_characters: int
    """A part ends before the first document that begins after so many characters."""
    stages: tuple[str, ...]
    """Names of the pipeline's stages; those that are maps run here, and the sketch if dedupe comes next."""
    clean: clean.Options
    filter: filtering.Options
    dedupe: dedupe.Options
    decontaminate: decontaminate.Options
    evaluation: Path | None
    """Directory of the index of evaluation sets, if decontaminate is a stage."""
    own: tuple[own.OwnStage, ...]
    """Those of the stages that are the user's own."""
    strict: bool
    """Stop at the first record, file or byte that cannot be read."""
    pieces: tuple[Path, ...] = ()
    """Parts of the one long document that it is, which `read_pieces` has written."""

    @property
    def label(self) -> str:
        """Name the files for a message."""
        paths = list(dict.fromkeys(file_name(span.source, span.path) for span in self.spans))
        return ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")


def read_unit(unit: ReadUnit, parts: Parts) -> None:
    """Publish the unit's parts, going on after those that are there.

    Raises:
        MrprepError: ``strict`` and something could not be read.
    """
    if unit.pieces:
        if not parts.done:
            with parts.new() as out:
                _join(unit, out)
        return
    reader = guarded.read if parts.again else read
    items = _Items(chain.from_iterable(map(reader, unit.spans)), _consumed(parts))
    while parts.done == 0 or items.more:
        with parts.new() as out:
            _write_part(_part(items, unit.part_characters), unit, out, _sketches(unit))
            (out / "consumed.json").write_bytes(orjson.dumps(items.consumed))


def read_pieces(unit: ReadUnit, out: Path) -> None:
    """Write a range of pieces of a long document as a part, without a sketch.

    Raises:
        MrprepError: ``strict`` and something could not be read.
    """
    _write_part(chain.from_iterable(map(read, unit.spans)), unit, out, dedupe.sketches(None))


def refuse_unread(folders: Iterable[Path]) -> None:
    """Say what ``strict`` would have stopped at in parts, or in a build, that were read without it.

    Raises:
        MrprepError: a record, a file or a byte could not be read; the first is named.
    """
    for folder in folders:
        for path in sorted(folder.rglob("dropped*.parquet")) + sorted(folder.rglob("dropped/*.parquet")):
            for row in pq.read_table(path, filters=(pc.field("stage") == "read") | _failed()).to_pylist():
                _stop(f"{file_name(row['source'], row['path'])}:{row['line']}: {row['detail']}")
        for path in sorted(folder.rglob("files*.parquet")):
            told = (pc.field("problem") != "") | (pc.field("replaced") > 0)
            for row in pq.read_table(path, filters=told).to_pylist():
                _stop(f"{file_name(row['source'], row['path'])}: {_fault(row['problem'], row['replaced'])}")


def count_unit(spans: Sequence[Span], out: Path) -> None:
    """Write how many lines each span ends, for the line numbers of the spans after it."""
    (out / "lines.json").write_bytes(orjson.dumps([count_lines(span) for span in spans]))


class _Items:
    """The items of a unit, of which one is looked at ahead when that is asked for, and a count of those taken."""

    def __init__(self, items: Iterator[ReadItem], skip: int) -> None:
        self._items = islice(items, skip, None)
        self.consumed = skip
        self.next: ReadItem | None = None

    @property
    def more(self) -> bool:
        if self.next is None:
            self.next = next(self._items, None)
        return self.next is not None

    def take(self) -> ReadItem:
        item, self.next = self.next, None
        self.consumed += 1
        assert item is not None
        return item


def _consumed(parts: Parts) -> int:
    if not parts.done:
        return 0
    return int(orjson.loads((parts.path / f"{parts.done - 1:04d}" / "consumed.json").read_bytes()))


def _part(items: _Items, limit: int) -> Iterator[ReadItem]:
    characters = 0
    while items.more:
        if isinstance(items.next, Document):
            if characters >= limit and items.next.place.piece == 0:
                return
            characters += len(items.next.text)
        yield items.take()


def _join(unit: ReadUnit, out: Path) -> None:
    sketches = _sketches(unit)
    join(unit.pieces, out, sketches.add)
    sketches.save(out)


def _sketches(unit: ReadUnit) -> Sketches:
    return dedupe.sketches(unit.dedupe if _is_sketched_here(unit.stages) else None)


def _write_part(items: Iterator[ReadItem], unit: ReadUnit, out: Path, sketches: Sketches) -> None:
    writer = TextPartWriter(out, sketches.add)
    flow = _documents(items, writer, strict=unit.strict)
    for name, stage in _maps(unit, writer):
        flow = _passed(stage(flow), name, writer, strict=unit.strict)
    for document in flow:
        writer.keep(document)
    writer.close()
    sketches.save(out)


def _is_sketched_here(stages: tuple[str, ...]) -> bool:
    """Tell whether dedupe follows and no stage before it changes texts again."""
    return "dedupe" in stages and not {boilerplate.STAGE, paragraphs.STAGE} & set(stages)


def _maps(unit: ReadUnit, writer: TextPartWriter) -> Iterator[tuple[str, _Map]]:
    """Yield the map stages of the pipeline in the order in which it lists them."""

    def note(hit: decontaminate.Hit) -> None:
        writer.hit(hit.document.place, hit.run.place, hit.text)

    known: dict[str, _Map] = {
        "clean": lambda documents: clean.clean(documents, unit.clean),
        "filter": lambda documents: filtering.filter_documents(documents, unit.filter),
        decontaminate.STAGE: lambda documents: decontaminate.decontaminate(
            documents, unit.decontaminate, unit.evaluation or Path(), note
        ),
        **{stage.name: partial(own.passed, stage) for stage in unit.own},
    }
    return ((name, known[name]) for name in unit.stages if name in known)


def _documents(items: Iterator[ReadItem], writer: TextPartWriter, *, strict: bool) -> Iterator[Document]:
    for item in items:
        if isinstance(item, Document):
            writer.saw(item)
            yield item
        elif isinstance(item, BadRecord):
            writer.bad(item)
            if strict:
                _stop(f"{file_name(item.place.source, item.place.path)}:{item.place.line}: {item.message}")
        else:
            writer.note(item)
            if strict and (item.problem or item.replaced):
                _stop(f"{file_name(item.source, item.path)}: {_fault(item.problem, item.replaced)}")


def _failed() -> pc.Expression:
    """Return what finds the documents over which a stage of the user's own failed."""
    return pc.match_substring(pc.field("stage"), ":") & (pc.field("reason") == own.FAILED)


def _fault(problem: str, replaced: int) -> str:
    return problem or f"{replaced:,} bytes that cannot be decoded would become U+FFFD"


def _stop(what: str) -> None:
    raise MrprepError(f"{what} (--strict stops at the first input that cannot be read; without it, it is counted)")


def _passed(items: Iterator[MapItem], stage: str, writer: TextPartWriter, *, strict: bool) -> Iterator[Document]:
    for item in items:
        if isinstance(item, Dropped):
            writer.drop(item, stage)
            if strict and own.is_own(stage) and item.reason == own.FAILED:
                place = item.document.place
                _stop(f"{file_name(place.source, place.path)}:{place.line}: stage {stage} failed: {item.detail}")
        else:
            yield item
