"""The ties between a rank and its launcher. Linux only.

A rank dies with the thread that started it, however that one dies, and leaves a sentence when it fails.
"""

import ctypes
import os
import signal
from pathlib import Path

PARENT = "MRPREP_PARENT"
"""Environment variable with the process id of the launcher; unset when someone else starts the ranks."""
ERROR_FILE = "MRPREP_ERROR_FILE"
"""Environment variable with the file for the sentence of a rank that fails; unset like ``PARENT``."""
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
    file = os.environ.get(ERROR_FILE)
    if file is not None:
        Path(file).write_text(sentence)
