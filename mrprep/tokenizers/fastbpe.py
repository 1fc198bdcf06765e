"""Ids of a SentencePiece BPE model by gigatoken, up to ten times as fast, where they are known to be the same.

SentencePiece merges the adjacent pair with the best score, the leftmost of equals. gigatoken ranks pairs: by score,
then by the length of their left and of their right part. The ways in which they can differ, each with its gate:

- What comes before the merges (charsmap, extra white space, suffix mode): such models are refused.
- Two pieces of one score: refused, but for the runs of U+2581 of Llama 2. They merge last, when only whole runs are
  left, and runs of all lengths that matter are compared when a model is opened.
  (InternLM 2 falls under this: nothing is lost, as gigatoken gains little where pieces reach over spaces.)
- One piece made of two pairs that overlap in the text (``ab|abab|ab`` for ``ababab``): a text that holds such a
  string is left to SentencePiece. Runs of one character are let through: both build them from the left, so that a
  shorter part does not come to stand before a longer one. Tests go through the runs of every such character.
- The literal of a piece that is not plain text: gigatoken returns the id of a control or user-defined piece then,
  by which those texts are recognised, and left to SentencePiece.
- An error in either library: texts of every kind are encoded by both when a model is opened.

Opening costs 0.35 s for 32,000 pieces, most of it in gigatoken.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mrprep.tokenizers.flat import flat
from mrprep.tokenizers.gigatoken import Gigatoken
from mrprep.tokenizers.model_file import SPACE, ModelFile, PieceType

MAX_RISKY = 16

PROBES: tuple[str, ...] = (
    "",
    " ",
    "  leading and trailing  ",
    "Hello, world! It's 3.14 o'clock.",
    "tabs\tand\nlines\r\n\n\nand  more   spaces    of     many      widths",
    "天地玄黄，宇宙洪荒。日月盈昃，辰宿列张。　　段落",
    "カタカナとひらがな 한국어 ไทย العربية עברית हिन्दी Ελληνικά русский",
    "😀👩‍👩‍👧‍👦🇨🇳\ufe0f\u200d rare: \U000e0001\U0010ffff\ue000\u0300\ufffd",
    "\x00\x01\x1b[31m\x7f\x85\u2028\u2029\ufeff",
    f"{SPACE}{SPACE}a {SPACE} b{SPACE}",
    "<s></s><unk><pad><0x41><0xE4><|im_end|><|endoftext|>[INST][/INST]",
    "def f(x):\n        return {'a': [1, 22, 333], \"b\": x ** 2}  # ====\n",
    *(char * n for char in " \n=-a哈😀\t" for n in (2, 3, 5, 17, 40)),
    "antidisestablishmentarianism" * 8,
    "qzxjvkqzxjvk" * 16,
    "0123456789" * 8,
)


class FastBpe:
    """One model in gigatoken, with what it takes to know which of its ids to trust.

    What gigatoken makes of the model file, which takes half a second, is kept: opening it anew costs 0.05 s.
    """

    def __init__(self, path: Path, suspect: npt.NDArray[np.bool_], risky: tuple[str, ...]) -> None:
        from gigatoken import Tokenizer

        made_of_it = _as_json(path.read_bytes())
        self._backend = Gigatoken(lambda: Tokenizer.from_json(made_of_it))
        self._suspect = suspect
        self._risky = risky

    def encode(self, texts: Sequence[str]) -> tuple[list[npt.NDArray[np.uint32]], list[int]]:
        """Return the ids of each text, and the places of those that SentencePiece has to encode."""
        found = self._backend.encode(texts)
        ids, offsets = flat(found)
        doubtful = np.flatnonzero(self._suspect[ids])
        flagged = set((np.searchsorted(offsets, doubtful, side="right") - 1).tolist())
        if self._risky:
            flagged.update(i for i, text in enumerate(texts) if any(risky in text for risky in self._risky))
        return found, sorted(flagged)


@lru_cache(maxsize=1)
def _as_json(model: bytes) -> str:
    """Return what gigatoken makes of a model file; a worker that has looked at a model encodes with it later."""
    from gigatoken._load.sentencepiece import sentencepiece_to_tokenizer_json

    return str(sentencepiece_to_tokenizer_json(model))


def open_fast(path: Path, model: ModelFile, reference: Any) -> tuple[FastBpe | None, str]:
    """Open a model in gigatoken, if it is of the kind that is proven equal.

    Args:
        path: of the model file.
        model: what it holds.
        reference: its ``SentencePieceProcessor``.

    Returns:
        The fast tokenizer and an empty string, or None and why there is none.
    """
    reason = _unfit(model)
    risky = () if reason else tuple(sorted(set(_self_overlaps(model))))
    if len(risky) > MAX_RISKY:
        reason = f"{len(risky)} strings can be merged in two ways"
    if reason:
        return None, reason
    fast = FastBpe(path, _suspect(model), risky)
    if not _agrees(fast, model, reference):
        return None, "gigatoken and sentencepiece disagree on a probe text"
    return fast, ""


def _suspect(model: ModelFile) -> npt.NDArray[np.bool_]:
    """Return bool[vocab]: ids that only a text with a literal of a special piece can give."""
    types = np.array(model.types)
    return ~np.isin(types, [PieceType.NORMAL, PieceType.BYTE])


def _unfit(model: ModelFile) -> str:
    """Return why the model as a whole is left to SentencePiece, or an empty string."""
    checks = {
        "it is no BPE model": model.model_type != "bpe",
        "it has no byte fallback": not model.byte_fallback or len(model.of_type(PieceType.BYTE)) != 256,
        "it rewrites the text before cutting it": model.charsmap or model.remove_extra_whitespaces,
        "it keeps spaces in an unusual way": not model.escape_whitespaces or model.whitespace_as_suffix,
        "it has unused pieces": bool(model.of_type(PieceType.UNUSED)) or "\0" in model.pieces,
        "a piece stands in it twice": len(set(model.pieces)) != len(model.pieces),
        "pieces of different text have one score": _ties(model),
        "a special piece can come of merges": _reachable_specials(model),
    }
    return next((reason for reason, holds in checks.items() if holds), "")


def _normal(model: ModelFile) -> dict[str, float]:
    rows = zip(model.pieces, model.scores, model.types, strict=True)
    return {piece: score for piece, score, kind in rows if kind == PieceType.NORMAL}


def _ties(model: ModelFile) -> bool:
    """Return whether two pieces that merges can make have one score, runs of spaces that merge last aside."""
    scores = {piece: score for piece, score in _normal(model).items() if len(piece) > 1}
    shared = {score for score, n in Counter(scores.values()).items() if n > 1}
    tied = [piece for piece, score in scores.items() if score in shared]
    return bool(tied) and (any(piece.strip(SPACE) for piece in tied) or shared != {min(scores.values())})


def _reachable_specials(model: ModelFile) -> bool:
    """Return whether merges could lead gigatoken to a special piece, or one holds a space mark."""
    normal = _normal(model)
    for piece, kind in zip(model.pieces, model.types, strict=True):
        if kind == PieceType.NORMAL:
            continue
        if SPACE in piece or " " in piece:
            return True
        if kind in (PieceType.BYTE, PieceType.UNKNOWN) and any(
            piece[:i] in normal and piece[i:] in normal for i in range(1, len(piece))
        ):
            return True
    return False


def _self_overlaps(model: ModelFile) -> Iterator[str]:
    """Yield strings ``l m r`` in which ``l m`` and ``m r`` are one piece and ``m`` is longer than ``l``."""
    normal = _normal(model)
    for piece in normal:
        n = len(piece)
        if n < 3 or piece.count(piece[0]) == n:
            continue
        for shift in range(1, (n + 1) // 2):
            if piece[shift:] == piece[:-shift] and {piece[:shift], piece[shift:], piece[-shift:]} <= normal.keys():
                yield piece[:shift] + piece


def _agrees(fast: FastBpe, model: ModelFile, reference: Any) -> bool:
    longest = max((len(piece) for piece in model.pieces if not piece.strip(SPACE)), default=0)
    probes = [*PROBES, *(" " * n for n in range(4 * longest))]
    found, flagged = fast.encode(probes)
    return all(
        i in flagged or np.array_equal(found[i], reference.encode(text, return_type="numpy"))
        for i, text in enumerate(probes)
    )
