"""Finds the files of a source, in an order that depends on their names alone, and says what it leaves out.

Costs one ``stat`` and one ``access`` a file; opens nothing but ``manifest.json`` files and those in
which Hugging Face ``datasets`` describes what it saved.

Symbolic links are followed, out of the source's folder too, but nothing is read twice through them (by
device and inode): real files and folders come first, then links in the order of their paths; one to what is
listed already is left out with a reason. Hard links are files like any other.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import orjson

from mrprep import extras
from mrprep.printable import printable
from mrprep.sources import datasets, remote
from mrprep.sources.files import UnreadableError, open_file
from mrprep.sources.source import TABLES, Format, Source

Compression = Literal["", "gz", "zst", "bz2", "xz"]
SkipKind = Literal[
    "ending", "hidden", "temporary", "link", "dangling", "special", "unreadable", "build", "dataset", "excluded"
]

_Entry = tuple[bytes, bool, bool]
"""Of a folder: a name, whether it is a link, whether it is a folder itself."""
_FORMATS: dict[bytes, Format] = {
    b".txt": "txt",
    b".md": "md",
    b".jsonl": "jsonl",
    b".ndjson": "jsonl",
    b".json": "json",
    b".parquet": "parquet",
    b".arrow": "arrow",
    b".html": "html",
    b".htm": "html",
}
_COMPRESSIONS: dict[bytes, Compression] = {b".gz": "gz", b".zst": "zst", b".bz2": "bz2", b".xz": "xz"}
_TEMPORARY = (b"~", b".tmp", b".part")
_LINK_ERRORS = {errno.ENOENT: "is a link to nowhere", errno.ELOOP: "is a link that leads to itself"}
_ADVICE = {
    b".docx": "Word files are not read: save them as .txt or .md",
    b".epub": "e-books are not read: convert them to .txt or .md",
    b".pdf": "PDF is not read: extract its text to .txt first",
    b".warc": "web archives are not read: extract their text to .jsonl first",
    b".csv": "tables are not read: convert them to .jsonl or .parquet first",
    b".tsv": "tables are not read: convert them to .jsonl or .parquet first",
}


@dataclass(frozen=True, slots=True)
class File:
    """A file to be read."""

    path: bytes
    """Relative to the root of its source."""
    size: int
    version: int | str
    """Another one after the file was written again: its mtime in ns, or what its store tells of the kind."""
    format: Format | Literal["mindrecord"]
    compression: Compression


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder that is left out."""

    path: bytes
    kind: SkipKind
    """A short stable word to count by."""
    reason: str
    """A clause for people."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What a source holds; ``files`` and ``skipped`` sorted by path."""

    source: Source
    root: bytes
    """Absolute folder that all paths are relative to; a single file's parent."""
    files: tuple[File, ...]
    skipped: tuple[Skipped, ...]


def discover(source: Source, skip: Callable[[bytes], bool] | None = None) -> Listing:
    """List the files of ``source``.

    Args:
        source: a folder or a single file; one that does not exist gives no files and one ``Skipped``.
        skip: told the full path of each file and folder; true leaves it out.
    """
    path = os.fsencode(source.url) or os.path.abspath(os.fsencode(source.path))
    if source.url:
        walk = _Walk(source, path, skip)
        walk.remote(list(remote.entries(source.url)))
    elif os.path.isdir(path):
        walk = _Walk(source, path, skip)
        walk.folder(b"")
        walk.links()
    else:
        root, name = os.path.split(path)
        walk = _Walk(source, root, skip)
        walk.named_file(name)
    files = tuple(sorted(walk.files, key=lambda file: file.path))
    return Listing(source, walk.root, files, tuple(sorted(walk.skipped, key=lambda each: each.path)))


