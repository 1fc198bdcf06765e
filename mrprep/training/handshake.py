"""What a rank runs to show that ranks find each other: ``python -m mrprep.training.handshake``."""

import os
import traceback

from mrprep.errors import MrprepError
from mrprep.training import lifeline


def main() -> None:
    """Add up rank + 1 over all ranks; end with 1 and a sentence when the sum is wrong or something fails."""
    lifeline.die_with_parent()
    try:
        _add_up()
    except Exception as error:  # whatever it is, the launcher must hear of it
        traceback.print_exc()
        lifeline.report(str(error))
        os._exit(1)  # MindSpore's own exit would wait for ranks that will never answer


def _add_up() -> None:
    import mindspore as ms
    from mindspore import communication, ops

    ms.set_device("CPU")
    communication.init()
    if os.environ.get("MS_ROLE") == "MS_SCHED":
        return
    rank, ranks = communication.get_rank(), communication.get_group_size()
    total = float(ops.AllReduce()(ms.Tensor([rank + 1.0], ms.float32))[0])
    if total != ranks * (ranks + 1) / 2:
        raise MrprepError(f"rank {rank}: the all-reduce of {ranks} ranks gave {total}, not {ranks * (ranks + 1) / 2}")


if __name__ == "__main__":
    main()
