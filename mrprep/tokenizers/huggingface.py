"""Hugging Face ``tokenizer.json`` files behind the Tokenizer protocol: the ids of the ``tokenizers`` package for a text
without special tokens. Decoding needs no package.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from mrprep import extras
from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.tokenizers import hf_kinds
from mrprep.tokenizers.choices import Choices
from mrprep.tokenizers.encoder import Encode, Encoder
from mrprep.tokenizers.hf_file import HfFile, read_hf
from mrprep.tokenizers.listed import Listed
from mrprep.tokenizers.panics import panics_as_errors
from mrprep.tokenizers.protocol import Tokenizer
from mrprep.tokenizers.roles import Roles, read_config, roles


def open_huggingface(path: Path, choices: Choices) -> Tokenizer:
    """Open a ``tokenizer.json``, with the ``tokenizer_config.json`` beside it if there is one.

    Raises:
        MrprepError: no such file, a damaged one, one of a kind that is not served, or no token fit to close a document.
    """
    file = read_hf(path)
    of = _roles(file, choices)
    matched = hf_kinds.parsed(file, of, choices.added_tokens)
    vocabulary = hf_kinds.pieces(file, of, matched)
    content = orjson.dumps(hf_kinds.for_encoder(file, vocabulary, matched))
    unfit = _unfit(file)
    return Listed(
        kind=f"huggingface-{file.model_type}",
        sha256=file.sha256,
        roles=of,
        unk_id=None if file.byte_complete else file.unknown,
        vocabulary=vocabulary,
        encoder=Encoder(
            package="tokenizers",
            load=lambda: _load(path, content),
            fast=None if unfit else lambda: _fast(content),
            slow_because=unfit,
            size=len(content),
            matched=matched,
            pieces=vocabulary.bytes,
        ),
        dummy_prefix=file.add_dummy_prefix,
        more={
            "normalization": file.normalization,
            "remove_extra_whitespaces": file.removes_whitespace,
            "added_tokens": choices.added_tokens,
            "note": _note(file, matched),
        },
    )


def _roles(file: HfFile, choices: Choices) -> Roles:
    lost = None if file.byte_complete else file.unknown
    named = {text: int(token["id"]) for text, token in file.added.items() if token["id"] != lost}
    spare = [named[text] for text in named if file.added[text].get("special")]
    return roles(file.path, named, spare, eod=choices.eod, config=read_config(file.path.parent))


def _note(file: HfFile, matched: frozenset[str]) -> str:
    """Return a sentence on added tokens that are ordinary text to a user of the file's own package, and not here."""
    left = [text for text, token in file.added.items() if not token.get("special") and text not in matched]
    if not left:
        return ""
    return (
        f"{len(left)} added tokens that are not special, such as {printable(left[0])!r}, are read as plain text: "
        'added_tokens = "plain" in [tokenize] matches them'
    )


def _load(path: Path, content: bytes) -> Encode:
    if not extras.has("hf"):
        raise MrprepError(f"the tokenizer {printable(str(path))} {extras.advice('hf')}")
    from tokenizers import Tokenizer as Backend

    try:
        with panics_as_errors():
            backend = Backend.from_buffer(content)
    except ValueError as error:
        raise MrprepError(
            f"{printable(str(path))} cannot be opened by tokenizers ({printable(str(error), 200)}): "
            "download it again, or name another tokenizer"
        ) from None

    def encode(text: str) -> Sequence[int]:
        ids: list[int] = backend.encode(text, add_special_tokens=False).ids
        return ids

    return encode


def _fast(content: bytes) -> Any:
    from gigatoken import Tokenizer as Fast

    return Fast.from_json(content)


def _unfit(file: HfFile) -> str:
    """Return why a file as a whole is left to the package, or an empty string."""
    checks = {
        "it is no BPE model": file.model_type != "bpe",
        "it has no piece for some bytes": not file.byte_complete,
        "it rewrites the text before cutting it": file.normalization not in ("identity", "NFC"),
        "it loses white space": file.removes_whitespace,
    }
    return next((reason for reason, holds in checks.items() if holds), "")
