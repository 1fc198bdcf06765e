"""What cleaning would do to the documents of a file, as lines for a terminal. Reads at the speed of cleaning."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from mrprep.cleaning.show import changes
from mrprep.config import Pipeline, command_line_sources
from mrprep.document import BadRecord, Document, FileNote, ReadItem
from mrprep.plan import plan
from mrprep.printable import printable
from mrprep.sources.read import read
from mrprep.stages import clean


def preview(
    file: Path | str, pipeline: Pipeline, documents_shown: int | None, changes_a_rule: int | None, *, colour: bool
) -> Iterator[str]:
    """Yield the changes of the first documents that cleaning changes, then how many there are in all.

    Args:
        file: a path, or a URL; read as a build with this pipeline would read it.
        pipeline: its ``input`` and ``clean`` tables are used.
        documents_shown: most documents whose changes are shown; None shows all.
        changes_a_rule: most changes of one rule in one document that are shown; None shows all.
        colour: whether to mark changes by colours.

    Raises:
        MrprepError: there is no such file, or nothing in it that is read.
    """
    seen, edits = Counter[str](), Counter[str]()
    for item in _items(file, pipeline):
        if isinstance(item, Document):
            (cleaned,) = clean.clean([item], pipeline.clean)
            assert isinstance(cleaned, Document)
            seen["documents"] += 1
            seen["changed"] += bool(cleaned.edits)
            edits.update(cleaned.edits)
            if cleaned.edits and (documents_shown is None or seen["changed"] <= documents_shown):
                yield f"{printable(item.place.path)}:{item.place.line}  {_listed(cleaned.edits)}"
                yield from changes(clean.steps(item, pipeline.clean), changes_a_rule, colour=colour)
        else:
            yield from _problem(item)
    yield f"{seen['documents']:,} documents, {seen['changed']:,} changed" + (f": {_listed(edits)}" if edits else "")


def _items(file: Path | str, pipeline: Pipeline) -> Iterator[ReadItem]:
    found = plan(command_line_sources([file], pipeline.input), Path(f"{file}.build"))
    return (item for unit in found.units for span in unit for item in read(span))


def _problem(item: BadRecord | FileNote) -> Iterator[str]:
    if isinstance(item, BadRecord):
        yield f"{printable(item.place.path)}:{item.place.line}  not a document: {printable(item.message)}"
    elif item.problem:
        yield f"{printable(item.path)}  not read: {printable(item.problem)}"


def _listed(edits: Mapping[str, int]) -> str:
    return ", ".join(f"{rule} {count:,}" for rule, count in sorted(edits.items(), key=lambda edit: (-edit[1], edit[0])))
