"""Is there an Ascend at all? By its driver, without MindSpore: the launcher says no before any rank starts."""

from pathlib import Path

from mrprep.errors import MrprepError

MANAGER = Path("/dev/davinci_manager")
"""Is there where the Ascend driver is."""


def check(wanted: str) -> None:
    """See that the device that is wanted may be there; MindSpore itself is asked in the ranks.

    Raises:
        MrprepError: an Ascend is wanted, and there is no driver.
    """
    if wanted == "Ascend" and not MANAGER.exists():
        raise MrprepError(
            f"--device Ascend, but there is no {MANAGER}, so no Ascend driver: mrprep doctor says what is missing, "
            "and --device CPU or auto trains here"
        )