class _Walk:
    def __init__(self, source: Source, root: bytes, skip: Callable[[bytes], bool] | None) -> None:
        self.source, self.root, self.skip = source, root, skip
        self.files: list[File] = []
        self.skipped: list[Skipped] = []
        self._links: list[bytes] = []
        self._folders: set[tuple[int, int]] = set()
        self._listed: dict[tuple[int, int], bytes] = {}

    def folder(self, top: bytes) -> None:
        """List a folder and the real folders in it, depth first, names in byte order; links wait."""
        waiting = [top]
        while waiting:
            path = waiting.pop()
            folders = []
            for name, is_link, is_folder in self._entries(path):
                child = os.path.join(path, name)
                if self._unwanted(child, name):
                    continue
                if is_link:
                    self._links.append(child)
                elif is_folder:
                    folders.append(child)
                else:
                    self.file(child)
            waiting += reversed(folders)

    def links(self) -> None:
        """Follow the links met so far and those met on the way, in the order of their paths."""
        while self._links:
            batch, self._links = sorted(self._links), []
            for path in batch:
                self._link(path)

    def named_file(self, name: bytes) -> None:
        """List the one file that the source names, whatever its name begins or ends with."""
        self.file(name)

    def remote(self, entries: list[remote.Entry]) -> None:
        """List the files behind a URL; one that names a file itself has its folder for root."""
        if [entry.path for entry in entries] == [b""]:
            self.root, _, name = self.root.rpartition(b"/")
            entries = [replace(entries[0], path=name)]
        builds = self._remote_builds([entry.path for entry in entries])
        left: set[bytes] = set()
        for entry in entries:
            above = _folders_above(entry.path)
            inside = builds & {b"", *above}
            left |= inside
            if inside or any(self._unwanted(path, os.path.basename(path)) for path in (*above, entry.path)):
                continue
            if kind := self._kind_by_name(entry.path):
                self.files.append(File(entry.path, entry.size, entry.stamp, *kind))
        for path in left:
            self._leave(path, "build", "is a build of mrprep")

    def _remote_builds(self, paths: list[bytes]) -> set[bytes]:
        """Return the folders that are builds of ours; costs one read each folder with a manifest.json."""
        manifests = [path for path in paths if os.path.basename(path) == b"manifest.json"]
        return {os.path.dirname(path) for path in manifests if _is_our_manifest(os.path.join(self.root, path))}

    def file(self, path: bytes) -> None:
        """List one file, or say why not."""
        full = os.path.join(self.root, path)
        try:
            status = os.stat(full)
        except OSError as error:
            self._leave(path, "unreadable", _why(error))
            return
        if not stat.S_ISREG(status.st_mode):
            self._leave(path, "special", f"is a {_kind(status.st_mode)}, not a file")
        elif (kind := self._kind_by_name(path)) and not os.access(full, os.R_OK):
            self._leave(path, "unreadable", "permission denied")
        elif kind and self._is_listed_by_another_path(path, (status.st_dev, status.st_ino)):
            self._leave(path, "link", "lies behind a link, and is read already")
        elif kind:
            self._listed.setdefault((status.st_dev, status.st_ino), path)
            self.files.append(File(path, status.st_size, status.st_mtime_ns, *kind))

    def _is_listed_by_another_path(self, path: bytes, inode: tuple[int, int]) -> bool:
        """Return whether it is the very file that is listed under another name; a hard link to it is not."""
        other = self._listed.get(inode)
        here = os.path.join(self.root, path)
        return other is not None and os.path.realpath(here) == os.path.realpath(os.path.join(self.root, other))

    def _entries(self, path: bytes) -> Iterator[_Entry]:
        full = os.path.join(self.root, path)
        try:
            status = os.stat(full)
            with os.scandir(full) as scan:
                entries = sorted((e.name, e.is_symlink(), e.is_dir(follow_symlinks=False)) for e in scan)
        except OSError as error:
            self._leave(path, "unreadable", _why(error))
            return
        inode = (status.st_dev, status.st_ino)
        if inode in self._folders:
            self._leave(path, "link", "lies behind a link, and is read already")
            return
        self._folders.add(inode)
        if reason := _is_ours(full, {name for name, _, _ in entries}):
            self._leave(path, "build", reason)
            return
        yield from self._without_datasets(path, entries)

    def _without_datasets(self, path: bytes, entries: Sequence[_Entry]) -> Iterator[_Entry]:
        """Yield the entries of a folder; of a saved dataset those that hold its rows, or are none of it."""
        full, names = os.path.join(self.root, path), {name for name, _, _ in entries}
        beside = datasets.beside_rows(full, names)
        for name, reason in datasets.missing_rows(full, names).items():
            self._leave(os.path.join(path, name), "unreadable", reason)
        for entry in entries:
            if entry[0] in beside:
                self._leave(os.path.join(path, entry[0]), "dataset", beside[entry[0]])
            else:
                yield entry

    def _link(self, path: bytes) -> None:
        try:
            status = os.stat(os.path.join(self.root, path))
        except OSError as error:
            kind: SkipKind = "dangling" if error.errno == errno.ENOENT else "link"
            self._leave(path, kind, _LINK_ERRORS.get(error.errno or 0, _why(error)))
            return
        inode = (status.st_dev, status.st_ino)
        if inode in self._listed:
            self._leave(path, "link", f"is a link to {printable(self._listed[inode])}, which is read already")
        elif not stat.S_ISDIR(status.st_mode):
            self.file(path)
        elif inode in self._folders:
            self._leave(path, "link", "is a link to a folder that is read already")
        else:
            self.folder(path)

    def _unwanted(self, path: bytes, name: bytes) -> bool:
        if self.skip is not None and self.skip(os.path.join(self.root, path)):
            self._leave(path, "excluded", "is left out by the caller")
        elif name.startswith(b"."):
            self._leave(path, "hidden", "is hidden (its name begins with a dot)")
        elif name.startswith(b"~$") or name.lower().endswith(_TEMPORARY):
            self._leave(path, "temporary", "is a temporary file by its name")
        else:
            return False
        return True

    def _kind_by_name(self, path: bytes) -> tuple[Format, Compression] | None:
        stem, ending = _split_ending(os.path.basename(path))
        compression = _COMPRESSIONS.get(ending, "")
        inner = _split_ending(stem)[1] if compression else ending
        told = self.source.format
        found = told if told != "auto" else _FORMATS.get(inner)
        if found == "html" and not extras.has("html"):
            self._leave(path, "ending", f"reading HTML {extras.advice('html')}")
            return None
        if found is None or (compression and told == "auto" and found in TABLES):
            self._leave(path, "ending", _ending_reason(inner, ending))
            return None
        return found, compression

    def _leave(self, path: bytes, kind: SkipKind, reason: str) -> None:
        self.skipped.append(Skipped(path, kind, reason))


