"""Which ids close, open and fill, in files that do not say so themselves: by a configuration, or by usual names."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.tokenizers.protocol import MOST_IDS

CONFIG = "tokenizer_config.json"
"""Beside a ``tokenizer.json`` it names the tokens that close, open and fill."""

EOD_NAMES = ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<EOS>", "[EOS]", "<|eos|>", "<｜end▁of▁sentence｜>")
PAD_NAMES = (
    "<pad>",
    "<PAD>",
    "[PAD]",
    "<|pad|>",
    "<|padding|>",
    "<|finetune_right_pad_id|>",
    "<｜▁pad▁｜>",
    "<|extra_0|>",
)
BOS_NAMES = ("<|begin_of_text|>", "<|startoftext|>", "<s>", "<bos>", "<BOS>", "[BOS]", "<｜begin▁of▁sentence｜>")
_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Roles:
    """Ids with a task; none of them comes of text."""

    eod: int
    bos: int | None
    pad: int | None


def roles(
    path: Path, named: Mapping[str, int], spare: Iterable[int], *, eod: str | None, config: Mapping[str, Any]
) -> Roles:
    """Return the ids that close, open and fill.

    Args:
        path: of the tokenizer, for messages.
        named: ids of the added tokens that can be kept out of texts.
        spare: those of them that no text is made of, of which one may fill rows.
        eod: the wish of the user.
        config: what ``read_config`` returned.

    Raises:
        MrprepError: which one closes documents cannot be told, or there is no such token.
    """
    wish = eod or _content(config.get("eos_token")) or _first(EOD_NAMES, named)
    if wish is None or wish not in named:
        lack = f"has no added token {printable(wish)}" if wish else "does not say which token ends a text"
        held = [printable(name) for name in list(named)[:_SHOWN]]
        one_of = f", one of {', '.join(held)}{' …' if len(named) > len(held) else ''}" if held else ""
        raise MrprepError(
            f"the tokenizer {printable(str(path))} {lack}, so documents cannot be closed: name an added token "
            f"with --eod, or as eod in [tokenize]{one_of}"
        )
    end = named[wish]
    bos = _other(named, end, _content(config.get("bos_token")), *BOS_NAMES)
    pad = _other(named, end, _content(config.get("pad_token")), *PAD_NAMES)
    fit = (pad, bos, *sorted(spare))
    return Roles(end, bos, next((token for token in fit if token is not None and token != end), None))


def read_config(folder: Path) -> dict[str, Any]:
    """Return ``tokenizer_config.json`` of a folder; empty where there is none.

    Raises:
        MrprepError: there is one that is no JSON.
    """
    path = folder / CONFIG
    if not path.is_file():
        return {}
    try:
        content = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        content = None
    if not isinstance(content, dict):
        raise MrprepError(f"{printable(str(path))} is no JSON object: mend it, or take it away")
    return content


def added_by_config(config: Mapping[str, Any]) -> dict[str, int]:
    """Return the ids of the added tokens that a configuration lists; entries that are none are left out."""
    listed = config.get("added_tokens_decoder")
    rows = listed.items() if isinstance(listed, dict) else ()
    found = {_content(token): int(i) for i, token in rows if i.isdecimal()}
    return {text: token for text, token in found.items() if text is not None and token < MOST_IDS}


def _content(token: Any) -> str | None:
    """Return the text of a token, which a configuration gives as such or as a table."""
    text = token.get("content") if isinstance(token, dict) else token
    return text if isinstance(text, str) and text else None


def _first(names: Sequence[str], named: Mapping[str, int]) -> str | None:
    return next((name for name in names if name in named), None)


def _other(named: Mapping[str, int], end: int, *names: str | None) -> int | None:
    return next((named[name] for name in names if name is not None and named.get(name, end) != end), None)
