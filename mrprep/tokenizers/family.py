"""Which family a tokenizer file is of, by what is in it; its name says nothing."""

import hashlib
import re
from pathlib import Path
from typing import Literal

from mrprep.tokenizers.choices import AS_IT_IS, Choices
from mrprep.tokenizers.huggingface import open_huggingface
from mrprep.tokenizers.model_file import read_bytes
from mrprep.tokenizers.protocol import Tokenizer
from mrprep.tokenizers.rank_file import is_merges
from mrprep.tokenizers.roles import CONFIG
from mrprep.tokenizers.sentencepiece import open_sentencepiece
from mrprep.tokenizers.tiktoken import open_tiktoken
from mrprep.tokenizers.yttm import open_yttm
from mrprep.tokenizers.yttm_file import is_yttm

Family = Literal["sentencepiece", "huggingface", "tiktoken", "merges", "youtokentome"]

FILES: dict[Family, str] = {
    "sentencepiece": "tokenizer.model",
    "huggingface": "tokenizer.json",
    "tiktoken": "ranks.tiktoken",
    "merges": "vocab.bpe",
    "youtokentome": "tokenizer.yttm",
}
"""Under which name a build holds its copy of the file."""
_HEAD = 4096


def family(path: Path) -> Family:
    """Tell the family of a tokenizer file; SentencePiece, which has no mark, if no other fits.

    Raises:
        MrprepError: it cannot be read.
    """
    head = read_bytes(path)[:_HEAD]
    if re.match(rb"\s*\{", head):
        return "huggingface"
    if is_merges(head):
        return "merges"
    if is_yttm(head):  # before tiktoken: its first line could be a rank in base64
        return "youtokentome"
    return "tiktoken" if re.match(rb"(?:[A-Za-z0-9+/]{4})*[A-Za-z0-9+/=]{4} \d+\r?\n", head) else "sentencepiece"


def open_tokenizer(path: Path, choices: Choices = AS_IT_IS, *, checked: bool = False) -> Tokenizer:
    """Open a tokenizer file of any family.

    Args:
        path: of the file.
        choices: what the file leaves open.
        checked: the file is our own, or has been opened before; otherwise a child process opens it first, where the
            library that reads it is C++.

    Raises:
        MrprepError: no such file, none of a known family, or one that cannot close documents.
    """
    found = family(path)
    if found == "huggingface":
        return open_huggingface(path, choices)
    if found in ("tiktoken", "merges"):
        return open_tiktoken(path, choices)
    if found == "youtokentome":
        return open_yttm(path, choices)
    return open_sentencepiece(path, eod=choices.eod, checked=checked)


def content(path: Path) -> str:
    """Return the SHA-256 of a tokenizer file, and of the configuration that is read with it, joined by ``+``.

    Raises:
        MrprepError: the file cannot be read.
    """
    return "+".join(hashlib.sha256(read_bytes(file)).hexdigest() for file in _files(path).values())


def copy_into(path: Path, folder: Path) -> Path:
    """Copy a tokenizer file, and what is read with it, into a folder; return where it is there.

    Raises:
        MrprepError: it cannot be read.
    """
    for name, file in _files(path).items():
        (folder / name).write_bytes(read_bytes(file))
    return copy_in(folder)


def copy_in(folder: Path) -> Path:
    """Return the tokenizer file in a folder that ``copy_into``, or training, has filled."""
    return next(folder / name for name in FILES.values() if (folder / name).is_file())


def _files(path: Path) -> dict[str, Path]:
    found = family(path)
    files = {FILES[found]: path}
    config = path.with_name(CONFIG)
    if found not in ("sentencepiece", "youtokentome") and config.is_file():
        files[CONFIG] = config
    return files
