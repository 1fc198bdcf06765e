"""The files under ``corpus/dirt``: one kind of dirt a file, bytes as they are found in the wild.

What each is expected to become stands in ``planted.json`` and, for people, in ``README.md``.
"""

import json
import unicodedata
from collections.abc import Mapping

from bundle import TEXT, read_bundle
from pack import jsonl, texts_jsonl

_MARKS = {
    "{ESC}": "\x1b",
    "{BEL}": "\x07",
    "{NUL}": "\0",
    "{FF}": "\f",
    "{SUB}": "\x1a",
    "{US}": "\x1f",
    "{C1}": "\x91",
    "{ZWSP}": "\u200b",
    "{WJ}": "\u2060",
    "{FEFF}": "\ufeff",
    "{LRM}": "\u200e",
    "{SHY}": "\u00ad",
}


def dirt(clean: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the planted files by name.

    Args:
        clean: the files under ``corpus/clean`` by path, which some of the planted ones repeat.
    """
    texts = read_bundle("dirt")
    return {
        **_encodings(texts),
        **_characters(texts),
        **_line_ends(texts, clean),
        **_repeats(clean),
        **_near_repeats(clean),
        **_broken(texts),
        **_nothing(texts),
        "bulletins.jsonl": texts_jsonl(read_bundle("bulletins")),
        "notices.jsonl": texts_jsonl(read_bundle("notices")),
        "special-tokens.md": _file(texts["special"]),
    }


def _file(text: str) -> bytes:
    return f"{text}\n".encode()


def _encodings(texts: Mapping[str, str]) -> dict[str, bytes]:
    return {
        "gb18030.txt": texts["gb18030"].encode("gb18030") + b"\n",
        "bom.txt": b"\xef\xbb\xbf" + _file(texts["bom"]),
        "utf16.txt": b"\xff\xfe" + f"{texts['utf16']}\n".encode("utf-16-le"),
    }


def _characters(texts: Mapping[str, str]) -> dict[str, bytes]:
    accents = texts["accents"]
    return {
        "controls.txt": _file(_marked(texts["controls"])),
        "zero-width.txt": _file(_marked(texts["zerowidth"])),
        "joiners.jsonl": jsonl([{"text": texts["persian"]}, {"text": texts["emoji"]}]),
        "accents.jsonl": jsonl([{"text": unicodedata.normalize(form, accents)} for form in ("NFC", "NFD")]),
    }


def _marked(text: str) -> str:
    for mark, character in _MARKS.items():
        text = text.replace(mark, character)
    return text


def _line_ends(texts: Mapping[str, str], clean: Mapping[str, bytes]) -> dict[str, bytes]:
    return {
        "crlf.md": clean["en/stale.md"].replace(b"\n", b"\r\n"),
        "cr.txt": _file(texts["cr"]).replace(b"\n", b"\r"),
    }


def _repeats(clean: Mapping[str, bytes]) -> dict[str, bytes]:
    moss, sparrow = clean["en/moss.txt"].decode(), clean["zh/麻雀.txt"].decode()
    tale = read_bundle("tales")["卖伞的人"]
    return {
        "exact.jsonl": jsonl([{"text": moss}, {"text": sparrow}, {"text": tale}]),
        "dough.txt": read_bundle("kitchen")["发面"].encode(),
    }


def _near_repeats(clean: Mapping[str, bytes]) -> dict[str, bytes]:
    edits = json.loads((TEXT / "edits.json").read_text(encoding="utf-8"))
    rope, tea = read_bundle("tools")["Rope"], read_bundle("kitchen")["泡茶"]
    return {
        "near-river.txt": _edited(clean["zh/江边.txt"].decode(), edits["river"]).encode(),
        "near-ferry.md": _edited(clean["en/ferry.md"].decode(), edits["ferry"]).encode(),
        "near.jsonl": jsonl([{"text": _edited(tea, edits["tea"])}, {"text": _edited(rope, edits["rope"])}]),
    }


def _edited(text: str, edits: list[tuple[str, str]]) -> str:
    for old, new in edits:
        if text.count(old) != 1:
            raise ValueError(f"an edit wants to find once what is there {text.count(old)} times: {old}")
        text = text.replace(old, new)
    return text


def _broken(texts: Mapping[str, str]) -> dict[str, bytes]:
    lines = [
        jsonl([{"text": texts["good-1"]}]),
        b'{"text": "The closing quote of this line was lost on the way}\n',
        jsonl([{"body": "A record whose text is called by another name.", "id": 3}]),
        jsonl([{"text": None}]),
        jsonl([{"text": texts["good-2"]}]),
        b"\n",
        jsonl([{"text": " \t\n\u3000\n"}]),
        jsonl([{"text": texts["after-blank"]}]),
        jsonl([{"text": texts["good-3"]}]).rstrip(b"\n"),
    ]
    return {"broken.jsonl": b"".join(lines)}


def _nothing(texts: Mapping[str, str]) -> dict[str, bytes]:
    return {
        "empty.txt": b"",
        "blank.txt": "\n \t\n\u3000\u3000\n".encode(),
        "empty.jsonl": b"",
        "garbled.txt": ("\ufffd\ufffd锟斤拷\ufffd?\ufffd\ufffd " * 60 + "\n").encode(),
        "repeated.txt": _file(texts["line"]) * 200,
        "ledger.csv": _file(texts["ledger"]),
        ".draft.txt": _file(texts["draft"]),
    }
