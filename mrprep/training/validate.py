"""Validation loss: over the first rows of the valid splits by every rank in turn, or over all of it by one."""

import math
from collections.abc import Callable

from mrprep.training.metrics import Validation
from mrprep.training.mixture import Mixture
from mrprep.training.reduce import total_over_ranks
from mrprep.training.score import Scorer, Total, total


class Validator:
    """Looks at the first ``taken`` rows of a mixture; each rank at every ``ranks``-th, and the sums are added up."""

    def __init__(self, scorer: Scorer, mixture: Mixture, rank: int, ranks: int) -> None:
        self._scorer, self._mixture, self._ranks = scorer, mixture, ranks
        self._mine = mixture.first[rank::ranks]

    def __call__(self, step: int, beat: Callable[[], None]) -> Validation:
        """Return the loss with the model as it is; every rank must call it."""
        mine = total(*self._scorer(self._mixture, self._mine, beat)) if self._mine.size else Total(0.0, 0.0)
        if self._ranks > 1:
            mine = Total(*total_over_ranks([mine.loss, mine.tokens]))
        return result(step, mine, self._mixture.bytes_per_token)


def result(step: int, sums: Total, bytes_per_token: float | None) -> Validation:
    """Return means from sums, in nats, as perplexity, and in bits a byte of text."""
    loss = sums.loss / sums.tokens
    per_byte = loss / math.log(2) / bytes_per_token if bytes_per_token else None
    return {
        "step": step,
        "loss": loss,
        "perplexity": math.exp(min(loss, 700.0)),
        "bits_per_byte": per_byte,
        "tokens": round(sums.tokens),
    }