def _split_ending(name: bytes) -> tuple[bytes, bytes]:
    stem, dot, ending = name.rpartition(b".")
    return (stem, (dot + ending).lower()) if dot else (name, b"")


def _ending_reason(inner: bytes, ending: bytes) -> str:
    if inner in _ADVICE:
        return _ADVICE[inner]
    if not ending:
        return "has no ending; set format = for its source"
    return f"has an ending that is not read: {printable(ending)}"


def _is_ours(full: bytes, names: set[bytes]) -> str:
    """Return why a folder is one of mrprep's own, else an empty string."""
    if full.endswith(b".work") and b"mrprep.lock" in names:
        return "is a work directory of mrprep"
    if b"manifest.json" not in names:
        return ""
    return "is a build of mrprep" if _is_our_manifest(os.path.join(full, b"manifest.json")) else ""


def _is_our_manifest(path: bytes) -> bool:
    try:
        with open_file(path) as manifest:
            found = orjson.loads(manifest.read())
    except (OSError, ValueError, UnreadableError):
        return False
    return isinstance(found, dict) and "mrprep" in found


def _folders_above(path: bytes) -> list[bytes]:
    parts = path.split(b"/")[:-1]
    return [b"/".join(parts[: number + 1]) for number in range(len(parts))]


def _kind(mode: int) -> str:
    kinds = {stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket", stat.S_IFBLK: "device", stat.S_IFCHR: "device"}
    return kinds.get(stat.S_IFMT(mode), "special file")


def _why(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
