"""Cores, memory, disk, limits, locale and network of this machine, as this process may use them."""

import locale
import os
import resource
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

from mrprep.doctor.reading import Reading, judge
from mrprep.engine.memory import usable_memory

_GB = 1e9
_MEMORY = 4 * _GB
"""Two workers of a build and MindSpore with a small model."""
_DISK = 5 * _GB
_FILES = 1024
"""A build opens a file a token partition, at most 256, and the trainer every shard."""
_SHARED = 64e6


def readings(directory: Path) -> Iterator[Reading]:
    """Read what the machine has; disk is that of ``directory``."""
    cores = len(os.sched_getaffinity(0))
    yield judge("cores", str(cores), "2", cores >= 2, "a build takes twice as long; give the container 2", "note")
    memory = usable_memory()
    yield judge(
        "memory", _gb(memory), _gb(_MEMORY), memory >= _MEMORY, "build with --jobs 1, train --model tiny", "note"
    )
    free = shutil.disk_usage(directory).free
    yield judge("free disk", _gb(free), _gb(_DISK), free >= _DISK, f"df -h {directory}; build to another disk", "note")
    yield _open_files()
    yield _shared_memory()
    encoding = locale.getpreferredencoding(False)
    yield judge("locale", encoding, "UTF-8", encoding.upper() == "UTF-8", "export LC_ALL=C.UTF-8", "note")
    yield _system()
    yield _loopback()


def _open_files() -> Reading:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = soft == resource.RLIM_INFINITY
    found = "unlimited" if unlimited else str(soft)
    return judge("open files", found, str(_FILES), unlimited or soft >= _FILES, f"ulimit -n {4 * _FILES}")


def _shared_memory() -> Reading:
    place = Path("/dev/shm")
    free = shutil.disk_usage(place).free if place.is_dir() else 0
    return judge("shared memory", _gb(free), _gb(_SHARED), free >= _SHARED, "docker run --shm-size=1g ...", "note")


def _system() -> Reading:
    found = f"{sys.platform} {os.uname().machine}"
    return judge("system", found, "linux", sys.platform == "linux", "run on Linux, or in a Linux container")


def _loopback() -> Reading:
    """Ask for a free port on the loopback address, as the launcher of ranks does."""
    wanted = "a free port on 127.0.0.1"
    try:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return Reading("network", f"port {probe.getsockname()[1]} is free", wanted)
    except OSError as error:
        return Reading("network", str(error.strerror), wanted, "wrong", "ip link set lo up")


def _gb(count: float) -> str:
    return f"{count / _GB:.2f} GB"
