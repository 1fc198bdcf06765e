"""Text that says the same again: lines, n-grams, one unit, anything that compresses too well."""

from collections import Counter
from itertools import islice

import numpy as np

from mrprep.filtering.batch import Batch
from mrprep.filtering.complaint import Complaint, Rule, too_much
from mrprep.filtering.profile import Profile
from mrprep.filtering.tally import Mask

_LEAST_LINES = 5
_LEAST_UNITS = 8
_SHORT_SUSPICIOUS = 0.6
"""Density below which units are counted in texts of under `_SHORT` characters, where LZ4 has little to refer to."""
_SHORT = 600
_SUSPICIOUS = 0.3
"""The same for longer texts; prose that repeats itself three times comes to 0.2."""
_FEW_SUSPICIOUS = 0.4
_FEW_OF = 1000
_SOME_OF = 200
_N = 10
_MOST_UNITS = 4000


def _may_repeat_lines(batch: Batch, most: float) -> Mask:
    lined = batch.lines >= _LEAST_LINES
    if not lined.any():
        return lined
    written = np.bincount(batch.line_owners, batch.line_sizes, len(batch.texts))
    return lined & (batch.repeated > most * written - 1) & (batch.repeated > 0)


def _repeated_lines(profile: Profile, most: float) -> Complaint | None:
    lines = profile.lines
    distinct = set(lines)
    total = sum(map(len, lines))
    share = (total - sum(map(len, distinct))) / total
    return too_much("repeated-lines", "of the text in repeated lines", share, most)


def _is_compressible(batch: Batch, least: float) -> Mask:
    return batch.densities < min(least, _SHORT_SUSPICIOUS)


def _compressible(profile: Profile, least: float) -> Complaint:
    return Complaint("compressible", f"compresses to {profile.density:.1%}, at least {least:.1%} wanted")


def _is_dense(batch: Batch, _: float) -> Mask:
    return batch.densities < np.where(batch.sizes < _SHORT, _SHORT_SUSPICIOUS, _SUSPICIOUS)


def _repeated_ngrams(profile: Profile, most: float) -> Complaint | None:
    units = profile.first_units(_MOST_UNITS)
    n = min(_N, max(1, len(units) // 5))
    distinct = set(zip(*(islice(units, skip, None) for skip in range(n)), strict=False))
    total = max(0, len(units) - n + 1)
    share = (total - len(distinct)) / max(1, total)
    return too_much("repeated-ngrams", f"of the {n}-grams repeated", share, most)


def _one_unit(profile: Profile, most: float) -> Complaint | None:
    if len(profile.units) < _LEAST_UNITS:
        return None
    ((_, count),) = Counter(profile.units).most_common(1)
    return too_much("one-word", "of the units the same", count / len(profile.units), most)


def _may_have_few_units(batch: Batch, _: float) -> Mask:
    return batch.densities < _FEW_SUSPICIOUS


def _few_units(profile: Profile, least: float) -> Complaint | None:
    units = profile.first_units(_FEW_OF)
    if len(units) >= _SOME_OF and profile.latin > profile.wide and len(set(units[:_SOME_OF])) < 2 * least * _SOME_OF:
        units = units[:_SOME_OF]
        least *= 2
    share = len(set(units)) / max(1, len(units))
    if share >= least or len(units) < _LEAST_UNITS:
        return None
    return Complaint("few-words", f"{share:.1%} of the units are different, at least {least:.1%} wanted")


REPEATED_LINES = Rule(_may_repeat_lines, _repeated_lines)
"""Characters in lines that stood before."""
COMPRESSIBLE = Rule(_is_compressible, _compressible)
"""Text that LZ4 makes smaller than text can be made."""
REPEATED_NGRAMS = Rule(_is_dense, _repeated_ngrams)
"""10-grams of units that stood before; looks at text that compresses well only."""
ONE_UNIT = Rule(_is_dense, _one_unit)
"""One word or character that makes up the text; looks at short and dense text only."""
FEW_UNITS = Rule(_may_have_few_units, _few_units)
"""1,000 units with too few different ones among them; looks at dense text only."""
