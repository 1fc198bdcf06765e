"""What a file of ranks says: pieces as bytes, each with its id, which is the rank of its merge too.

Two forms: tiktoken's, a line ``base64 rank`` a piece, and GPT-2's ``vocab.bpe``, a line a merge, whose ids follow from
the order of the lines.
"""

import binascii
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import orjson

from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.tokenizers import bytelevel
from mrprep.tokenizers.model_file import read_bytes
from mrprep.tokenizers.protocol import MOST_IDS

BESIDE = ("encoder.json", "gpt2_encoder.json", "vocab.json")
"""Files that may stand beside a ``vocab.bpe`` and give its ids in full; they are checked, not needed."""


@dataclass(frozen=True, slots=True)
class RankFile:
    """A file of ranks."""

    sha256: str
    ranks: Mapping[bytes, int]


def read_ranks(path: Path) -> RankFile:
    """Read a rank file of tiktoken, or a ``vocab.bpe``.

    Raises:
        MrprepError: it cannot be read, is damaged, or a file beside it gives other ids.
    """
    data = read_bytes(path)
    try:
        ranks = _merged(data) if is_merges(data) else _ranked(data)
    except (ValueError, KeyError, TypeError, binascii.Error):
        ranks = {}
    if not _whole(ranks):
        raise MrprepError(
            f"{printable(str(path))} is no whole file of ranks (a line `base64 rank` a piece, each rank once, all 256 "
            "bytes): download it again, or name another tokenizer"
        )
    if is_merges(data):
        _check_beside(path, ranks)
    return RankFile(hashlib.sha256(data).hexdigest(), ranks)


def _whole(ranks: Mapping[bytes, int]) -> bool:
    used = set(ranks.values())
    if len(used) < len(ranks) or not all(bytes([byte]) in ranks for byte in range(256)):
        return False
    return min(used) >= 0 and max(used) < MOST_IDS


def is_merges(data: bytes) -> bool:
    """Tell whether a file is a ``vocab.bpe``."""
    return data.startswith(b"#version")


def _ranked(data: bytes) -> dict[bytes, int]:
    lines = (line.split() for line in data.splitlines() if line.strip())
    return {binascii.a2b_base64(piece): int(rank) for piece, rank in lines}


def _merged(data: bytes) -> dict[bytes, int]:
    """Return bytes in GPT-2's order, those that are letters of their own first, then what each merge makes."""
    letters = bytelevel.letters()
    order = sorted(range(256), key=lambda byte: (letters[byte] != chr(byte), byte))
    ranks = {bytes([byte]): i for i, byte in enumerate(order)}
    for line in data.decode().splitlines()[1:]:
        if line.strip():
            left, right = line.split()
            ranks[_raw(left) + _raw(right)] = len(ranks)
    return ranks


def _raw(piece: str) -> bytes:
    found = bytelevel.raw(piece)
    if found is None:
        raise ValueError(piece)
    return found


def _check_beside(path: Path, ranks: Mapping[bytes, int]) -> None:
    for beside in (path.with_name(name) for name in BESIDE):
        if beside.is_file():
            given = {bytelevel.raw(piece): token for piece, token in orjson.loads(beside.read_bytes()).items()}
            if any(given.get(piece) != rank for piece, rank in ranks.items()):
                raise MrprepError(
                    f"{printable(str(beside))} gives other ids than follow from {printable(path.name)}: "
                    "name a tokenizer.json of this vocabulary"
                )
            return
