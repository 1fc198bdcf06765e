"""YouTokenToMe models behind the Tokenizer protocol: the ids of its package, worked out by ``tokenizers``.

The package is dead, its rules are few (``BaseEncoder::encode_sentence`` of its bpe.cpp). Words are what stands between
white space: the six of ASCII, and U+2581. Each begins with U+2581 and is merged by itself, the pair of the lowest rank
first, of equals the leftmost, which is how the BPE of ``tokenizers`` merges. A run of characters that the model has not
is one unknown id. So runs of white space, line ends among them, come back as one space, and those at the ends are lost.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import orjson

from mrprep import extras
from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.tokenizers.choices import Choices
from mrprep.tokenizers.encoder import Encode, Encoder
from mrprep.tokenizers.listed import Listed
from mrprep.tokenizers.model_file import SPACE
from mrprep.tokenizers.protocol import Pieces, Tokenizer
from mrprep.tokenizers.roles import roles
from mrprep.tokenizers.yttm_file import NAMES, YttmFile, read_yttm

_UNKNOWN = NAMES[0]
_BETWEEN_WORDS = re.compile(f"[ \t\n\v\f\r{SPACE}]+")
_NOTE = "white space of any kind and length, line ends too, becomes one space in this family"


def open_yttm(path: Path, choices: Choices) -> Tokenizer:
    """Open a YouTokenToMe model.

    Raises:
        MrprepError: no such file, a damaged one, or no token fit to close a document.
    """
    file = read_yttm(path)
    named = {name: token for name, token in file.specials.items() if name != _UNKNOWN}
    vocabulary = _pieces(file)
    return Listed(
        kind="youtokentome-bpe",
        sha256=file.sha256,
        roles=roles(path, named, named.values(), eod=choices.eod, config={}),
        unk_id=file.specials[_UNKNOWN],
        vocabulary=vocabulary,
        encoder=Encoder(
            package="tokenizers",
            load=lambda: _load(path, file),
            fast=None,
            slow_because="it has no piece for some bytes",
            size=sum(map(len, vocabulary.bytes)),
            matched=(),
            pieces=vocabulary.bytes,
        ),
        dummy_prefix=True,
        more={"remove_extra_whitespaces": True, "note": _NOTE},
    )


def _pieces(file: YttmFile) -> Pieces:
    size = len(file.pieces) + len(file.specials)
    raw, kinds, scores = [b""] * size, ["normal"] * size, np.zeros(size)
    for piece, token in file.pieces.items():
        raw[token] = piece.replace(SPACE, " ").encode()
    for name, token in file.specials.items():
        raw[token], kinds[token] = name.encode(), "unknown" if name == _UNKNOWN else "control"
    for rank, (left, right) in enumerate(file.merges):
        scores[file.pieces[left + right]] = -1.0 - rank
    return Pieces(tuple(raw), tuple(kinds), scores)  # type: ignore[arg-type]


def _load(path: Path, file: YttmFile) -> Encode:
    if not extras.has("hf"):
        raise MrprepError(f"the tokenizer {printable(str(path))} {extras.advice('hf')}")
    from tokenizers import Tokenizer as Backend

    backend = Backend.from_buffer(orjson.dumps({"model": _model(file)}))
    silent = file.pieces[SPACE] == 0  # the package takes an id of 0 at the beginning of a word for none

    def encode(text: str) -> Sequence[int]:
        words = [SPACE + word for word in _BETWEEN_WORDS.split(text) if word]
        ids: list[int] = backend.encode(words, is_pretokenized=True, add_special_tokens=False).ids
        return [token for token in ids if token] if silent else ids

    return encode


def _model(file: YttmFile) -> dict[str, object]:
    """Return the model in the words of ``tokenizer.json``; the unknown piece has a name that no word can hold."""
    unreachable = " "
    return {
        "type": "BPE",
        "vocab": {**file.pieces, unreachable: file.specials[_UNKNOWN]},
        "merges": file.merges,
        "unk_token": unreachable,
        "fuse_unk": True,
    }
