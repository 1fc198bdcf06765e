"""Ids of a ``tokenizer.json`` by kind, and the file as an encoder is to see it: nothing in a text makes a control id.

Of the added tokens, those that the user chose match in texts (``user_defined``); the others are plain text there. A
piece of the model that is a control or unknown id under another hat, as ``</s>`` of T5, is put out of reach: its name
in the model becomes one with a space in it, and spaces are rewritten before a text comes to the model.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mrprep.tokenizers.choices import AddedTokens
from mrprep.tokenizers.hf_file import HfFile
from mrprep.tokenizers.protocol import PieceKind, Pieces
from mrprep.tokenizers.roles import Roles

HIDDEN: frozenset[PieceKind] = frozenset({"control", "unknown"})
_ASCII = 0x80


def parsed(file: HfFile, roles: Roles, added_tokens: AddedTokens) -> frozenset[str]:
    """Return the added tokens that match in texts: those chosen, but EOD, BOS, padding and the unknown token."""
    own = {roles.eod, roles.bos, roles.pad, file.unknown}
    chosen = {"none": (), "plain": (False,), "all": (False, True)}[added_tokens]
    return frozenset(
        text for text, token in file.added.items() if bool(token.get("special")) in chosen and token["id"] not in own
    )


def pieces(file: HfFile, roles: Roles, matched: frozenset[str]) -> Pieces:
    """Return all ids as bytes, with kinds and scores; ids without a piece are unused and empty."""
    size = 1 + max(*file.vocab.values(), *(int(token["id"]) for token in file.added.values()), 0)
    raw, kinds = [b""] * size, ["unused"] * size
    for piece, token in file.vocab.items():
        raw[token], kinds[token] = _of_model(file, piece)
    for text, entry in file.added.items():
        token = int(entry["id"])
        kind = _of_added(file, text, entry, roles, matched)
        if kind is not None:
            raw[token], kinds[token] = text.encode(), kind
    if file.unknown is not None and file.unknown != roles.eod:
        kinds[file.unknown] = "unknown"
    return Pieces(tuple(raw), tuple(kinds), _scores(file, size))  # type: ignore[arg-type]


def _of_model(file: HfFile, piece: str) -> tuple[bytes, PieceKind]:
    raw = file.raw(piece)
    if raw is None:
        return piece.encode(), "unused"
    if file.writing == "bytes":
        return raw, "byte" if len(raw) == 1 and raw[0] >= _ASCII else "normal"
    return raw, "byte" if raw != piece.encode() and piece.startswith("<0x") else "normal"


def _of_added(
    file: HfFile, text: str, entry: Mapping[str, Any], roles: Roles, matched: frozenset[str]
) -> PieceKind | None:
    """Return the kind of an added token; None if it is an ordinary piece of the model."""
    if text in matched:
        return "user_defined"
    tasked = entry["id"] in (roles.eod, roles.bos, roles.pad)
    return "control" if tasked or entry.get("special") or text not in file.vocab else None


def _scores(file: HfFile, size: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    scores = np.zeros(size)
    if file.model_type == "unigram":
        own = [score for _, score in file.model["vocab"]]
        scores[: len(own)] = own
        return scores
    for rank, (left, right) in reversed(list(enumerate(file.merges))):
        token = file.vocab.get(left + right)
        if token is not None:
            scores[token] = -1.0 - rank
    return scores


def for_encoder(file: HfFile, vocabulary: Pieces, matched: frozenset[str]) -> dict[str, Any]:
    """Return the file as JSON values, so that it encodes texts alone: control ids out of reach, nothing cut or filled.

    Args:
        file: as read.
        vocabulary: what ``pieces`` made of it.
        matched: added tokens that match in texts.
    """
    hidden = {piece for piece, token in file.vocab.items() if vocabulary.kinds[token] in HIDDEN}
    model = dict(file.model)
    if file.model_type == "unigram":
        model["vocab"] = _unigram(file, hidden, matched)
    else:
        model["vocab"] = _bpe(file, hidden, matched)
        model["merges"] = [[a, b] for a, b in file.merges if not hidden & {a, b, a + b}]
        model["unk_token"] = _out_of_reach(file.unknown) if file.unknown is not None else None
    added = [token for text, token in file.added.items() if text in matched]
    nothing = dict.fromkeys(("truncation", "padding", "post_processor"))
    return {**file.content, **nothing, "added_tokens": added, "model": model}


def _out_of_reach(token: int) -> str:
    return f" {token}"


def _bpe(file: HfFile, hidden: set[str], matched: frozenset[str]) -> dict[str, int]:
    own = {_out_of_reach(token) if piece in hidden else piece: token for piece, token in file.vocab.items()}
    return own | {text: int(file.added[text]["id"]) for text in matched}


def _unigram(file: HfFile, hidden: set[str], matched: frozenset[str]) -> list[list[Any]]:
    """Return pieces and scores; those beyond the model's own get its lowest score, on which that of unknown hangs."""
    own = [
        [_out_of_reach(i) if piece in hidden else piece, score] for i, (piece, score) in enumerate(file.model["vocab"])
    ]
    lowest = min(score for _, score in own)
    last = max((int(file.added[text]["id"]) for text in matched), default=-1)
    own += [[_out_of_reach(i), lowest] for i in range(len(own), last + 1)]
    for text in matched:
        own[int(file.added[text]["id"])][0] = text
    return own
