"""Whether two ranks on this machine find each other and add up a number."""

import sys
import tempfile
import time
from pathlib import Path

from mrprep.doctor.reading import Reading
from mrprep.errors import MrprepError
from mrprep.training.launch import run_ranks

_RANKS = 2
_PATIENCE = 60.0
"""Seconds without a sign of life; ranks are up after 3 to 10."""


def reading() -> Reading:
    """Start two ranks that all-reduce their number plus one, some 5 s."""
    wanted = f"an all-reduce over {_RANKS} ranks"
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mrprep-doctor-") as logs:
        try:
            run_ranks([sys.executable, "-m", "mrprep.training.handshake"], _RANKS, Path(logs), lambda: None, _PATIENCE)
        except MrprepError as error:
            return Reading("ranks", str(error), wanted, "wrong", "see whether a firewall stands before 127.0.0.1")
    return Reading("ranks", f"added up in {time.monotonic() - started:.1f} s", wanted)
