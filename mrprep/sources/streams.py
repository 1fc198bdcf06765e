"""Compressed files as streams of bytes: several members, padding, damage, all told apart.

zlib, bz2, lzma and zstd by the standard library and its backport, at the speed of these libraries (gzip
1.4, zstd 2.9 GB/s of output a core). pyarrow's streams are as fast but lose text: a bz2 file with an
empty member is an error, and damage takes the text before it along.

What bz2 gives out is checked, block by block. gz, xz and zst have their checksum at the end of a member, so that
damage may have altered text before it shows; the error says so.

Memory: two blocks, of bz2 one more (64 MB at the most), and the window of the stream: 8 MB of most zst files, 2 GB
of those that were packed with ``--long=31``, as the archives of Reddit are.
"""

import bz2
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, Protocol

from backports import zstd

from mrprep.sources.files import BLOCK, DamagedError, blocks_of
from mrprep.sources.found import Found

_FEED = 1 << 16
_HELD = 64 << 20
"""Bytes of bz2 that wait for their checksums; text needs some hundred KB, only endless repeats need more."""
_DOUBT = "; what was read of it before may be altered"
"""After damage, where a format's checksum comes after all of the text."""
_ZSTD_WINDOW_LOG = 31
_PLAIN_SAMPLE = 1 << 16


class _Decompressor(Protocol):
    """One member of a stream; what bz2, lzma and zstd have in common."""

    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...


