"""What stretches of rows own and say."""

import numpy as np

from mrprep.audit.block import I32, Stretches
from mrprep.tokenizers.protocol import Tokenizer


def owners(traced: Stretches, shape: tuple[int, ...]) -> I32:
    """Return which stretch each token belongs to, -1 for none, int32 of that shape."""
    owner = np.full(shape, -1, np.int32)
    number = np.arange(traced.row.size)
    first = np.cumsum(traced.length) - traced.length
    places = np.arange(int(traced.length.sum())) - np.repeat(first - traced.at - traced.row * shape[1], traced.length)
    owner.reshape(-1)[places] = np.repeat(number, traced.length)
    return owner


def decoded(tokenizer: Tokenizer, tokens: I32, traced: Stretches) -> tuple[str, ...]:
    """Return the text of each stretch; ids outside of the vocabulary stand for nothing."""
    known = (tokens >= 0) & (tokens < tokenizer.vocab_size)
    ends = traced.at + traced.length
    return tuple(
        tokenizer.decode(tokens[row, at:end][known[row, at:end]].tolist())
        for row, at, end in zip(traced.row.tolist(), traced.at.tolist(), ends.tolist(), strict=True)
    )
