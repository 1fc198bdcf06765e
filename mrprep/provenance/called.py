"""What a document may be called: its id, or its file with or without the line on which it begins."""

import os
import re
from collections.abc import Iterable

import numpy as np
import xxhash

from mrprep.builddir.layout import REMOVED_NAMES
from mrprep.builddir.manifest import Build
from mrprep.order import U64
from mrprep.printable import printable

ID = re.compile(rb"[0-9a-f]{16}")
"""How a document's id is written."""
AT_LINE = re.compile(rb"(.+):(0|[1-9][0-9]{0,9})", re.DOTALL)
"""A file, and the line on which a document begins."""
_LIMIT = 4096
"""Characters of a name that is printed."""


def shown(source: str, path: bytes, line: int) -> str:
    """Return ``source/path:line``, safe to print; it is a name of the document."""
    return f"{printable(_within(source, path), _LIMIT)}:{line}"


def paths(path: bytes) -> tuple[bytes, ...]:
    """Return what a file is called within its source: its path, also as it is printed."""
    return tuple(dict.fromkeys((path, printable(path, _LIMIT).encode())))


def whole_paths(source: str, path: bytes) -> tuple[bytes, ...]:
    """Return what a file is called in any company: its path with the source before it."""
    return paths(_within(source, path))


def lines_of(source: str, path: bytes, line: int) -> list[bytes]:
    """Return the names ``source/path:line`` of a document, which are its own alone."""
    return [b"%s:%d" % (file, line) for file in whole_paths(source, path)]


def all_names(identity: int, source: str, path: bytes, line: int) -> list[bytes]:
    """Return each name by which a document might ever go: its id, its file, file and line."""
    files = dict.fromkeys((*paths(path), *whole_paths(source, path)))
    return [b"%016x" % identity, *files, *(b"%s:%d" % (file, line) for file in files)]


def name_hashes(names: Iterable[bytes]) -> U64:
    """Return XXH3-64 of each name, uint64[n]: how a build remembers what it holds no more."""
    return np.array([xxhash.xxh3_64_intdigest(b"name\0" + name) for name in names], np.uint64)


def removed_names(build: Build) -> U64:
    """Return the hashes of the names of all documents that were removed from a build on request, rising."""
    if not build.holds(REMOVED_NAMES):
        return np.zeros(0, np.uint64)
    found: U64 = np.load(build.file(REMOVED_NAMES))
    return found


def _within(source: str, path: bytes) -> bytes:
    return b"%s/%s" % (os.fsencode(source), path)
