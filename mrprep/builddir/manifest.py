"""The manifest: what a finished build says of itself. Written last, so where it stands the build is whole."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from mrprep.builddir.layout import FORMAT, MANIFEST
from mrprep.builddir.shape import faults
from mrprep.errors import MrprepError
from mrprep.printable import printable

_SCHEME = re.compile(r"(?:^|/)([A-Za-z][A-Za-z0-9+.-]+:)/(.+)")
"""A URL after `Path` has taken one of its slashes."""


@dataclass(frozen=True, slots=True)
class Build:
    """A finished build on disk."""

    path: Path
    manifest: Mapping[str, Any]

    def name(self, name: str) -> str:
        """Return under which name a file lies that `layout` names: another one where a later change replaced it."""
        renamed: Mapping[str, str] = self.manifest.get("renamed", {})
        return renamed.get(name, name)

    def file(self, name: str) -> Path:
        """Return the path of a file of the build by its name in the manifest or in `layout`."""
        return self.path / self.name(name)

    def holds(self, name: str) -> bool:
        """Return whether the build has a file that `layout` names."""
        return self.name(name) in self.files

    @property
    def files(self) -> Mapping[str, Mapping[str, Any]]:
        """Relative name -> {"bytes", "sha256"} of every file but the manifest and run.json."""
        files: Mapping[str, Mapping[str, Any]] = self.manifest["files"]
        return files

    def torn(self, *folders: str) -> str:
        """Say what is plainly wrong with the files of the build, or of some of its folders, by their sizes alone."""
        for name, record in self.files.items():
            file = self.file(name)
            if folders and name.partition("/")[0] not in folders:
                continue
            if not file.is_file() or file.stat().st_size != record["bytes"]:
                return f"{printable(name)} is {'of another size' if file.is_file() else 'missing'}"
        return ""

    def shards(self, split: str) -> list[Path]:
        """Return the MindRecord files of a split, in order; an empty list when the build has no such split."""
        return [self.file(shard["file"]) for shard in self.manifest["splits"].get(split, {}).get("shards", ())]


def write_manifest(manifest: Mapping[str, Any], path: Path) -> None:
    """Write the manifest, keys sorted, and put it on the disk."""
    data = orjson.dumps(manifest, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n"
    with path.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def open_build(path: Path) -> Build:
    """Read the manifest of a build.

    Raises:
        MrprepError: there is none, it is not ours, of a later format, damaged, or names a file outside the build.
    """
    shown = printable(str(path))
    return Build(path, parsed(_read(path, shown), shown))


def parsed(data: bytes, shown: str) -> Mapping[str, Any]:
    """Return what a manifest says; ``shown`` is the place of its build.

    Raises:
        MrprepError: it is not ours, of a later format, damaged, or names a file outside the build.
    """
    try:
        manifest = orjson.loads(data)
    except ValueError as error:
        raise MrprepError(f"{shown}/{MANIFEST} is damaged ({error}): put it back, or build again") from None
    if not isinstance(manifest, dict) or "mrprep" not in manifest:
        raise MrprepError(f"{shown}/{MANIFEST} was not written by mrprep: name the --out of a build")
    if manifest["mrprep"] != FORMAT:
        said = printable(str(manifest["mrprep"]))
        raise MrprepError(f"{shown} has format {said}, this mrprep reads {FORMAT}: use a matching version")
    if fault := next(faults(manifest), ""):
        raise MrprepError(f"{shown}/{MANIFEST} is damaged ({printable(fault)}): put it back, or build again")
    found: Mapping[str, Any] = manifest
    return found


def _read(path: Path, shown: str) -> bytes:
    try:
        return (path / MANIFEST).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        if url := url_of(path):
            raise MrprepError(
                f"{url} is a URL, and builds are read of a file system alone: copy the build to one with the "
                "store's own tool (aws s3 cp --recursive, hdfs dfs -get, obsutil cp), and name the copy"
            ) from None
        raise MrprepError(f"{shown} is not a finished build (no {MANIFEST} in it): name the --out of a build") from None
    except OSError as error:
        raise MrprepError(f"{shown}/{MANIFEST} cannot be read: {(error.strerror or str(error)).lower()}") from None


def url_of(path: Path) -> str:
    """Return the URL that was given where a path is wanted, safe to show; empty if it was none."""
    found = _SCHEME.search(str(path))
    return printable(f"{found[1]}//{found[2]}") if found else ""
