"""What one rank runs: ``python -m mrprep.training.worker SETTINGS``. ``run`` has it started."""

import errno
import os
import re
import sys
import traceback
from contextlib import suppress
from pathlib import Path

from mrprep.errors import MrprepError
from mrprep.training import lifeline
from mrprep.training.settings import Settings
from mrprep.training.stopping import StopRequest

_SUM_FAILED = re.compile(r"Launch kernel failed.*(AllReduce|AllGather)")
"""What MindSpore says when a rank gave up waiting for another."""


def main(settings_file: Path) -> None:
    """Train as one rank; an error goes to stderr with its traceback and to a file as one sentence."""
    lifeline.die_with_parent()
    request = StopRequest()
    try:
        with request:
            train(Settings.model_validate_json(settings_file.read_bytes()), request)
    except Exception as error:  # whatever it is, the launcher must hear of it
        lifeline.report(_sentence(error))
        with suppress(OSError):  # the log's disk may be full
            traceback.print_exc()
            sys.stderr.flush()
        os._exit(1)  # MindSpore's own exit would wait for ranks that will never answer


def train(settings: Settings, request: StopRequest) -> None:
    """Train as the rank that the environment says this process is; the scheduler returns when all have ended."""
    import mindspore as ms
    from mindspore import communication

    from mrprep.training import device, loop

    device.choose(settings.device)
    ms.set_recursion_limit(20000)  # graphs of 24 layers
    rank = 0
    if settings.ranks > 1:
        communication.init()
        ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL)
        rank = communication.get_rank()
    loop.run(settings, rank, lambda: request.number is not None)


def _sentence(error: Exception) -> str:
    if isinstance(error, MrprepError):
        return str(error)
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return "the disk is full: make room, and the same command goes on from the last checkpoint"
    if _SUM_FAILED.search(str(error)):
        return (
            "a sum over the ranks failed: another rank was too far behind, as on a busy machine, or is gone; the same "
            "command goes on from the last checkpoint, best with less beside it, and --hang-after is how long is waited"
        )
    line = next((line.strip() for line in str(error).splitlines() if line.strip()), "no message")
    return f"{type(error).__name__}: {line}"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
