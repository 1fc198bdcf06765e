"""Chinese that no one wrote: ideographs in random order, lists of key words, bad character recognition.

Two ideographs that follow each other are looked up in the model's table of pairs. In real text, modern or classical,
far more neighbours are known pairs than ideographs four places apart; in shuffled text as many. The difference needs
no threshold by genre, for a text is measured against itself (the idea of a permutation test).
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from mrprep.filtering.batch import Batch
from mrprep.filtering.classes import Kind, watched
from mrprep.filtering.complaint import Complaint, Rule, too_much
from mrprep.filtering.model import hash_pairs, hash_triples, model
from mrprep.filtering.profile import Profile
from mrprep.filtering.tally import Column, Mask, Tally
from mrprep.filtering.windows import take, windows

_MARK_ROWS = watched("。，！？；：、")
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
_TRIPLES_ASKED = 0.6
"""Share of ideographs in two known pairs from which on triples are asked for; below, a text is verse or names."""
_GLANCE, _FINE_TRIPLES = 400, 0.55
"""Characters that are looked at first, and share of known triples among them from which on no more are."""
_STRUNG, _MORE = 0.5, 1.125
"""Order of pairs below which modern Chinese needs more triples, and how many times more: pieces of text at random."""
_ECHOES = 4
_PARTS = "丨丿丶亅亠冂冖冫凵勹匚匸卩厶宀屮巛廴廾弋彐彡彳忄扌氵灬爫犭疒癶礻糸纟衤覀訁讠辶钅阝飠饣攵氺罒艹"
_SPECKS, _BLANKS = "=|^~'_;\\`", " \u3000"
_SMALL_WORD, _MODERN_WORD, _PART, _SPECK, _BLANK = 1, 2, 4, 8, 16
"""Flags of characters."""
_SPECKS_FORGIVEN = 2
_LEAST_MARKS, _SPACED_OUT = 0.01, 0.6
"""Share of sentence marks in prose, and of blanks from which on a text was set with a blank after each ideograph."""
_LEAST_MODERN = 0.03

_LONGEST_VERSE = 7

Shares = npt.NDArray[np.float64]
Folded = npt.NDArray[np.uint16]
Flags = npt.NDArray[np.uint8]


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
    both: Shares
    """Share of three ideographs in a row that are two known pairs."""
    triples: Shares
    """Share of these that are known; 0 where that decides nothing."""
    echo: Shares
    """Share of ideographs that stand one, two, three or four places after the same, whichever is most."""
    specks: Shares
    """Strokes, parts of ideographs, and stray marks between two ideographs, for each ideograph."""
    gaps: Shares
    """Share of the ideographs that stand before one or two blanks and another."""
    small: Shares
    """Share of the ideographs that are small words of modern or classical Chinese."""
    modern: Shares
    """Share of the ideographs that are small words of modern Chinese."""
    judged: Mask
    """Long enough for a verdict, and neither verse of five or seven characters a line nor Japanese."""

    @property
    def lift(self) -> Shares:
        """How much oftener neighbours are known than by chance: 0 for shuffled text, 1 if all are."""
        return _lift(self.near, self.far)


def ideographs_of(batch: Batch) -> Ideographs:
    """Return what the ideographs of a batch say, looked at once."""
    return batch.once(_look)


def _look(batch: Batch) -> Ideographs:
    texts = len(batch.texts)
    han = np.flatnonzero((batch.wide >= _LEAST_PAIRS) & (batch.wide >= _LEAST_SHARE * batch.inked))
    if not han.size:
        return _none(texts)
    samples = [batch.samples[index][:_CHARACTERS] for index in han.tolist()]
    sizes = np.fromiter(map(len, samples), np.int64, len(samples)) + _APART
    tally = Tally(han, sizes, texts)
    places = _places((" " * _APART).join([*samples, ""]))
    folded, flags = take(model().fold, places), take(_flags(), places)
    inside = folded > 0
    count = tally(inside)
    follows, known = _known(folded, inside, 1)
    pairs = tally(follows)
    near = tally(known) / np.maximum(pairs, 1)
    judged = (pairs >= _LEAST_PAIRS) & (batch.wide >= _JUDGED_SHARE * batch.inked)
    judged &= batch.kinds[Kind.KANA] * 20 < batch.inked
    judged &= _in_verses(inside, tally) <= _VERSE * count
    many = np.maximum(count, 1)
    far = _far(folded, inside, near < _FEW_KNOWN, tally)
    modern = tally((flags & _MODERN_WORD) > 0) / many
    strung = (modern >= _LEAST_MODERN) & (_lift(near, far) < _STRUNG)
    both, triples = _triples(folded, follows, known, judged, strung, tally)
    echo = np.stack([tally(_same(folded, inside, apart)) for apart in range(1, _ECHOES + 1)]).max(axis=0)
    return Ideographs(
        count=count,
        pairs=pairs,
        near=near,
        far=far,
        both=both,
        triples=triples,
        echo=np.where(pairs >= _LEAST_PAIRS, echo / many, 0),
        specks=np.where(pairs >= _LEAST_PAIRS // 2, _specks(inside, flags, tally) / many, 0),
        gaps=np.where(pairs >= _LEAST_PAIRS // 2, _gaps(inside, flags, tally) / many, 0),
        small=tally((flags & (_SMALL_WORD | _MODERN_WORD)) > 0) / many,
        modern=modern,
        judged=judged,
    )


def _lift(near: Shares, far: Shares) -> Shares:
    return (near - far) / (1.001 - far)


def _none(texts: int) -> Ideographs:
    none, no_share = np.zeros(texts, np.int64), np.zeros(texts)
    shares = ("near", "far", "both", "triples", "echo", "specks", "gaps", "small", "modern")
    return Ideographs(count=none, pairs=none, judged=none > 0, **dict.fromkeys(shares, no_share))


def _places(text: str) -> npt.NDArray[np.uint16]:
    """Return where characters stand in tables of the basic plane, U+FFFF for those beyond it."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    return np.minimum(codes, 0xFFFF).astype(np.uint16)


