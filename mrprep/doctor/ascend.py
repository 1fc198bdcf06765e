"""CANN and the driver of Ascend devices. Read from files alone: the tools that ask the device hang when it does.

Untested on a device: the places and the versions are those of MindSpore 2.10.0 (``run_check/_check_version.py``).
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from mrprep.doctor.reading import Reading, judge

_CANN = ("8.2", "8.3", "8.5", "9.0", "9.1")
_HOMES = ("/usr/local/Ascend/ascend-toolkit/latest", "/usr/local/Ascend/cann")
_DRIVER = "/usr/local/Ascend/driver/version.info"
_VERSION = re.compile(r"^\s*(?:Version|package_version)\s*=\s*\[?(\d+(?:\.\d+)*)", re.IGNORECASE | re.MULTILINE)


def readings(root: Path = Path("/")) -> Iterator[Reading]:
    """Read what stands for Ascend under a root: a note that there is none, or driver, CANN and environment."""
    devices = sorted((root / "dev").glob("davinci[0-9]*"))
    if not devices:
        yield Reading("Ascend", "no device", "none: training runs on the CPU")
        return
    yield Reading("Ascend", f"{len(devices)} devices", "any number")
    driver = _version(root / _DRIVER.lstrip("/"))
    yield judge("driver", driver or "not found", "any", driver is not None, "install the Ascend driver and firmware")
    yield _cann(root)
    home = os.environ.get("ASCEND_HOME_PATH")
    mend = f"source {_HOMES[0]}/../set_env.sh"
    yield judge("CANN environment", home or "not set", "ASCEND_HOME_PATH", home is not None, mend)


def _cann(root: Path) -> Reading:
    homes = [os.environ.get("ASCEND_HOME_PATH", ""), *(str(root / home.lstrip("/")) for home in _HOMES)]
    versions = (_version(Path(home, "compiler/version.info")) for home in homes if home)
    found = next(filter(None, versions), None)
    good = found is not None and ".".join(found.split(".")[:2]) in _CANN
    return judge("CANN", found or "not found", " or ".join(_CANN), good, "install a CANN toolkit of these versions")


def _version(file: Path) -> str | None:
    found = _VERSION.search(file.read_text(errors="replace")) if file.is_file() else None
    return found[1] if found else None
