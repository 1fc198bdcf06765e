"""What rank files of tiktoken leave to the program that reads them: how text is cut, and the tokens beyond the ranks.

The patterns of GPT-2 to GPT-4o are those of ``tiktoken_ext.openai_public`` (a test holds them to it), Qwen's that of
its ``tokenization_qwen.py``, Llama 3's that of its ``tokenizer.py``.
"""

from collections.abc import Mapping
from dataclasses import dataclass

_R50K = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
_CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
    r"|\s+(?!\S)|\s"
)
_ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_O200K = (
    rf"[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}]*[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}]+{_ENDINGS}?"
    rf"|[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}]+[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}]*{_ENDINGS}?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN = rf"{_ENDINGS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_LLAMA3 = _QWEN.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
_END = "<|endoftext|>"


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a kind of rank file is to be read."""

    pattern: str
    """Regular expression of the words within which pieces merge."""
    scheme: str | None
    """The same in gigatoken's words; None if it has none."""
    specials: Mapping[str, int]
    """Ids that no text is made of."""


def _qwen_specials(first: int = 151_643) -> dict[str, int]:
    names = [_END, "<|im_start|>", "<|im_end|>", *(f"<|extra_{i}|>" for i in range(205))]
    return {name: first + i for i, name in enumerate(names)}


def _llama3_specials(first: int = 128_000) -> dict[str, int]:
    reserved = [f"<|reserved_special_token_{i}|>" for i in range(251)]
    headers = ["<|start_header_id|>", "<|end_header_id|>", reserved[4], "<|eot_id|>"]
    names = ["<|begin_of_text|>", "<|end_of_text|>", *reserved[:4], *headers, *reserved[5:]]
    return {name: first + i for i, name in enumerate(names)}


ENCODINGS: Mapping[str, tuple[int, Encoding]] = {
    "gpt2": (50_256, Encoding(_R50K, "r50k", {_END: 50_256})),
    "p50k": (50_280, Encoding(_R50K, "r50k", {_END: 50_256})),
    "cl100k": (
        100_256,
        Encoding(
            _CL100K,
            "cl100k",
            {
                _END: 100_257,
                "<|fim_prefix|>": 100_258,
                "<|fim_middle|>": 100_259,
                "<|fim_suffix|>": 100_260,
                "<|endofprompt|>": 100_276,
            },
        ),
    ),
    "o200k": (199_998, Encoding(_O200K, "o200k", {_END: 199_999, "<|endofprompt|>": 200_018})),
    "qwen": (151_643, Encoding(_QWEN, "qwen2", _qwen_specials())),
    "llama3": (128_000, Encoding(_LLAMA3, "cl100k", _llama3_specials())),
}
"""Encodings by name, each with the number of ranks by which it is known."""
