"""A place behind a URL that a build is uploaded to: its files by their names, put, read and deleted one by one."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.sources.remote import Entry, entries, fail, opened


class Store:
    """Each call asks the store anew, and raises MrprepError where it does not answer or denies it."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._files, self._root = opened(self.url)

    def listed(self) -> Mapping[str, Entry]:
        """Return what lies there by name; the name is empty where the URL is that of a file."""
        return {os.fsdecode(entry.path): entry for entry in entries(self.url)}

    def entry(self, name: str) -> Entry | None:
        """Return what the store says of a file now; that a listing words otherwise, in some stores."""
        return next(entries(f"{self.url}/{name}"), None)

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        with self._failing("read"):
            data: bytes = self._files.cat_file(self._at(name))
            return data

    def put(self, name: str, file: Path) -> Entry:
        """Send a file, and return what the store then says of it.

        Raises:
            MrprepError: it has another size there.
        """
        with self._failing("written"):
            self._prepare(name)
            self._files.put_file(str(file), self._at(name))
        entry = self.entry(name)
        if entry is None or entry.size != file.stat().st_size:
            raise MrprepError(
                f"{printable(self.url)}/{name} has not the size of {printable(str(file))} after it was sent: "
                "run the same command again"
            )
        return entry

    def write(self, name: str, data: bytes) -> None:
        """Put a small file."""
        with self._failing("written"):
            self._prepare(name)
            self._files.pipe_file(self._at(name), data)

    def delete(self, name: str) -> None:
        """Delete a file, if it is there."""
        with self._failing("written"):
            try:
                self._files.rm_file(self._at(name))
            except FileNotFoundError:
                return

    def _at(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _prepare(self, name: str) -> None:
        if getattr(self._files, "local_file", False):  # file://, where folders do not make themselves
            self._files.makedirs(self._at(name).rpartition("/")[0], exist_ok=True)

    @contextmanager
    def _failing(self, done: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            fail(self.url, done, error)
