"""Which family a tokenizer file is of, by what is in it; its name says nothing."""

import re
from pathlib import Path
from typing import Literal

from mrprep.tokenizers.choices import Choices
from mrprep.tokenizers.huggingface import open_huggingface
from mrprep.tokenizers.model_file import read_bytes
from mrprep.tokenizers.protocol import Tokenizer
from mrprep.tokenizers.sentencepiece import open_sentencepiece

Family = Literal["sentencepiece", "huggingface"]


def family(data: bytes) -> Family:
    """Tell the family of a tokenizer by the bytes of its file: SentencePiece, which has no mark, if no other fits."""
    return "huggingface" if re.match(rb"\s*\{", data) else "sentencepiece"


def open_tokenizer(path: Path, choices: Choices | None = None, *, checked: bool = False) -> Tokenizer:
    """Open a tokenizer file of any family.

    Args:
        path: of the file.
        choices: what the file leaves open.
        checked: the file is our own, or has been opened before; otherwise a child process opens it first.

    Raises:
        MrprepError: no such file, none of a known family, or one that cannot close documents.
    """
    choices = choices or Choices()
    if family(read_bytes(path)) == "huggingface":
        return open_huggingface(path, choices)
    return open_sentencepiece(path, eod=choices.eod, checked=checked)
