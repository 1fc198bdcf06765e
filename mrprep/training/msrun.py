"""Under an ``msrun`` of the user's own: this process is a rank, or the scheduler, and trains right here.

``msrun --worker_num 2 --local_worker_num 2 --join True mrprep train BUILD`` starts one ``mrprep train`` a rank. Rank 0
prepares the directory of the run, which all nodes must see under the same path.
"""

import os

from mrprep.training import lifeline
from mrprep.training.settings import Settings
from mrprep.training.stopping import StopRequest


def ranks() -> int:
    """Return how many ranks the msrun has that started this process; 0 if none did."""
    ours = lifeline.PARENT in os.environ
    return 0 if ours or "MS_ROLE" not in os.environ else int(os.environ["MS_WORKER_NUM"])


def is_first() -> bool:
    """Return whether this process is rank 0."""
    return os.environ.get("MS_ROLE") == "MS_WORKER" and os.environ.get("MS_NODE_ID") == "0"


def join(settings: Settings) -> int | None:
    """Train as one of the ranks; return the signal that ended it early, if one did."""
    from mrprep.training.worker import train

    with StopRequest() as request:
        train(settings, request)
    return request.number