def _known(folded: Folded, inside: Mask, apart: int) -> tuple[Mask, Mask]:
    """Return where two ideographs stand so far apart, and which of them are known to follow each other."""
    both = inside[:-apart] & inside[apart:]
    known = both.copy()
    for window in windows(len(both)):
        known[window] &= model().pairs.hold(hash_pairs(folded[:-apart][window], folded[apart:][window]))
    return both, known


def _far(folded: Folded, inside: Mask, asked: Mask, tally: Tally) -> Shares:
    """Return the share of known pairs `_APART` places apart in the texts that are asked, 0 for the others."""
    part, within = tally.entries(asked), tally.only(asked)
    both, known = _known(folded[part], inside[part], _APART)
    return within(known) / np.maximum(within(both), 1)


def _same(folded: Folded, inside: Mask, apart: int) -> Mask:
    same: Mask = folded[apart:] == folded[:-apart]
    return same & inside[apart:]


def _specks(inside: Mask, flags: Flags, tally: Tally) -> Column:
    between = inside[:-2] & inside[2:] & ((flags[1:-1] & _SPECK) > 0)
    return tally(between) + tally((flags & _PART) > 0) - _SPECKS_FORGIVEN


def _gaps(inside: Mask, flags: Flags, tally: Tally) -> Column:
    blank = (flags & _BLANK) > 0
    one = inside[:-2] & blank[1:-1] & inside[2:]
    two = inside[:-3] & blank[1:-2] & blank[2:-1] & inside[3:]
    return tally(one) + tally(two)


def _triples(
    folded: Folded, follows: Mask, known: Mask, judged: Mask, strung: Mask, tally: Tally
) -> tuple[Shares, Shares]:
    """Return how many triples of each text that is judged are two known pairs, and how many of these are known.

    Triples are looked up, and count as unknown, only where `_is_pieced` asks for them. Text of which enough triples
    among the first are known is not looked at further.
    """
    three, joined = follows[:-1] & follows[1:], known[:-1] & known[1:]

    def seen(those: Mask) -> Column:
        at = np.flatnonzero(joined & those)
        marks = np.zeros(len(joined), bool)
        marks[at] = model().triples.hold(hash_triples(*(folded[at + place] for place in range(3))))
        return tally(marks)

    first = tally.entries(judged, _GLANCE)[:-2]
    both_of_first, both_of_all = tally(joined & first), tally(joined)
    share_of_first = both_of_first / np.maximum(tally(three & first), 1)
    share_of_all = both_of_all / np.maximum(tally(three), 1)
    asked = judged & (strung | (np.maximum(share_of_first, share_of_all) >= _TRIPLES_ASKED))
    first &= tally.entries(asked)[:-2]
    seen_of_first = seen(first)
    unsure = asked & (seen_of_first / np.maximum(both_of_first, 1) < _FINE_TRIPLES)
    seen_of_all = seen_of_first + seen(tally.entries(unsure)[:-2] & ~first)
    share = np.where(unsure, share_of_all, share_of_first)
    both = np.where(unsure, both_of_all, both_of_first)
    return share, np.where(unsure, seen_of_all, seen_of_first) / np.maximum(both, 1)


