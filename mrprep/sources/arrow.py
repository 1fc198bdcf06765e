"""Reads Arrow files, streams as ``datasets`` saves them and those of the file format: a row is a document.

A file of the file format is a stream between its magic and its footer, and is read as one: what is lost shows, in the
footer it would not. The file is mapped, not read, and its pages are given back on the way: memory is some rows, about
1 MB of them or one that is larger, and, of compressed batches, the text columns of one; a stream of such is
decompressed from its start for each span of it.
"""

import mmap
from collections.abc import Iterator
from typing import Any

from mrprep.document import BadRecord, Document
from mrprep.printable import printable
from mrprep.sources.columns import as_bytes, column, read_rows, rows_at_a_time, score_columns, text_columns
from mrprep.sources.files import UnreadableError, open_file
from mrprep.sources.found import Found
from mrprep.sources.span import Span

_FILE_MAGIC, _MAGIC_SIZE = b"ARROW1", 8
_CONTINUES = b"\xff\xff\xff\xff"
"""What each message of a stream begins with, but of those that Arrow 0.14 and older wrote."""
_END = bytes(4)
_LOOKED_AT = 16 << 20
"""Bytes of a batch that are looked at at a time, about."""


def record_batches(span: Span) -> list[tuple[int, int]]:
    """Return rows and bytes (of the text columns) of each record batch; empty if the file is not in order."""
    import pyarrow as pa

    try:
        return [(batch.num_rows, batch.get_total_buffer_size()) for batch in _Stream(span).batches()]
    except (OSError, UnreadableError):
        return []
    finally:
        pa.default_memory_pool().release_unused()


def read(span: Span, found: Found) -> Iterator[Document | BadRecord]:
    """Yield the documents and bad records of the record batches in ``span.start..stop``, in row order.

    Raises:
        UnreadableError: the file is no Arrow file, or is damaged, or has no such column of text.
        OSError: it cannot be opened.
    """
    found.encoding = "utf-8"
    stream = _Stream(span)
    row = 0
    for batch in stream.batches():
        if not span.whole and row >= span.stop:
            return
        if span.whole or row >= span.start:
            texts, scores = stream.arrays(batch, row)
            some = rows_at_a_time(batch.num_rows, batch.get_total_buffer_size())
            for at in range(0, batch.num_rows, some):
                text, score = ([array.slice(at, some) for array in arrays] for arrays in (texts, scores))
                yield from read_rows(span, text, score, row + at)
                stream.let_go()
        row += batch.num_rows


class _Stream:
    """The stream of record batches in an Arrow file, with the columns that are wanted only."""

    def __init__(self, span: Span) -> None:
        """Open the file of a span and find its columns.

        Raises:
            UnreadableError: it is no Arrow file, or has no such column of text.
            OSError: it cannot be opened.
        """
        import pyarrow as pa

        with open_file(span.full_path) as file:
            self._size = file.seek(0, 2)
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if self._size else b""
        self._is_file = self._data[: len(_FILE_MAGIC)] == _FILE_MAGIC
        self._start = _MAGIC_SIZE if self._is_file else 0
        try:
            schema = self._opened().schema
            self._texts, self._scores = text_columns(schema, span.text), score_columns(schema, span.score)
        except _errors() as error:
            raise UnreadableError(f"is no readable Arrow file ({printable(str(error))})") from None
        heads = {name if name in schema.names else name.partition(".")[0] for name in (*self._texts, *self._scores)}
        fields = sorted(map(schema.get_field_index, heads))
        self._options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False)

    def batches(self) -> Iterator[Any]:
        """Yield the record batches in order.

        Raises:
            UnreadableError: they are damaged, or those that the stream should have are not all there.
        """
        row = 0
        try:
            for batch in self._opened(options=self._options):
                batch.validate()
                self._refuse_endless(batch)
                yield batch
                row += batch.num_rows
        except _errors() as error:
            raise _damaged(row, error) from None
        self._refuse_open_end()

    def arrays(self, batch: Any, row: int) -> tuple[list[Any], list[Any]]:
        """Return the columns of the text, and of the score, if there is one, as arrays that can be looked at.

        Raises:
            UnreadableError: they are damaged; ``row``, the first of the batch, is named.
        """
        try:
            texts, scores = (
                [self._sound(column(batch, name)) for name in names] for names in (self._texts, self._scores)
            )
        except _errors() as error:
            raise _damaged(row, error) from None
        return texts, scores

    def let_go(self) -> None:
        """Give the pages of the file that were looked at back to the system."""
        if isinstance(self._data, mmap.mmap):
            self._data.madvise(mmap.MADV_DONTNEED)

    def _sound(self, array: Any) -> Any:
        """Return an array whose values can be looked at; as bytes, if some are not UTF-8.

        Raises:
            ValueError: it is damaged.
        """
        try:
            self._validate(array)
        except ValueError:
            array = as_bytes(array)
            self._validate(array)
        return array

    def _validate(self, array: Any) -> None:
        some = max(1, len(array) * _LOOKED_AT // max(1, array.get_total_buffer_size()))
        for at in range(0, len(array), some):
            array.slice(at, some).validate(full=True)
            self.let_go()

    def _refuse_endless(self, batch: Any) -> None:
        """Demand bytes for the rows of a batch that has none but of type null, which have no bytes."""
        if batch.num_rows > self._size and not batch.get_total_buffer_size():
            raise ValueError(f"a batch of nothing says that it holds {batch.num_rows} rows")

    def _refuse_open_end(self) -> None:
        """Demand of a stream that was read to its last batch that it says that this is the last."""
        end = self._start + self._bytes.tell()
        mark = _CONTINUES + _END if self._data[self._start : self._start + 4] == _CONTINUES else _END
        if self._data[max(0, end - len(mark)) : end] != mark:
            raise UnreadableError("breaks off without the mark that ends a stream: rows may be missing")
        if more := self._size - self._footer() - end:
            raise UnreadableError(f"goes on for {more:,} bytes after the end of its stream: not read")

    def _footer(self) -> int:
        """Return the bytes of the footer of the file format, with its size and the magic behind it."""
        tail = self._data[-len(_FILE_MAGIC) - 4 :]
        return int.from_bytes(tail[:4], "little") + len(tail) if self._is_file else 0

    def _opened(self, **options: Any) -> Any:
        import pyarrow as pa

        self._bytes = pa.BufferReader(pa.py_buffer(self._data).slice(self._start))
        return pa.ipc.open_stream(self._bytes, **options)


def _errors() -> tuple[type[Exception], ...]:
    """Return what pyarrow raises over data that is not in order."""
    import pyarrow as pa

    return (pa.ArrowException, OSError, ValueError)


def _damaged(row: int, error: Exception) -> UnreadableError:
    return UnreadableError(f"is damaged at row {row + 1} or later ({printable(str(error))})")
