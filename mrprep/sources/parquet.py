"""Reads Parquet: a row is a document. Memory: the dictionary and a page of each text column, and some rows: about 1 MB
of them, or one that is larger.
"""

from collections.abc import Iterator
from io import BytesIO
from typing import Any

from mrprep.document import BadRecord, Document
from mrprep.printable import printable
from mrprep.sources.columns import column, read_rows, rows_at_a_time, score_columns, text_columns
from mrprep.sources.files import UnreadableError, open_file
from mrprep.sources.found import Found
from mrprep.sources.span import Span


def row_groups(span: Span) -> list[tuple[int, int]]:
    """Return rows and bytes (of all columns, uncompressed) of each row group; empty if the file is not in order.

    The sizes of single columns are not asked for: pyarrow aborts the process over some that are damaged.
    """
    try:
        with _open(span) as file:
            text_columns(file.schema_arrow, span.text)
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
        texts, scores = text_columns(file.schema_arrow, span.text), score_columns(file.schema_arrow, span.score)
        groups, row = _groups_of(span, file.metadata)
        promised = [file.metadata.row_group(i).num_rows for i in groups]
        wanted = [*texts, *scores]
        if any(rows < 0 for rows in promised):
            raise UnreadableError("is damaged: a row group says that it holds fewer than no rows")
        end = row + sum(promised)
        try:
            for group, rows in zip(groups, promised, strict=True):
                some = rows_at_a_time(rows, file.metadata.row_group(group).total_byte_size)
                for batch in file.iter_batches(some, row_groups=[group], columns=wanted, use_threads=False):
                    text, score = ([column(batch, name) for name in names] for names in (texts, scores))
                    yield from read_rows(span, text, score, row)
                    row += batch.num_rows
        except (OSError, ValueError) as error:
            raise UnreadableError(f"is damaged at row {row + 1} or later ({printable(str(error))})") from None
        if row != end:
            raise UnreadableError(f"is damaged: it ends after row {row}, and says that it holds {end}")


def _open(span: Span) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = open_file(span.full_path)
    try:
        found = pq.ParquetFile(file, buffer_size=1 << 20, pre_buffer=False)
        if not any(map(pa.types.is_dictionary, found.schema_arrow.types)):
            return found
        return pq.ParquetFile(file, metadata=_plain(found), buffer_size=1 << 20, pre_buffer=False)
    except (pa.ArrowException, OSError, ValueError) as error:
        file.close()
        raise UnreadableError(f"is no readable Parquet file ({printable(str(error))})") from None


def _plain(file: Any) -> Any:
    """Return the metadata of a file by which dictionaries are read as values: made anew they take more."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = [field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in file.schema_arrow]
    schema = pa.schema([field.with_type(kind) for field, kind in zip(file.schema_arrow, kinds, strict=True)])
    described = BytesIO()
    try:
        pq.write_metadata(schema, described, store_schema=False)
        metadata = pq.read_metadata(BytesIO(described.getvalue()))
        metadata.append_row_groups(file.metadata)
    except (pa.ArrowException, RuntimeError):  # a schema that pyarrow would write otherwise
        return file.metadata
    return metadata


def _groups_of(span: Span, metadata: Any) -> tuple[list[int], int]:
    """Return the row groups of a span and its first row."""
    starts = [0]
    for index in range(metadata.num_row_groups):
        starts.append(starts[-1] + metadata.row_group(index).num_rows)
    if span.whole:
        return list(range(metadata.num_row_groups)), 0
    return [i for i in range(metadata.num_row_groups) if span.start <= starts[i] < span.stop], span.start
