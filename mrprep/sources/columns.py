"""Columns of Arrow tables, as Parquet and Arrow files hold them: which hold the text, and their rows as documents.

Text may be string, large_string, string_view, dictionary or binary (as UTF-8), in one column or several, nested ones
by their path.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from typing import Any

from mrprep.document import BadRecord, Document, Place
from mrprep.printable import printable
from mrprep.sources.files import UnreadableError
from mrprep.sources.pieces import MAX_PIECE, documents, documents_of, is_utf8, text_blocks
from mrprep.sources.span import Span
from mrprep.sources.texts import finite

_ROWS, _BYTES = 256, 1 << 20
"""Of the rows that are decoded at a time, the most."""
_NAMED = 12


def text_columns(schema: Any, names: Sequence[str]) -> list[str]:
    """Return the paths of those of the columns named that are there, all of text.

    Raises:
        UnreadableError: none is there, or one holds something else.
    """
    kinds = {name: kind for name in names if (kind := _type_of(schema, name)) is not None}
    if not kinds:
        there, named = (", ".join(f'"{printable(name, 60)}"' for name in each) for each in (_paths(schema), names))
        raise UnreadableError(f"has no column {named}; columns there: {there or 'none'}")
    for name, kind in kinds.items():
        if not _is_text(kind):
            raise UnreadableError(f'column "{printable(name)}" is {printable(str(kind))}, not text')
    return list(kinds)


def score_columns(schema: Any, name: str | None) -> list[str]:
    """Return the column that rates documents, if it is there and holds numbers."""
    from pyarrow import types

    kind = _type_of(schema, name) if name else None
    if kind is not None and types.is_dictionary(kind):
        kind = kind.value_type
    numbers = (types.is_integer, types.is_floating, types.is_decimal)
    return [name] if name and kind is not None and any(is_kind(kind) for is_kind in numbers) else []


def column(batch: Any, name: str) -> Any:
    """Return a column of a record batch by its name or its path through structs."""
    import pyarrow.compute as pc

    if name in batch.schema.names:
        return batch.column(name)
    head, *rest = name.split(".")
    return pc.struct_field(batch.column(head), rest)


def rows_at_a_time(rows: int, size: int) -> int:
    """Return how many of ``rows`` rows that have ``size`` bytes together are to be decoded at a time."""
    return max(1, min(_ROWS, _BYTES * rows // max(1, size)))


def read_rows(span: Span, texts: Sequence[Any], scores: Sequence[Any], row: int) -> Iterator[Document | BadRecord]:
    """Yield the documents and bad records of rows, the first of which is ``row``, counted from 0.

    Args:
        span: that they belong to.
        texts: arrays of its text columns.
        scores: the array of the column that rates documents, if there is one.
        row: number of the first row.
    """
    columns = [map(_bytes_of, array) for array in texts]
    rated = [finite(value) for value in scores[0].to_pylist()] if scores else repeat(None)
    for number, (*values, score) in enumerate(zip(*columns, rated, strict=bool(scores)), row):
        yield from _row(span, values, score, number)


def as_bytes(array: Any) -> Any:
    """Return an array of text, or a dictionary of such, with its values as bytes."""
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        return pa.DictionaryArray.from_arrays(array.indices, as_bytes(array.dictionary))
    kinds = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
    return array.cast(kinds.get(array.type, array.type))


def _row(
    span: Span, values: Sequence[memoryview | None], score: float | None, row: int
) -> Iterator[Document | BadRecord]:
    place = Place(span.source, span.path, row, row + 1)
    texts = [value for value in values if value is not None]
    if not texts:
        yield BadRecord(place, "null-text", "the text is null")
    elif sum(map(len, texts)) > MAX_PIECE:
        yield from _long_row(span, texts, score, row)
    else:
        try:
            text = "\n\n".join(str(value, "utf-8") for value in texts)
        except UnicodeDecodeError:
            yield _not_utf8(place)
        else:
            yield from documents(span.source, span.path, row, row + 1, text, score)


def _long_row(span: Span, texts: Sequence[memoryview], score: float | None, row: int) -> Iterator[Document | BadRecord]:
    """Yield the pieces of a text that is never held whole but in its column."""
    if not all(map(is_utf8, texts)):
        yield _not_utf8(Place(span.source, span.path, row, row + 1))
        return
    blocks = chain(text_blocks(texts[0]), *(chain([b"\n\n"], text_blocks(text)) for text in texts[1:]))
    yield from documents_of(span.source, span.path, row, row + 1, blocks, score)


def _not_utf8(place: Place) -> BadRecord:
    return BadRecord(place, "bad-utf8", "the text is not UTF-8")


def _bytes_of(value: Any) -> memoryview | None:
    """Return the bytes of a scalar of text, which are not copied; None of null."""
    if not value.is_valid:
        return None
    return memoryview(getattr(value, "value", value).as_buffer())


def _type_of(schema: Any, name: str) -> Any:
    """Return the Arrow type of a column by its name or its path through structs; None if there is none.

    Raises:
        UnreadableError: there are several.
    """
    import pyarrow as pa

    for each in (name, name.partition(".")[0]):
        if schema.names.count(each) > 1:
            raise UnreadableError(f'has several columns named "{printable(each)}"')
    if name in schema.names:
        return schema.field(name).type
    head, *rest = name.split(".")
    kind = schema.field(head).type if head in schema.names else None
    for part in rest:
        if kind is None or not pa.types.is_struct(kind) or kind.get_field_index(part) < 0:
            return None
        kind = kind.field(part).type
    return kind


def _paths(schema: Any) -> list[str]:
    """Return the paths of the first columns, for a message."""
    return [path for field in schema for path in _inner(field, "")][:_NAMED]


def _inner(field: Any, before: str) -> Iterator[str]:
    import pyarrow as pa

    if not pa.types.is_struct(field.type):
        yield before + field.name
        return
    for i in range(field.type.num_fields):
        yield from _inner(field.type.field(i), f"{before}{field.name}.")


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    return any(
        is_kind(kind)
        for is_kind in (
            types.is_string,
            types.is_large_string,
            types.is_string_view,
            types.is_binary,
            types.is_large_binary,
            types.is_binary_view,
            types.is_fixed_size_binary,
            types.is_null,
        )
    )
