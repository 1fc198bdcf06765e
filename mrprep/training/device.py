"""The device a rank computes on, by asking MindSpore. Nothing but the CPU has been tried."""

import os

import mindspore as ms
from mindspore import Tensor, ops

from mrprep.errors import MrprepError
from mrprep.training import driver


def choose(wanted: str) -> str:
    """Set the device of this process and return its name, ``CPU`` or ``Ascend``.

    Args:
        wanted: that, or ``auto``: Ascend where MindSpore sees one.

    Raises:
        MrprepError: an Ascend is wanted, and there is none.
    """
    there = wanted != "CPU" and driver.MANAGER.exists() and ms.hal.is_available("Ascend")  # without a driver it warns
    if wanted == "Ascend" and not there:
        raise MrprepError("--device Ascend, but MindSpore sees none here: mrprep doctor says what is missing")
    if there:
        ms.set_device("Ascend", int(os.environ.get("MS_NODE_ID", "0")) % ms.hal.device_count("Ascend"))
        return "Ascend"
    ms.set_device("CPU")
    return "CPU"


def has_bfloat16() -> bool:
    """Return whether the device multiplies matrices of bfloat16; CPU kernels do not."""
    one = Tensor([[1.0]], ms.float32).astype(ms.bfloat16)
    try:
        return float(ops.matmul(one, one).astype(ms.float32).asnumpy()[0, 0]) == 1.0
    except (TypeError, RuntimeError, ValueError):
        return False
