"""Files behind a URL, by fsspec: s3://, hdfs://, http(s)://, memory:// and whatever else it knows.

A listing costs what the store charges for one; a read asks for ranges of ``_AHEAD`` bytes, and holds one of them.
Who may read, and where a store lies that is not the usual one, fsspec finds in the environment: AWS_ACCESS_KEY_ID,
AWS_SECRET_ACCESS_KEY, FSSPEC_S3_ENDPOINT_URL and their like.
"""

import io
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, NoReturn, cast

from mrprep import extras
from mrprep.errors import MrprepError
from mrprep.printable import printable

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_AHEAD = 4 << 20
"""Bytes that are fetched at a time."""
_STAMPS = ("ETag", "etag", "md5Checksum", "generation", "mtime", "LastModified", "Last-Modified", "modified", "created")
"""What stores call the thing that is another one after a file was written again."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file behind a URL."""

    path: bytes
    """Relative to the URL that was listed; empty where that names the file itself."""
    size: int
    stamp: str
    """Differs once the file was written again; empty where the store tells nothing of the kind."""


def is_url(path: bytes | str) -> bool:
    """Tell whether a place is a URL and no path of this machine."""
    return _URL.match(os.fsdecode(path)) is not None


def entries(url: str) -> Iterator[Entry]:
    """Yield the files at and below a URL, in any order; none if nothing is there.

    Raises:
        MrprepError: a package that it needs is missing, or the store does not answer, or denies it.
    """
    files, root = opened(url)
    try:
        files.invalidate_cache()
        found = {root: files.info(root)} if files.isfile(root) else files.find(root, detail=True)
        for name, told in found.items():
            info = told if told.get("size") is not None else files.info(name)
            path = os.fsencode(name[len(root) :].lstrip("/"))
            yield Entry(path, int(info.get("size") or 0), _stamp(info))
    except FileNotFoundError:
        return
    except Exception as error:
        fail(url, "listed", error)


def open_url(url: str) -> BinaryIO:
    """Return the open file behind a URL; its reads end in OSError if it is gone or not to be read, as of any file.

    Raises:
        MrprepError: the store fails otherwise, at once or in a read: that is no fault of the file.
    """
    return cast("BinaryIO", _File(url))


class _File(io.RawIOBase):
    """A file that tells failures of a store from those of a file."""

    def __init__(self, url: str) -> None:
        self._url = url
        files, path = opened(url)
        with _failures(url):
            self._file = files.open(path, "rb", block_size=_AHEAD, cache_type="readahead")

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with _failures(self._url):
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = 0) -> int:
        with _failures(self._url):
            return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


class _failures:  # noqa: N801
    """Lets through that a file is gone or denied, and makes a sentence of any other failure."""

    def __init__(self, url: str) -> None:
        self._url = url

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, FileNotFoundError | PermissionError):
            fail(self._url, "read", error)


def opened(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and its path there.

    Raises:
        MrprepError: a package is missing, or no store is called so.
    """
    if not extras.has("remote"):
        raise MrprepError(f"{printable(url)} {extras.advice('remote')}")
    from fsspec import available_protocols
    from fsspec.core import url_to_fs

    try:
        files, path = url_to_fs(url)
    except ImportError as error:
        raise MrprepError(
            f"{printable(url)} needs a package ({printable(str(error))}); pip install 'mrprep[remote]' "
            "brings what s3:// and http:// need"
        ) from None
    except Exception as error:
        protocol = url.partition("://")[0]
        if isinstance(error, ValueError) and protocol not in available_protocols():
            known = ", ".join(sorted(available_protocols()))
            what = f"fsspec knows no {protocol}://, but {known}"
            raise MrprepError(f"{printable(url)} cannot be opened: {what}") from None
        fail(url, "opened", error)
    return files, path.rstrip("/") or path


def _stamp(info: dict[str, Any]) -> str:
    return next((str(info[name]) for name in _STAMPS if info.get(name) is not None), "")


def fail(url: str, done: str, error: Exception) -> NoReturn:
    """Make a sentence of what a store has raised.

    Raises:
        MrprepError: always.
    """
    said = printable(str(error).strip().partition("\n")[0] or type(error).__name__, 300)
    raise MrprepError(
        f"{printable(url)} cannot be {done} ({said}): see that the store answers and lets you in; the same command "
        "then goes on from here"
    ) from None
