"""Upload a finished build to a URL, file by file, its manifest last: until that stands there, it is no build.

`upload.json` is put there first and deleted last; it says whose upload it is, and which files are ours. What has been
sent is noted in the work directory with what the store then said of it (its ETag, or time), so that the same command
goes on where an upload broke off. Whatever lies there without a manifest or that file is somebody's own.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from mrprep.builddir.layout import FORMAT, MANIFEST, RUN, UPLOAD, UPLOADED, work_of
from mrprep.builddir.manifest import Build, parsed
from mrprep.builddir.store import Store
from mrprep.engine.progress import bar
from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.sources.remote import Entry


@dataclass(frozen=True, slots=True)
class Standing:
    """What lies at a URL."""

    found: Mapping[str, Entry]
    manifest: Mapping[str, Any] | None
    """Of a build that is whole there."""
    request: Mapping[str, Any]
    """What that build, or the upload that broke off, was made of, as run.json says it; empty where nothing lies."""
    ours: frozenset[str]
    """Names of the files that mrprep put there, or was about to."""

    @property
    def empty(self) -> bool:
        """Whether nothing lies there, or the mark of an upload that has sent nothing."""
        return self.found.keys() <= {UPLOAD}


@dataclass(frozen=True, slots=True)
class Sent:
    """What an upload did."""

    files: int
    bytes: int
    already: int
    """Files that an earlier attempt had sent."""


def look(store: Store) -> Standing:
    """Say what lies at a URL.

    Raises:
        MrprepError: something that mrprep did not put there, or nothing to be made out.
    """
    found = store.listed()
    if not found:
        return Standing(found, None, {}, frozenset())
    manifest = None
    if UPLOAD in found:
        mark = _loads(store, UPLOAD)
        request, ours = mark["request"], {*mark["files"], UPLOAD}
    elif MANIFEST in found:
        manifest = parsed(store.read(MANIFEST), printable(store.url))
        request = _loads(store, RUN)["request"] if RUN in found else {}
        ours = {*manifest["files"], MANIFEST, RUN}
    else:
        raise MrprepError(
            f"{printable(store.url)} holds {printable(min(found) or 'a file')} and is not a build of mrprep: "
            "give another --out"
        )
    if foreign := sorted(found.keys() - ours):
        raise MrprepError(
            f"{printable(store.url)} holds {printable(foreign[0])}, which mrprep did not put there, so nothing is: "
            "move that file away, or give another --out"
        )
    return Standing(found, manifest, request, frozenset(ours))


def torn(standing: Standing, manifest: Mapping[str, Any]) -> str:
    """Say what is plainly wrong with the files of a build at a URL, by their sizes alone."""
    for name, record in manifest["files"].items():
        entry = standing.found.get(name)
        if entry is None or entry.size != record["bytes"]:
            return f"{printable(name)} is {'of another size' if entry else 'missing'}"
    return ""


def claim(store: Store, request: Mapping[str, Any], files: Iterable[str] = ()) -> None:
    """Put the mark of an upload to come, of which the request and the files are known."""
    store.write(UPLOAD, orjson.dumps({"mrprep": FORMAT, "request": request, "files": sorted({*files} - {UPLOAD})}))


def upload(build: Build, store: Store, standing: Standing) -> Sent:
    """Put a build at a URL, in the place of what stands there; the lock of its work directory is held.

    Args:
        build: a finished one.
        store: where to.
        standing: what lies there; all of it is ours, and goes.

    Raises:
        MrprepError: the store fails; what was sent is there, and is not sent again.
    """
    names = {*build.files, RUN, MANIFEST}
    request = orjson.loads(build.file(RUN).read_bytes())["request"]
    claim(store, request, names | standing.ours)
    if MANIFEST in standing.found:
        store.delete(MANIFEST)
    journal = work_of(build.path) / UPLOADED
    there = set(_there(build, store, journal))
    with bar(sum(record["bytes"] for record in build.files.values()), "upload") as shown:
        for name, record in build.files.items():
            if name not in there:
                _note(journal, name, record["sha256"], store.put(name, build.file(name)))
            shown.update(record["bytes"])
    store.put(RUN, build.file(RUN))
    for name in standing.found.keys() - names - {UPLOAD}:
        store.delete(name)
    store.put(MANIFEST, build.file(MANIFEST))
    store.delete(UPLOAD)
    sent = [record["bytes"] for name, record in build.files.items() if name not in there]
    return Sent(len(sent), sum(sent), len(there))


def _there(build: Build, store: Store, journal: Path) -> Iterator[str]:
    """Yield the files of a build that an earlier attempt has sent, and that are still as they were sent."""
    for name, (sha256, stamp) in _noted(journal).items():
        if not stamp or build.files.get(name, {}).get("sha256") != sha256:
            continue
        entry = store.entry(name)
        if entry and (entry.size, entry.stamp) == (build.files[name]["bytes"], stamp):
            yield name


def _note(journal: Path, name: str, sha256: str, entry: Entry) -> None:
    with journal.open("ab") as stream:
        stream.write(b"\n" + orjson.dumps([name, sha256, entry.stamp]))


def _noted(journal: Path) -> dict[str, tuple[str, str]]:
    """Return name -> SHA-256 and what the store said, of each file that was sent; a kill may have torn a line."""
    noted = {}
    for line in journal.read_bytes().splitlines() if journal.is_file() else ():
        with suppress(ValueError):
            name, sha256, stamp = orjson.loads(line)
            noted[name] = (sha256, stamp)
    return noted


def _loads(store: Store, name: str) -> dict[str, Any]:
    """Return what a JSON file of ours says at a URL.

    Raises:
        MrprepError: it is not one.
    """
    try:
        said: dict[str, Any] = orjson.loads(store.read(name))
        if isinstance(said["request"], dict):
            return said
    except (ValueError, KeyError, TypeError):
        pass
    raise MrprepError(
        f"{printable(store.url)}/{name} was not written by mrprep, or is damaged: move what lies there away, or give "
        "another --out"
    )