class _Gunzip:
    """zlib behind the interface of the others."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(wbits=31)

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        return self._zlib.decompress(self._zlib.unconsumed_tail + data, max(max_length, 0))

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def needs_input(self) -> bool:
        return not self._zlib.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data


class _Bunzip2:
    """bz2 that gives a block out once its checksum is found right; one that is over ``_HELD`` in parts, before."""

    def __init__(self) -> None:
        self._bz2 = bz2.BZ2Decompressor()
        self._ready = b""
        self._given = 0

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        if self._given == len(self._ready):
            self._ready, self._given = self._checked(data), 0
        stop = self._given + max_length if max_length >= 0 else len(self._ready)
        out = self._ready[self._given : stop]
        self._given += len(out)
        return out

    def _checked(self, data: bytes) -> bytes:
        """Return what can be unpacked of the data; that nothing more comes means that the last block was right."""
        held, size = [], 0
        while size < _HELD:
            out = self._bz2.decompress(data, BLOCK)
            data = b""
            held.append(out)
            size += len(out)
            if self._bz2.eof or (self._bz2.needs_input and not out):
                break
        return b"".join(held)

    @property
    def eof(self) -> bool:
        return self._bz2.eof and self._given == len(self._ready)

    @property
    def needs_input(self) -> bool:
        return self._bz2.needs_input and self._given == len(self._ready)

    @property
    def unused_data(self) -> bytes:
        return self._bz2.unused_data


def _unzstd() -> _Decompressor:
    options = {int(zstd.DecompressionParameter.window_log_max): _ZSTD_WINDOW_LOG}
    return zstd.ZstdDecompressor(options=options)


_CODECS: dict[str, Callable[[], _Decompressor]] = {
    "gz": _Gunzip,
    "bz2": _Bunzip2,
    "xz": lzma.LZMADecompressor,
    "zst": _unzstd,
}
_MAGIC = {
    "gz": re.compile(rb"\x1f\x8b\x08"),
    "bz2": re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"),
    "xz": re.compile(rb"\xfd7zXZ\0"),
    "zst": re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"),  # the second is a skippable frame
}
_LONGEST_MAGIC = 10
_ERRORS = (zlib.error, OSError, ValueError, lzma.LZMAError, zstd.ZstdError, EOFError)


def codec_of(head: bytes) -> str:
    """Return by its first bytes how data is compressed: gz, bz2, xz, zst, or an empty string."""
    return next((name for name, magic in _MAGIC.items() if magic.match(head)), "")


def decompressed(raw: BinaryIO, size: int, named: str, found: Found) -> Iterator[bytes]:
    """Yield what the first ``size`` bytes of ``raw`` hold, decompressed, in blocks of at most ``BLOCK``.

    Goes by the content, not by the name: a zst file called .gz is read, and so is plain UTF-8 text. All
    that comes before damage is yielded before the error. Bytes that follow the last member, and are none,
    are a problem in ``found`` and no error.

    Args:
        raw: a seekable file at its start.
        size: bytes of it that count.
        named: what its ending says: gz, bz2, xz or zst.
        found: is told of what is not read.

    Raises:
        DamagedError: with a clause that says how.
    """
    head = raw.read(_PLAIN_SAMPLE)[:size]
    raw.seek(0)
    codec = codec_of(head)
    if codec:
        yield from _unpacked(raw, size, codec, found)
    elif not head or _is_plain_text(head):
        yield from blocks_of(raw, size)
    else:
        raise DamagedError(f"is no {named} file, nor plain text" if named else "is no plain text")


def _unpacked(raw: BinaryIO, size: int, codec: str, found: Found) -> Iterator[bytes]:
    stream = _Stream(raw, size, codec)
    done = 0
    try:
        for block in stream.blocks(BLOCK):
            done += len(block)
            yield block
    except DamagedError:
        raw.seek(0)
        yield from _salvage(_Stream(raw, size, codec, stream.reads - 1), done)
    if stream.goes_on:
        found.problem = f"has bytes after its {codec} data that are something else"


def _salvage(stream: "_Stream", done: int) -> Iterator[bytes]:
    """Yield what lies between ``done`` and the damage, byte by byte, then raise it.

    A decompressor that meets damage throws away what the same call has unpacked before.
    """
    for _ in stream.blocks(BLOCK, stop=done):
        pass
    rest = bytearray()
    try:
        for part in stream.blocks(BLOCK if stream.is_checked else 1):
            rest += part
    except DamagedError:
        if rest:
            yield bytes(rest)
        raise


class _Stream:
    """The members of a compressed file, one after the other."""

    def __init__(self, raw: BinaryIO, size: int, codec: str, safe_reads: int | None = None) -> None:
        """Read ``size`` bytes of ``raw``; after ``safe_reads`` reads, byte by byte."""
        self._raw, self._left, self._codec, self._safe_reads = raw, size, codec, safe_reads
        self._member: _Decompressor | None = None
        self._pending = b""
        self.reads = 0
        self.goes_on = False
        """Whether something else follows the last member."""

    @property
    def is_checked(self) -> bool:
        """Whether what comes out was found right by a checksum."""
        return self._codec == "bz2"

    def blocks(self, block: int, stop: int | None = None) -> Iterator[bytes]:
        """Yield blocks of at most ``block`` bytes until the end, or until ``stop`` bytes have come."""
        done = 0
        while (stop is None or done < stop) and (member := self._current()):
            out = self._decompress(member, block if stop is None else min(block, stop - done))
            done += len(out)
            if out:
                yield out

    def _current(self) -> _Decompressor | None:
        """Return the member that is being read, or the next one; None after the last."""
        if self._member is not None:
            if not self._member.eof:
                return self._member
            self._pending = self._member.unused_data
            self._member = None
        self._skip_padding()
        while len(self._pending) < _LONGEST_MAGIC and (more := self._read()):
            self._pending += more
        if codec_of(self._pending) == self._codec:
            self._member = _CODECS[self._codec]()
        else:
            self.goes_on = bool(self._pending)
        return self._member

    def _skip_padding(self) -> None:
        """Drop zero bytes between members."""
        while not (left := self._pending.lstrip(b"\0")) and (more := self._read()):
            self._pending = more
        self._pending = left or self._pending.lstrip(b"\0")

    def _decompress(self, member: _Decompressor, limit: int) -> bytes:
        data, hungry = b"", member.needs_input
        if hungry:
            data, self._pending = self._pending or self._read(), b""
        try:
            out = member.decompress(data, limit)
        except _ERRORS as error:
            doubt = "" if self.is_checked else _DOUBT
            raise DamagedError(f"has damaged {self._codec} data ({error}){doubt}") from None
        if hungry and not (data or out or member.eof):
            raise DamagedError(f"ends in the middle of its {self._codec} data")
        return out

    def _read(self) -> bytes:
        careful = self._safe_reads is not None and self.reads >= self._safe_reads
        data = self._raw.read(min(1 if careful else _FEED, self._left))
        self._left -= len(data)
        self.reads += 1
        return data


def _is_plain_text(head: bytes) -> bool:
    if b"\0" in head:
        return False
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start > len(head) - 4 and error.reason == "unexpected end of data"
    return True