def echo_of(batch: Batch) -> Shares:
    """Return the share of ideographs that say the one before, or the word before, again."""
    return ideographs_of(batch).echo


def _in_verses(inside: Mask, tally: Tally) -> Column:
    """Return how many ideographs stand in runs of five or seven."""
    padded = np.concatenate([[False], inside, np.zeros(_LONGEST_VERSE + 1, bool)])
    begin, *rest = (padded[at : at + len(inside)] for at in range(_LONGEST_VERSE + 2))
    five = rest[0] & ~begin & rest[1] & rest[2] & rest[3] & rest[4]
    seven = five & rest[5] & rest[6] & ~rest[7]
    return 5 * tally(five & ~rest[5]) + 7 * tally(seven)


def small_share(sample: str) -> float:
    """Return the share of ideographs in the beginning of a text, of any length, that are small words."""
    places = _places(sample[:_CHARACTERS])
    small = np.count_nonzero(_flags().take(places) & (_SMALL_WORD | _MODERN_WORD))
    return small / max(1, np.count_nonzero(model().fold.take(places)))


@cache
def _flags() -> npt.NDArray[np.uint8]:
    """Return the flags of every code point of the basic plane, small words in both forms."""
    table = np.zeros(1 << 16, np.uint8)
    for chars, flag in (
        (_SMALL, _SMALL_WORD),
        (_MODERN, _MODERN_WORD),
        (_PARTS, _PART),
        (_SPECKS, _SPECK),
        (_BLANKS, _BLANK),
    ):
        table[[ord(char) for char in chars]] |= flag
    words = _SMALL_WORD | _MODERN_WORD
    table |= table.take(model().fold) & np.uint8(words)
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


def _is_pieced(batch: Batch, least: float) -> Mask:
    han = ideographs_of(batch)
    joined = (han.both >= _TRIPLES_ASKED) & (han.triples < least)
    strung = (han.modern >= _LEAST_MODERN) & (han.lift < _STRUNG) & (han.triples < _MORE * least)
    return han.judged & (joined | strung)


def _pieced(profile: Profile, least: float) -> Complaint:
    share = profile.number(lambda batch: ideographs_of(batch).triples)
    return Complaint("shuffled", f"{share:.1%} of three ideographs that fit are known, at least {least:.1%} wanted")


def _is_specked(batch: Batch, most: float) -> Mask:
    return ideographs_of(batch).specks > most


def _specked(profile: Profile, most: float) -> Complaint | None:
    share = profile.number(lambda batch: ideographs_of(batch).specks)
    return too_much("misread", "specks and parts of ideographs", share, most)


def _is_gappy(batch: Batch, most: float) -> Mask:
    marked = batch.of(*_MARK_ROWS) >= _LEAST_MARKS * batch.inked
    gaps = ideographs_of(batch).gaps
    return marked & (gaps > most) & (gaps < _SPACED_OUT)


def _gappy(profile: Profile, most: float) -> Complaint | None:
    share = profile.number(lambda batch: ideographs_of(batch).gaps)
    return too_much("misread", "of the ideographs before a blank", share, most)


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
PIECED = Rule(_is_pieced, _pieced)
"""Chinese whose neighbours fit two by two but not three by three: chains of pairs, as an input method proposes."""
SPECKED = Rule(_is_specked, _specked)
"""Strokes, parts of ideographs and stray marks between ideographs."""
GAPPY = Rule(_is_gappy, _gappy)
"""Chinese with sentence marks whose ideographs are set apart by blanks."""
KEY_CHARACTERS = Rule(_is_list, _listed)
"""Chinese without small words."""
