"""Files of others are read in a process of their own: MindRecord's library crashes over damaged ones.

The process is started at the first file and again after a crash. It reads a line of JSON a request from stdin, and
writes a line of JSON and arrays of int64 in answer; it ends when its parent does.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Timer
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import orjson

from mrprep.errors import MrprepError
from mrprep.mindrecord import core
from mrprep.mindrecord.errors import reason
from mrprep.printable import printable

I64 = npt.NDArray[np.int64]
Rows = list[I64]
Opened = dict[int, Iterator[I64]]
"""Files that are being read, by the number of the reading."""

_SECONDS = 300
"""After which an answer is not waited for any longer."""
_TOKENS = 1 << 20
"""Of rows in one answer, about."""
_CRASHED = "MindRecord's library crashed or hung over it, so it is damaged, or its .db belongs to another file"


class Reader:
    """Asks the process; several files may be read at the same time, by turns."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._number = 0

    def facts(self, file: Path) -> dict[str, Any]:
        """Return the ``rows`` of a file, and its ``schema``: column -> ``{"type", "shape"}``.

        Raises:
            MrprepError: the file cannot be read.
        """
        return self._ask(file, {"facts": str(file.absolute())})[0]

    def rows(self, file: Path, column: str, indices: list[int] | None) -> Iterator[I64]:
        """Yield rows of a file as ``foreign.read_ragged`` does.

        Raises:
            MrprepError: the file cannot be read.
        """
        self._number += 1
        number = self._number
        ask = {"open": number, "file": str(file.absolute()), "column": column, "rows": indices}
        try:
            while rows := self._ask(file, ask)[1]:
                yield from rows
                ask = {"next": number}
        finally:
            if self._process is not None:
                self._ask(file, {"close": number})

    def _ask(self, file: Path, request: Mapping[str, Any]) -> tuple[dict[str, Any], Rows]:
        process = self._process = self._process or _start()
        assert process.stdin is not None
        assert process.stdout is not None
        watch = Timer(_SECONDS, process.kill)
        watch.start()
        try:
            process.stdin.write(orjson.dumps(request) + b"\n")
            process.stdin.flush()
            facts = orjson.loads(process.stdout.readline())
            flat = np.frombuffer(process.stdout.read(8 * sum(facts.get("lengths", ()))), np.int64)
        except (OSError, ValueError):
            process.kill()
            process.wait()
            self._process = None
            raise _unreadable(file, _CRASHED) from None
        finally:
            watch.cancel()
        if "error" in facts:
            raise _unreadable(file, facts["error"])
        return facts, np.split(flat, np.cumsum(facts["lengths"])[:-1]) if facts.get("lengths") else []


def _unreadable(file: Path, why: str) -> MrprepError:
    name = printable(str(file))
    return MrprepError(f"{name} cannot be read ({why}): put back the file and the .db that were written together")


def _start() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "mrprep.mindrecord.apart"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def _facts(file: str) -> dict[str, Any]:
    reader = core.load().ShardReader()
    core.done(reader.open([file], False, 1, [], []))
    schema = reader.get_header().get_meta()[0].get_schema_content()["schema"]
    return {"rows": reader.len(), "schema": schema}


def _rows(file: str, column: str, indices: list[int] | None) -> Iterator[I64]:
    import mindspore.dataset as ds

    sampler = ds.SequentialSampler() if indices is None else ds.SubsetSampler(indices)
    rows = ds.MindDataset([file], columns_list=[column], num_parallel_workers=1, sampler=sampler)
    for row in rows.create_dict_iterator(num_epochs=1, output_numpy=True):
        yield row[column].astype(np.int64).reshape(-1)


def _taken(rows: Iterator[I64]) -> Rows:
    """Return the next rows of a file, as many as one answer holds; none at its end."""
    taken: Rows = []
    size = 0
    while size < _TOKENS and (row := next(rows, None)) is not None:
        taken.append(row)
        size += row.size + 1
    return taken


def _answer(request: Mapping[str, Any], opened: Opened) -> tuple[dict[str, Any], Rows]:
    if "facts" in request:
        return _facts(request["facts"]), []
    if "close" in request:
        opened.pop(request["close"], None)
        return {}, []
    if "open" in request:
        opened[request["open"]] = _rows(request["file"], request["column"], request["rows"])
    rows = _taken(opened[request.get("open", request.get("next"))])
    return {"lengths": [row.size for row in rows]}, rows


def _serve(requests: BinaryIO, answers: BinaryIO) -> None:
    opened: Opened = {}
    for line in requests:
        try:
            facts, rows = _answer(orjson.loads(line), opened)
        except (RuntimeError, ValueError, TypeError, KeyError) as error:
            facts, rows = {"error": reason(error)}, []
        answers.write(orjson.dumps(facts) + b"\n" + b"".join(row.tobytes() for row in rows))
        answers.flush()


def main() -> None:
    """Answer requests; what the library prints goes nowhere."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
