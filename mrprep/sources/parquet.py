"""Reads Parquet: a row is a document, its text in one column or several, nested ones by their path.

Text may be string, large_string, string_view, dictionary or binary (as UTF-8). Memory: pages of the text
columns and ``_ROWS`` rows, whatever the size of a row group.
"""

from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any

from mrprep.document import BadRecord, Document, Place
from mrprep.printable import printable
from mrprep.sources.files import UnreadableError, open_file
from mrprep.sources.found import Found
from mrprep.sources.pieces import documents, without_surrogates
from mrprep.sources.span import Span
from mrprep.sources.texts import finite

_ROWS = 256
"""Rows that are decoded at a time; documents are held whole, so few."""


def row_groups(span: Span) -> list[tuple[int, int]]:
    """Return rows and bytes (of all columns, uncompressed) of each row group; empty if the file is not in order.

    The sizes of single columns are not asked for: pyarrow aborts the process over some that are damaged.
    """
    try:
        with _open(span) as file:
            _leaves(file, span.text)
            groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
            sizes = [(group.num_rows, group.total_byte_size) for group in groups]
    except (OSError, ValueError, UnreadableError):
        return []
    return sizes if all(rows >= 0 and size >= 0 for rows, size in sizes) else []


def read(span: Span, found: Found) -> Iterator[Document | BadRecord]:
    """Yield the documents and bad records of the row groups in ``span.start..stop``, in row order.

    Raises:
        UnreadableError: the file is no Parquet, or is damaged, or has no such column of text.
        OSError: it cannot be opened.
    """
    found.encoding = "utf-8"
    with _open(span) as file:
        leaves = _leaves(file, span.text)
        scores = _scores(file.schema_arrow, span.score)
        groups, row = _groups_of(span, file.metadata)
        promised = [file.metadata.row_group(i).num_rows for i in groups]
        if any(rows < 0 for rows in promised):
            raise UnreadableError("is damaged: a row group says that it holds fewer than no rows")
        end = row + sum(promised)
        try:
            for batch in file.iter_batches(_ROWS, row_groups=groups, columns=[*leaves, *scores], use_threads=False):
                columns = [_values(batch, name) for name in leaves]
                rated = [finite(value) for value in _values(batch, scores[0])] if scores else repeat(None)
                for *values, score in zip(*columns, rated, strict=bool(scores)):
                    yield from _row(span, values, score, row, found)
                    row += 1
        except (OSError, ValueError) as error:
            raise UnreadableError(f"is damaged at row {row + 1} or later ({printable(str(error))})") from None
        if row != end:
            raise UnreadableError(f"is damaged: it ends after row {row}, and says that it holds {end}")


def _row(
    span: Span, values: Sequence[Any], score: float | None, row: int, found: Found
) -> Iterator[Document | BadRecord]:
    place = Place(span.source, span.path, row, row + 1)
    texts = [value for value in values if value is not None]
    if not texts:
        yield BadRecord(place, "null-text", "the text is null")
        return
    try:
        text = "\n\n".join(value.decode() if isinstance(value, bytes) else value for value in texts)
    except UnicodeDecodeError:
        yield BadRecord(place, "bad-utf8", "the text is not UTF-8")
        return
    yield from documents(span.source, span.path, row, row + 1, without_surrogates(text, found), score)


def _open(span: Span) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = open_file(span.full_path)
    try:
        return pq.ParquetFile(file, buffer_size=1 << 20, pre_buffer=False)
    except (pa.ArrowException, OSError, ValueError) as error:
        file.close()
        raise UnreadableError(f"is no readable Parquet file ({printable(str(error))})") from None


def _leaves(file: Any, names: Sequence[str]) -> list[str]:
    """Return the paths of those of the columns named that are there, all of text.

    Raises:
        UnreadableError: none is there, or one holds something else.
    """
    schema = file.schema_arrow
    kinds = {name: kind for name in names if (kind := _type_of(schema, name)) is not None}
    if not kinds:
        leaves = [file.schema.column(i).path for i in range(min(12, len(file.schema)))]
        there, named = (", ".join(f'"{printable(name, 60)}"' for name in each) for each in (leaves, names))
        raise UnreadableError(f"has no column {named}; columns there: {there or 'none'}")
    for name, kind in kinds.items():
        if not _is_text(kind):
            raise UnreadableError(f'column "{printable(name)}" is {printable(str(kind))}, not text')
    return list(kinds)


def _scores(schema: Any, name: str | None) -> list[str]:
    """Return the column that rates documents, if it is there and holds numbers."""
    from pyarrow import types

    kind = _type_of(schema, name) if name else None
    if kind is not None and types.is_dictionary(kind):
        kind = kind.value_type
    numbers = (types.is_integer, types.is_floating, types.is_decimal)
    return [name] if name and kind is not None and any(is_kind(kind) for is_kind in numbers) else []


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


def _values(batch: Any, name: str) -> list[Any]:
    """Return a column as Python strings, bytes and None."""
    import pyarrow.compute as pc

    if name in batch.schema.names:
        return list(_listed(batch.column(name)))
    head, *rest = name.split(".")
    return list(_listed(pc.struct_field(batch.column(head), rest)))


def _listed(array: Any) -> list[Any]:
    from pyarrow import types

    kind = array.type.value_type if types.is_dictionary(array.type) else array.type
    try:
        return list(array.to_pylist())
    except UnicodeDecodeError:
        import pyarrow as pa

        plain = array.dictionary_decode() if types.is_dictionary(array.type) else array
        return list(plain.cast(pa.large_binary() if kind != pa.string_view() else pa.binary_view()).to_pylist())


def _groups_of(span: Span, metadata: Any) -> tuple[list[int], int]:
    """Return the row groups of a span and its first row."""
    starts = [0]
    for index in range(metadata.num_row_groups):
        starts.append(starts[-1] + metadata.row_group(index).num_rows)
    if span.whole:
        return list(range(metadata.num_row_groups)), 0
    return [i for i in range(metadata.num_row_groups) if span.start <= starts[i] < span.stop], span.start
