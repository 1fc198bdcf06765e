"""What a Hugging Face ``tokenizer.json`` says of itself: its pieces, its added tokens, how it writes spaces and bytes.

Read without the ``tokenizers`` package, which is needed to encode only. BPE and Unigram models are known; spaces and
bytes are written in GPT-2's letters (``bytes``), or spaces as U+2581 (``marker``), as SentencePiece does.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import orjson

from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.tokenizers import bytelevel
from mrprep.tokenizers.model_file import KNOWN, SPACE, read_bytes
from mrprep.tokenizers.protocol import MOST_IDS

_LOSING = {"Whitespace", "WhitespaceSplit", "BertPreTokenizer"}

Writing = Literal["bytes", "marker"]


@dataclass(frozen=True)
class HfFile:
    """The parts of a ``tokenizer.json`` that decide what may be done with it."""

    path: Path
    sha256: str
    content: Mapping[str, Any]
    """The whole file; ``model`` is there."""

    @property
    def model(self) -> Mapping[str, Any]:
        """The model: vocabulary, merges, switches."""
        model: Mapping[str, Any] = self.content["model"]
        return model

    @cached_property
    def model_type(self) -> str:
        """``bpe`` or ``unigram``; another type in its own words."""
        named = self.model.get("type") or ("Unigram" if isinstance(self.model.get("vocab"), list) else "BPE")
        return {"BPE": "bpe", "Unigram": "unigram"}.get(str(named), str(named))

    @cached_property
    def writing(self) -> Writing | None:
        """How pieces write spaces and bytes; None if it is neither way."""
        steps = {step["type"] for part in ("pre_tokenizer", "decoder") for step in self.steps(part)}
        if "ByteLevel" in steps:
            return "bytes"
        replaced = any(_marks_spaces(step) for part in ("normalizer", "decoder") for step in self.steps(part))
        return "marker" if "Metaspace" in steps or replaced else None

    def steps(self, part: str) -> list[Mapping[str, Any]]:
        """Return the steps of ``normalizer``, ``pre_tokenizer``, ``post_processor`` or ``decoder``, in their order."""
        return list(_flat(self.content.get(part)))

    @cached_property
    def vocab(self) -> Mapping[str, int]:
        """Pieces of the model, added tokens aside unless they are in it too."""
        vocab = self.model["vocab"]
        return vocab if isinstance(vocab, dict) else {piece: i for i, (piece, _) in enumerate(vocab)}

    @cached_property
    def added(self) -> Mapping[str, Mapping[str, Any]]:
        """Added tokens by their text: ``id``, ``special`` and more."""
        return {str(token["content"]): token for token in self.content.get("added_tokens") or ()}

    @cached_property
    def merges(self) -> tuple[tuple[str, str], ...]:
        """Pairs in the order of their rank."""
        pairs = (pair.split(" ", 1) if isinstance(pair, str) else pair for pair in self.model.get("merges") or ())
        return tuple((left, right) for left, right in pairs)

    @cached_property
    def unknown(self) -> int | None:
        """The id for what the model cannot write, if it names one."""
        if self.model_type == "unigram":
            token = self.model.get("unk_id")
        else:
            token = self.vocab.get(self.model.get("unk_token") or "")
        return None if token is None else int(token)

    @cached_property
    def byte_complete(self) -> bool:
        """It has a piece for each of the 256 bytes, so that there is nothing it cannot write."""
        if self.writing == "bytes":
            return all(letter in self.vocab for letter in bytelevel.letters())
        return bool(self.model.get("byte_fallback")) and all(f"<0x{byte:02X}>" in self.vocab for byte in range(256))

    @cached_property
    def add_dummy_prefix(self) -> bool:
        """A space is put before each text."""
        before = [*self.steps("normalizer"), *self.steps("pre_tokenizer")]
        return any(_puts_space(step) for step in before)

    @cached_property
    def normalization(self) -> str:
        """What rewrites a text before it is cut, but for spaces into their marker; ``identity`` if nothing does."""
        names = [step["type"] for step in self.steps("normalizer") if not (_marks_spaces(step) or _puts_space(step))]
        return "+".join(names) or "identity"

    @cached_property
    def removes_whitespace(self) -> bool:
        """White space gets lost between words."""
        cuts = self.steps("pre_tokenizer")
        return any(step["type"] in _LOSING or step.get("behavior") == "Removed" for step in cuts)

    def raw(self, piece: str) -> bytes | None:
        """Return the bytes that a piece of the model adds to a text; None if no text makes it."""
        if self.writing == "bytes":
            return bytelevel.raw(piece)
        if self.model.get("byte_fallback") and len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">"):
            return bytes([int(piece[3:5], 16)])
        return piece.replace(SPACE, " ").encode()


def read_hf(path: Path) -> HfFile:
    """Read a ``tokenizer.json``.

    Raises:
        MrprepError: it cannot be read, is damaged, or of a kind that is not known here.
    """
    data = read_bytes(path)
    try:
        content = orjson.loads(data)
        file = HfFile(path, hashlib.sha256(data).hexdigest(), content)
        unfit = _unfit(file)
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError, RuntimeError):
        raise MrprepError(f"{printable(str(path))} {_other(data)}") from None
    if unfit:
        raise MrprepError(f"{printable(str(path))} {unfit}: name a tokenizer that is BPE or Unigram")
    return file


def _other(data: bytes) -> str:
    """Say what a file that is no ``tokenizer.json`` may be, and what to name."""
    try:
        content = orjson.loads(data)
    except orjson.JSONDecodeError:
        content = None
    numbers = list(content.values()) if isinstance(content, dict) else []
    if numbers and all(type(number) is int for number in numbers) and min(numbers) == 0:
        return "holds ids alone, as the encoder.json or vocab.json of a vocab.bpe does: name that vocab.bpe"
    return f"is no tokenizer.json, or a damaged one: name {KNOWN}"


def _unfit(file: HfFile) -> str:
    """Return a clause on what of a file is not served here, or an empty string; touches all that is read later."""
    _check_values(file)
    checks = {
        f"is a {printable(file.model_type)} model": file.model_type not in ("bpe", "unigram"),
        "writes spaces neither in GPT-2's letters nor as U+2581": file.writing is None,
        "marks how words begin or end": bool(
            file.model.get("continuing_subword_prefix") or file.model.get("end_of_word_suffix")
        ),
        "cuts words at random (dropout)": bool(file.model.get("dropout")),
        "has no piece for some bytes, and none for what is unknown, so that text would be lost": (
            file.unknown is None and not file.byte_complete
        ),
    }
    return next((clause for clause, holds in checks.items() if holds), "")


def _check_values(file: HfFile) -> None:
    """Raise ValueError, or what a wrong type leads to, unless ids, pieces and merges can be what they are read as."""
    added = {token["id"]: text for text, token in file.added.items()}
    texts = {token: piece for piece, token in file.vocab.items()}
    ids = {*texts, *added}
    whole = (
        ids
        and all(type(token) is int and 0 <= token < MOST_IDS for token in ids)
        and len(added) == len(file.added)
        and len(texts) == len(file.vocab)
        and all(texts.get(token, text) == text for token, text in added.items())
        and all(type(part) is str for pair in file.merges for part in pair)
        and (file.unknown is None or file.unknown in texts)
    )
    if not whole:
        raise ValueError
    if file.model_type == "unigram":
        "".join(piece for piece, _ in file.model["vocab"])
        sum(score for _, score in file.model["vocab"])
    file.add_dummy_prefix, file.normalization, file.removes_whitespace  # noqa: B018  they read the rest


def _flat(part: Any) -> Any:
    """Yield a step, or the steps of a ``Sequence`` of them at any depth."""
    if not part:
        return
    if part["type"] != "Sequence":
        yield part
        return
    for step in next(value for key, value in part.items() if key != "type"):
        yield from _flat(step)


def _marks_spaces(step: Mapping[str, Any]) -> bool:
    if step["type"] != "Replace":
        return False
    pair = step["pattern"].get("String"), step.get("content")
    return pair in ((" ", SPACE), (SPACE, " "))


def _puts_space(step: Mapping[str, Any]) -> bool:
    if step["type"] == "Metaspace":
        return bool(step.get("prepend_scheme", "always") != "never" and step.get("add_prefix_space", True))
    return step["type"] == "Prepend" or bool(step["type"] == "ByteLevel" and step.get("add_prefix_space"))
