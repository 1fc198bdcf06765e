"""``mrprep eval``: the loss of a run's weights on a split of any build with its tokenizer. One process."""

import json
from collections.abc import Callable
from pathlib import Path

from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.training.checkpoint import silent
from mrprep.training.metrics import Validation
from mrprep.training.shards import read_shards
from mrprep.training.weights import Weights, read_weights

_BATCH = 4


def evaluate(
    run: Path,
    build: Path,
    *,
    split: str = "valid",
    rows: int | None = None,
    beat: Callable[[], None] = lambda: None,
    say: Callable[[str], None] = silent,
) -> Validation:
    """Return loss, perplexity and bits a byte.

    Args:
        run: of mrprep train, or a directory with ``model.safetensors`` and ``config.json``.
        build: whose rows are looked at.
        split: of it.
        rows: the first so many; all if None.
        beat: called every 4 rows.
        say: hears of damaged checkpoints that are passed over.

    Raises:
        MrprepError: no weights, no such split, an empty one, or a tokenizer or row length that does not fit.
    """
    weights, shards = read_weights(run, say), read_shards(build, split)
    origin = weights.origin
    origin.check_vocabulary(weights.config.vocab_size, shards.vocab_size, shards.tokenizer_sha256, build)
    _check_length(weights, build, shards.seq)
    origin.check_tokenizer(shards.tokenizer_sha256, build)
    if not shards.rows:
        raise MrprepError(f"the {printable(split)} split of {printable(str(build))} has no rows: build with --valid")

    import mindspore as ms
    import numpy as np

    from mrprep.training import data, validate
    from mrprep.training.documents import Apart
    from mrprep.training.mixture import whole
    from mrprep.training.model import Llama
    from mrprep.training.resume import put
    from mrprep.training.score import Scorer, total

    ms.set_device("CPU")
    ms.set_recursion_limit(20000)
    apart = Apart(shards.eod_id, *_resets(run))
    model = Llama(weights.config, shards.seq, seed=0, apart=apart)
    put(weights.arrays, model, weights.origin.path)
    columns = data.splitter(shards.layout, shards.pad_id, shards.eod_id, apart=apart.attention)
    scorer = Scorer(model, columns, _BATCH)
    losses, mask = scorer(whole(shards), np.arange(min(rows or shards.rows, shards.rows)), beat)
    return validate.result(weights.origin.step, total(losses, mask), shards.bytes_per_token)


def _resets(run: Path) -> tuple[bool, bool]:
    """Return whether the run kept documents apart, in attention and in positions."""
    try:
        settings = json.loads((run / "settings.json").read_bytes())
    except (OSError, ValueError):
        return False, False
    return bool(settings.get("reset_attention")), bool(settings.get("reset_position"))


def _check_length(weights: Weights, build: Path, seq: int) -> None:
    config = weights.config
    if config.max_position_embeddings < seq:
        raise MrprepError(
            f"{printable(str(weights.origin.path))} takes rows of {config.max_position_embeddings} tokens, "
            f"{printable(str(build))} has {seq}: build with a smaller --seq"
        )
