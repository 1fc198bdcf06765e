"""Chinese that no one wrote: ideographs in random order, lists of key words, bad character recognition.

Two ideographs that follow each other are looked up in the model's table of pairs. In real text, modern or classical,
far more neighbours are known pairs than ideographs four places apart; in shuffled text as many. The difference needs
no threshold by genre, for a text is measured against itself (the idea of a permutation test).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mrprep.filtering.batch import Batch, Column, Mask
from mrprep.filtering.classes import Kind
from mrprep.filtering.complaint import Complaint, Rule
from mrprep.filtering.model import hash_pairs, model
from mrprep.filtering.profile import Profile

_CHARACTERS = 1500
_LEAST_PAIRS = 100
_APART = 4
_VERSE = 0.7
_LISTED, _LISTS = 0.6, 1.6
"""Order below which Chinese needs more small words, and how many times more."""
_FEW_KNOWN = 0.85
"""Share of known neighbours from which on a text needs no closer look."""
_LEAST_SHARE, _JUDGED_SHARE = 0.1, 0.3
_SMALL = (
    "的了是不在有我他她它这那就也和与及而之其以于为所者但却又都很还把被让从向对个们着过吗呢吧么得到说要会能可没无若如因"
    "此或并乃亦曰矣焉哉乎则且上去来下中里后时一二三"
)
_MODERN = "的了是在和这"
_LEAST_MODERN = 0.03

Shares = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ideographs:
    """Columns with an entry a text, over its first `_CHARACTERS` characters."""

    count: Column
    """Ideographs."""
    pairs: Column
    """Ideographs that follow another."""
    near: Shares
    """Share of them that are known to follow it."""
    far: Shares
    """The same for ideographs four places apart; 0 where neighbours are known so well that it is not asked."""
    small: Shares
    """Share of the ideographs that are small words of modern or classical Chinese."""
    modern: Shares
    """Share of the ideographs that are small words of modern Chinese."""
    judged: Mask
    """Long enough for a verdict, and neither verse of five or seven characters a line nor Japanese."""

    @property
    def lift(self) -> Shares:
        """How much oftener neighbours are known than by chance: 0 for shuffled text, 1 if all are."""
        return (self.near - self.far) / (1.001 - self.far)


def ideographs_of(batch: Batch) -> Ideographs:
    """Return what the ideographs of a batch say, looked at once."""
    return batch.once(_look)


def _look(batch: Batch) -> Ideographs:
    texts = len(batch.texts)
    han = np.flatnonzero((batch.wide >= _LEAST_PAIRS) & (batch.wide >= _LEAST_SHARE * batch.inked))
    samples = [batch.samples[index][:_CHARACTERS] for index in han.tolist()]
    owners = np.repeat(han, [len(sample) + _APART for sample in samples])
    joined = "".join(sample + " " * _APART for sample in samples)
    codes = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)
    folded = model().fold.take(np.minimum(codes, 0xFFFF))
    inside = folded > 0
    small = _small_table().take(folded)

    def share(those: Mask | Column, known: Mask | Column, of: Column) -> tuple[Shares, Column]:
        total = np.bincount(of[those], minlength=texts)
        return np.bincount(of[known], minlength=texts) / np.maximum(total, 1), total

    def known_at(apart: int, asked: Mask) -> tuple[Shares, Column]:
        both = np.flatnonzero(inside[:-apart] & inside[apart:] & asked[:-apart])
        found = both[model().pairs.take(hash_pairs(folded[both], folded[both + apart]))]
        return share(both, found, owners)

    if not samples:
        none, no_share = np.zeros(texts, np.int64), np.zeros(texts)
        return Ideographs(none, none, no_share, no_share, no_share, no_share, none > 0)
    near, pairs = known_at(1, inside)
    far, _ = known_at(_APART, (near < _FEW_KNOWN).take(owners))
    small_share, count = share(inside, small > 0, owners)
    modern_share, _ = share(inside, small > 1, owners)
    prose = _in_verses(inside, owners, texts) <= _VERSE * count
    judged = (pairs >= _LEAST_PAIRS) & (batch.wide >= _JUDGED_SHARE * batch.inked) & prose
    judged &= batch.kinds[Kind.KANA] * 20 < batch.inked
    return Ideographs(count, pairs, near, far, small_share, modern_share, judged)


def _in_verses(inside: Mask, owners: Column, texts: int) -> Column:
    """Return how many ideographs stand in runs of five or seven."""
    edges = np.flatnonzero(np.diff(inside, prepend=False))
    lengths = edges[1::2] - edges[::2]
    verses = np.isin(lengths, (5, 7))
    return np.bincount(owners[edges[::2][verses]], lengths[verses], texts).astype(np.int64)


def _small_table() -> npt.NDArray[np.uint8]:
    table = np.zeros(1 << 16, np.uint8)
    table[[ord(char) for char in _SMALL]] = 1
    table[[ord(char) for char in _MODERN]] = 2
    return table


def _is_shuffled(batch: Batch, least: float) -> Mask:
    han = ideographs_of(batch)
    return han.judged & (han.lift < least) & (han.near < _FEW_KNOWN)


def _shuffled(profile: Profile, least: float) -> Complaint:
    lift = profile.number(lambda batch: ideographs_of(batch).lift)
    return Complaint("shuffled", f"{lift:.2f} of the order of real Chinese, at least {least:g} wanted")


def _is_misread(batch: Batch, least: float) -> Mask:
    han = ideographs_of(batch)
    return han.judged & (han.lift < least) & (han.modern >= _LEAST_MODERN)


def _misread(profile: Profile, least: float) -> Complaint:
    lift = profile.number(lambda batch: ideographs_of(batch).lift)
    return Complaint("misread", f"{lift:.2f} of the order of modern Chinese, at least {least:g} wanted")


def _is_list(batch: Batch, least: float) -> Mask:
    han = ideographs_of(batch)
    return han.judged & (han.small < least * np.where(han.lift < _LISTED, _LISTS, 1))


def _listed(profile: Profile, least: float) -> Complaint:
    share = profile.number(lambda batch: ideographs_of(batch).small)
    least *= _LISTS if profile.number(lambda batch: ideographs_of(batch).lift) < _LISTED else 1
    return Complaint("keywords", f"{share:.1%} of the ideographs are small words, at least {least:.1%} wanted")


SHUFFLED = Rule(_is_shuffled, _shuffled)
"""Chinese whose neighbours are no likelier pairs than ideographs further apart."""
MISREAD = Rule(_is_misread, _misread)
"""Modern Chinese with too few known pairs: one wrong character in six."""
KEY_CHARACTERS = Rule(_is_list, _listed)
"""Chinese without small words."""
