"""Rank files of tiktoken behind the Tokenizer protocol: the ids of the ``tiktoken`` package for ordinary text.

A rank file holds no pattern and no special tokens; ``tokenizers.patterns`` knows those of the usual ones by their size.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mrprep import extras
from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.tokenizers.choices import Choices
from mrprep.tokenizers.encoder import Encode, Encoder
from mrprep.tokenizers.listed import Listed
from mrprep.tokenizers.panics import panics_as_errors
from mrprep.tokenizers.patterns import ENCODINGS, Encoding
from mrprep.tokenizers.protocol import PieceKind, Pieces, Tokenizer
from mrprep.tokenizers.rank_file import RankFile, read_ranks
from mrprep.tokenizers.roles import added_by_config, read_config, roles

_ASCII = 0x80


def open_tiktoken(path: Path, choices: Choices) -> Tokenizer:
    """Open a rank file, with the ``tokenizer_config.json`` beside it if there is one.

    Raises:
        MrprepError: no such file, a damaged one, one whose pattern or end of text is not known and not given.
    """
    file, config = read_ranks(path), read_config(path.parent)
    encoding = _with_config(_encoding(path, file, choices), file, config, choices.eod)
    names = encoding.specials
    of = roles(path, names, names.values(), eod=choices.eod, config=config)
    tasked = (of.eod, of.bos, of.pad)
    matched = {name: i for name, i in names.items() if choices.added_tokens == "all" and i not in tasked}
    vocabulary = _pieces(file, names, matched)
    return Listed(
        kind="tiktoken-bpe",
        sha256=file.sha256,
        roles=of,
        unk_id=None,
        vocabulary=vocabulary,
        encoder=Encoder(
            package="tiktoken",
            load=lambda: _load(path, file, encoding, matched),
            fast=None if encoding.scheme is None else lambda: _fast(file, encoding.scheme),
            slow_because="gigatoken does not know its pattern" if encoding.scheme is None else "",
            size=sum(map(len, file.ranks)),
            matched=matched,
            pieces=vocabulary.bytes,
        ),
        more={"added_tokens": choices.added_tokens, "pattern": choices.pattern},
    )


def _encoding(path: Path, file: RankFile, choices: Choices) -> Encoding:
    """Return how the file is read: as the user says, else as its size tells."""
    wish = choices.pattern
    if wish is not None and wish not in ENCODINGS:
        known = next((found for ranks, found in ENCODINGS.values() if ranks == len(file.ranks)), None)
        return Encoding(wish, None, known.specials if known else {})
    for name, (ranks, encoding) in ENCODINGS.items():
        if name == wish or (wish is None and ranks == len(file.ranks)):
            return encoding if ranks == len(file.ranks) else replace(encoding, specials={})
    raise MrprepError(
        f"{printable(str(path))} has {len(file.ranks):,} ranks, which is no encoding known here: say how it cuts text "
        f"with pattern in [tokenize], one of {', '.join(ENCODINGS)} or a regular expression"
    )


def _with_config(encoding: Encoding, file: RankFile, config: Mapping[str, Any], eod: str | None) -> Encoding:
    """Add the tokens of a configuration; where none are known at all, the EOD that was asked for, as the next id."""
    used = set(file.ranks.values())
    told = {text: token for text, token in added_by_config(config).items() if token not in used}
    specials = {**encoding.specials, **told}
    if not specials and eod:
        specials = {eod: 1 + max(file.ranks.values())}
    return replace(encoding, specials=specials)


def _pieces(file: RankFile, names: Mapping[str, int], matched: Mapping[str, int]) -> Pieces:
    size = 1 + max(*file.ranks.values(), *names.values())
    raw, kinds, scores = [b""] * size, ["unused"] * size, np.zeros(size)
    for piece, rank in file.ranks.items():
        kind: PieceKind = "byte" if len(piece) == 1 and piece[0] >= _ASCII else "normal"
        raw[rank], kinds[rank], scores[rank] = piece, kind, -float(rank) if len(piece) > 1 else 0.0
    for name, token in names.items():
        raw[token], kinds[token] = name.encode(), "user_defined" if name in matched else "control"
    return Pieces(tuple(raw), tuple(kinds), scores)  # type: ignore[arg-type]


def _load(path: Path, file: RankFile, encoding: Encoding, matched: Mapping[str, int]) -> Encode:
    if not extras.has("tiktoken"):
        raise MrprepError(f"the tokenizer {printable(str(path))} {extras.advice('tiktoken')}")
    import tiktoken

    try:
        with panics_as_errors():
            backend = tiktoken.Encoding(
                "mrprep", pat_str=encoding.pattern, mergeable_ranks=dict(file.ranks), special_tokens=dict(matched)
            )
    except ValueError as error:
        raise MrprepError(
            f"the pattern of {printable(str(path))} is no regular expression ({printable(str(error), 200)}): mend it"
        ) from None
    allowed = set(matched)

    def encode(text: str) -> npt.NDArray[np.uint32]:
        ids: npt.NDArray[np.uint32] = backend.encode_to_numpy(text, allowed_special=allowed, disallowed_special=())
        return ids

    return encode


def _fast(file: RankFile, scheme: str | None) -> Any:
    """Open the ranks in gigatoken, which takes a file in tiktoken's form alone."""
    import binascii
    from tempfile import NamedTemporaryFile

    from gigatoken import Tokenizer as Fast

    lines = (binascii.b2a_base64(piece, newline=False) + b" %d\n" % rank for piece, rank in file.ranks.items())
    with NamedTemporaryFile(suffix=".tiktoken") as kept:
        kept.writelines(lines)
        kept.flush()
        return Fast.from_tiktoken(kept.name, scheme)
