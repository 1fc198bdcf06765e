"""Ids of each text into one array, and where each begins."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mrprep.tokenizers.protocol import Ids, Offsets


def flat(found: Sequence[npt.NDArray[Any]]) -> tuple[Ids, Offsets]:
    """Return the ids of all texts, int32 flat, and where each begins, int64[n + 1]."""
    offsets = np.zeros(len(found) + 1, np.int64)
    np.cumsum([ids.size for ids in found], out=offsets[1:])
    joined = np.concatenate(found, dtype=np.int32, casting="unsafe") if found else np.zeros(0, np.int32)
    return joined, offsets
