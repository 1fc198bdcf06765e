"""A rank dies with the process that started it, however that one dies. Linux only."""

import ctypes
import os
import signal

PARENT = "MRPREP_PARENT"
"""Environment variable with the process id of the launcher; unset when someone else starts the ranks."""
_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Have the kernel kill this process when the launcher is gone; leave at once if it is gone already."""
    parent = os.environ.get(PARENT)
    if parent is None:
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):
        os._exit(1)
