"""The ties between a rank and its launcher. Linux only.

A rank dies with the thread that started it, however that one dies, and leaves a sentence when it fails.
"""

import ctypes
import os
import signal

PARENT = "MRPREP_PARENT"
"""Environment variable with the process id of the launcher; unset when someone else starts the ranks."""
REPORT = "MRPREP_REPORT"
"""Environment variable with the pipe for the sentence of a rank that fails, and its name; unset like ``PARENT``."""
_LONGEST = 2000  # below PIPE_BUF, so that sentences of several ranks do not mix
_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Have the kernel kill this process when the launcher is gone; leave at once if it is gone already."""
    parent = os.environ.get(PARENT)
    if parent is None:
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):
        os._exit(1)


def report(sentence: str) -> None:
    """Leave a sentence for the launcher to show."""
    pipe, _, name = os.environ.get(REPORT, "").partition(" ")
    if pipe:
        line = f"{name}\t{' '.join(sentence.split())}".encode()[:_LONGEST]
        os.write(int(pipe), line + b"\n")


class Reports:
    """The launcher's end: what ranks have reported. A pipe, as the disk may be what failed."""

    def __init__(self) -> None:
        self._read, self.pipe = os.pipe()
        os.set_blocking(self._read, False)

    def first(self) -> tuple[str, str] | None:
        """Return the name and the sentence of the first rank to report, if one did since the last call."""
        try:
            line = os.read(self._read, 1 << 16).splitlines()[0]
        except BlockingIOError:
            return None
        name, _, sentence = line.decode(errors="replace").partition("\t")
        return name, sentence

    def close(self) -> None:
        """Close both ends."""
        os.close(self._read)
        os.close(self.pipe)
