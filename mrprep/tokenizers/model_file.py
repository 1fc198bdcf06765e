"""What a SentencePiece model file says about itself: its pieces and the switches that decide how it reads
text.

Costs 20 ms for 32,000 pieces. The file format is described by ``sentencepiece_model.proto``, whose compiled
form comes with the sentencepiece package.
"""

import hashlib
import subprocess
import sys
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import numpy as np

from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.tokenizers.protocol import PieceKind, Pieces

MODEL_TYPES = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}
CHECK_SECONDS = 60
KNOWN = "a SentencePiece or YouTokenToMe .model, a tokenizer.json, tiktoken ranks or a vocab.bpe"
"""The families, for sentences."""

_CHECK = """
import sys, sentencepiece
sentencepiece.set_min_log_level(3)
model = sentencepiece.SentencePieceProcessor(model_file=sys.argv[1])
ids = model.encode("one 1 \\u4e00\\u4e8c \\U0001f600\\n")
model.decode(ids)
sys.exit(0 if len(model) else 1)
"""


class PieceType(IntEnum):
    """``ModelProto.SentencePiece.Type``."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


SPACE = "\u2581"
"""Stands for a space in pieces."""
KINDS: dict[int, PieceKind] = {
    PieceType.NORMAL: "normal",
    PieceType.UNKNOWN: "unknown",
    PieceType.CONTROL: "control",
    PieceType.USER_DEFINED: "user_defined",
    PieceType.UNUSED: "unused",
    PieceType.BYTE: "byte",
}


@dataclass(frozen=True, slots=True)
class ModelFile:
    """The parts of a model file that decide what may be done with it."""

    sha256: str
    model_type: str
    pieces: tuple[str, ...]
    scores: tuple[float, ...]
    types: tuple[int, ...]
    byte_fallback: bool
    charsmap: bool
    """Text is rewritten by a table (NFKC and the like) before it is cut."""
    normalization: str
    add_dummy_prefix: bool
    remove_extra_whitespaces: bool
    escape_whitespaces: bool
    whitespace_as_suffix: bool

    def of_type(self, kind: PieceType) -> frozenset[int]:
        """Return the ids of all pieces of a type."""
        return frozenset(i for i, own in enumerate(self.types) if own == kind)

    def as_pieces(self) -> Pieces:
        """Return the pieces as bytes."""
        raw = (_raw(piece, kind) for piece, kind in zip(self.pieces, self.types, strict=True))
        return Pieces(tuple(raw), tuple(KINDS[kind] for kind in self.types), np.array(self.scores, np.float64))


def _raw(piece: str, kind: int) -> bytes:
    if kind == PieceType.BYTE:
        return bytes([int(piece[3:5], 16)])
    return (piece.replace(SPACE, " ") if kind in (PieceType.NORMAL, PieceType.USER_DEFINED) else piece).encode()


def read_model(path: Path) -> ModelFile:
    """Read a model file without loading it into sentencepiece.

    Raises:
        MrprepError: there is no such file, or it is no SentencePiece model.
    """
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
    from sentencepiece import sentencepiece_model_pb2

    data = read_bytes(path)
    try:
        model = sentencepiece_model_pb2.ModelProto.FromString(data)
    except DecodeError:
        raise no_model(path) from None
    if not model.pieces:
        raise no_model(path)
    trainer, normalizer = model.trainer_spec, model.normalizer_spec
    return ModelFile(
        sha256=hashlib.sha256(data).hexdigest(),
        model_type=MODEL_TYPES.get(trainer.model_type, str(trainer.model_type)),
        pieces=tuple(piece.piece for piece in model.pieces),
        scores=tuple(piece.score for piece in model.pieces),
        types=tuple(piece.type for piece in model.pieces),
        byte_fallback=trainer.byte_fallback,
        charsmap=bool(normalizer.precompiled_charsmap),
        normalization=normalizer.name,
        add_dummy_prefix=normalizer.add_dummy_prefix,
        remove_extra_whitespaces=normalizer.remove_extra_whitespaces,
        escape_whitespaces=normalizer.escape_whitespaces,
        whitespace_as_suffix=trainer.treat_whitespace_as_suffix,
    )


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a tokenizer file.

    Raises:
        MrprepError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise MrprepError(f"the tokenizer {printable(str(path))} cannot be read ({reason}): name {KNOWN}") from None


def check_foreign(path: Path) -> None:
    """Load a model file of unknown origin in a child process, so that a crash of the library becomes a
    sentence.

    Costs about 0.1 s.

    Raises:
        MrprepError: the file cannot be read, or loading it and reading a line of text fails or crashes.
    """
    read_bytes(path)
    command = [sys.executable, "-I", "-c", _CHECK, str(path.resolve())]
    try:
        result = subprocess.run(command, capture_output=True, timeout=CHECK_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise no_model(path) from None
    if result.returncode:
        raise no_model(path)


def no_model(path: Path) -> MrprepError:
    """Return the error for a file that is no SentencePiece model, or a broken one."""
    return MrprepError(f"{printable(str(path))} is no SentencePiece model, or a damaged one: name {KNOWN}")
