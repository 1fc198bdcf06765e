"""What a YouTokenToMe ``.model`` says: characters, merges, and four special ids, in plain text.

The form is that of ``BPEState::dump`` in YouTokenToMe's utils.cpp: the numbers of characters and of merges; a line
``codepoint id`` a character; a line ``left right made`` a merge, the first the most wanted; ``unk pad bos eos``, −1 for
one that the model has not.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.tokenizers.model_file import SPACE, read_bytes

NAMES = ("<UNK>", "<PAD>", "<BOS>", "<EOS>")
"""Names of the special ids in YouTokenToMe, in the order of its file."""


@dataclass(frozen=True, slots=True)
class YttmFile:
    """A YouTokenToMe model; its ids are 0 to ``len(pieces) + len(specials) - 1``, each once."""

    sha256: str
    pieces: Mapping[str, int]
    """Characters and what merges make of them, U+2581 for the beginning of a word; no two have one text."""
    merges: tuple[tuple[str, str], ...]
    """Pairs in the order of their rank."""
    specials: Mapping[str, int]
    """Those that the model has, by NAMES; ``<UNK>`` always."""


def is_yttm(head: bytes) -> bool:
    """Tell by its first lines whether a file is a YouTokenToMe model."""
    return re.match(rb"\d+ \d+\r?\n\d+ \d+\r?\n", head) is not None


def read_yttm(path: Path) -> YttmFile:
    """Read a YouTokenToMe model.

    Raises:
        MrprepError: it cannot be read, is damaged, or makes one piece in two ways.
    """
    data = read_bytes(path)
    try:
        return _parsed(data)
    except (ValueError, KeyError, IndexError, OverflowError):
        raise MrprepError(
            f"{printable(str(path))} is no whole YouTokenToMe model (characters, merges and special ids, each id and "
            "each piece once, with an id for unknown characters and one for U+2581): name another, or train it again"
        ) from None


def _parsed(data: bytes) -> YttmFile:
    lines = [tuple(map(int, line.split())) for line in data.splitlines() if line.strip()]
    characters, merges = lines[0]
    first_merge, last = 1 + characters, 1 + characters + merges
    texts = {token: chr(point) for point, token in lines[1:first_merge]}
    pairs = []
    for left, right, made in lines[first_merge:last]:
        pairs.append((texts[left], texts[right]))
        texts[made] = texts[left] + texts[right]
    (given,) = lines[last:]
    specials = {name: token for name, token in zip(NAMES, given, strict=True) if token != -1}
    pieces = {text: token for token, text in texts.items()}
    _check(pieces, specials, characters + merges)
    return YttmFile(hashlib.sha256(data).hexdigest(), pieces, tuple(pairs), specials)


def _check(pieces: Mapping[str, int], specials: Mapping[str, int], count: int) -> None:
    """Raise ValueError unless each id of a whole range, and each of ``count`` pieces, is there once, and is text."""
    "".join(pieces).encode()
    ids = sorted([*pieces.values(), *specials.values()])
    if len(pieces) != count or ids != list(range(len(ids))) or NAMES[0] not in specials or SPACE not in pieces:
        raise ValueError
