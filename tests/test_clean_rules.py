"""Each cleaning rule by a table of before and after, worked out by hand."""

import pytest

from mrprep.document import Document, Place
from mrprep.stages.clean import Options, clean

PLACE = Place("s", b"a.txt", 0, 1)


def cleaned(text: str, **options: object) -> Document:
    (document,) = clean([Document(PLACE, text)], Options.model_validate(options))
    assert isinstance(document, Document)
    return document


TABLE = [
    ("ansi", "\x1b[31mred\x1b[0m text", "red text", 2),
    ("ansi", "\x1b]0;title\x07prompt \x1b[1;32m$\x1b[m", "prompt $", 3),
    ("ansi", "\x1b]8;;http://a.b\x1b\\link", "link", 1),
    ("ansi", "\x1b(Bplain\x1b7", "plain", 2),
    ("controls", "esc \x1bkey", "esc key", 1),
    ("overstrike", "N\bNA\bAM\bME\bE", "NAME", 4),
    ("overstrike", "N\bN\bN_\bx y\b_", "Nx y", 3),
    ("overstrike", "_\bN\bN", "N", 2),
    ("overstrike", "名\b名", "名", 1),
    ("controls", "ab\bc\x07bell\x7fdel\x9fc1\x00", "abcbelldelc1", 5),
    ("line_ends", "a\r\nb\rc\x0bd\x0ce\x85f\u2028g\u2029h", "a\nb\nc\nd\ne\nf\ng\nh", 7),
    ("line_ends", "page1\fpage2", "page1\npage2", 1),
    ("line_ends", "a\r\nb\r\nc", "a\nb\nc", 2),
    ("line_ends", "a\n\rb\r\r\nc", "a\n\nb\n\nc", 3),
    ("byte_order_marks", "上半。\ufeff下半。", "上半。下半。", 1),
    ("bidi", "user\u202enimda\u202c \u2066x\u2069\u200f", "usernimda x", 5),
    ("soft_hyphens", "Sil\xadben\xadtrennung", "Silbentrennung", 2),
    ("zero_width", "中\u200b文\u2060字", "中文字", 2),
    ("tags", "hi\U000e0001\U000e0069\U000e0067 you", "hi you", 3),
    ("noncharacters", "end\ufffe\uffff\U0010ffff\ufdd0 ok", "end ok", 4),
    ("noncharacters", "a\ud800b", "ab", 1),
    ("joiners", "a\u200db\u200cc", "abc", 2),
    ("joiners", "中\u200d文", "中文", 1),
    ("joiners", "می\u200c\u200cخواهم", "می\u200cخواهم", 1),
    ("joiners", "x\ufe0fy \u200d😀", "xy 😀", 2),
    ("joiners", "a\U000e0101\U000e0132b", "ab", 2),
    ("cid", "con(cid:12)rm (cid:3)(cid:4)x", "conrm x", 2),
    ("nfc", "Cafe\u0301 de\u0301ja\u0300", "Café déjà", 3),
    ("nfc", "\u1112\u1161\u11ab\u1100\u116e\u11a8", "한국", 1),
    ("nfc", "か\u3099は\u309a", "がぱ", 2),
    ("trailing_space", "a \nb\t\u3000\n\u3000\u3000段首 。\xa0", "a\nb\n\u3000\u3000段首 。", 3),
    ("blank_lines", "a\n\n\n\n\nb\n\n\nc", "a\n\n\nb\n\n\nc", 1),
    ("edges", "\n\na\nb\n", "a\nb", 2),
]


@pytest.mark.parametrize(("rule", "before", "after", "places"), TABLE)
def test_rule(rule: str, before: str, after: str, places: int) -> None:
    document = cleaned(before)
    assert document.text == after
    assert document.edits == {rule: places}


KEPT = {
    "scotland": "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "family": "👨\u200d👩\u200d👧\u200d👦",
    "astronaut": "👩🏽\u200d🚀",
    "rainbow": "🏳\ufe0f\u200d🌈",
    "heart-on-fire": "❤\ufe0f\u200d🔥 ©\ufe0f ☎\ufe0e",
    "keycaps": "1\ufe0f\u20e3 #\ufe0f\u20e3",
    "persian": "می\u200cخواهم HTML\u200cهای ه\u200d.",
    "sinhala": "ශ\u0dca\u200dරී",
    "devanagari": "क\u094d\u200cष क\u094d\u200dष",
    "bengali-ya-phalaa": "র\u200d\u09cdয",
    "mongolian": "ᠮᠣᠩᠭᠣᠯ ᠪᠢᠴᠢᠭ᠌ ᠠᠭᠤᠯᠠ\u180eᠠ",
    "ideographic-variant": "葛\U000e0100飾",
    "old-hangul": "\u1112\u119e\u11ab 나랏말\u110a\u119e\u11b7",
    "zalgo": "Z\u0335\u034ea\u0337\u035d l\u0336\u0308\u0301",
    "thai-tibetan": "น้ำ བོད་སྐད་",
    "chinese-punctuation": "价格：１２３元（含税），ＡＢＣ公司……—— ﾊﾝｶｸ ︰竖排",
    "private-use": "直径为 \ue6a1 5 毫米，坏字\ufffd而已",
    "white-space": "\u3000\u3000段首\ta  b\u3000c\n\n\nd",
}


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT.keys())
def test_kept_as_the_very_same_object(text: str) -> None:
    document = Document(PLACE, text)
    assert list(clean([document], Options())) == [document]
    assert next(iter(clean([document], Options()))) is document


SWITCHES = [row for row in TABLE if row[0] not in {"nfc"}]


@pytest.mark.parametrize(("rule", "before"), [row[:2] for row in SWITCHES])
def test_switched_off_leaves_it_to_nobody(rule: str, before: str) -> None:
    assert rule not in cleaned(before, **{rule: False}).edits


def test_controls_glue_no_lines() -> None:
    kept = "a\x85b\u2028c\rd"
    assert cleaned(kept, line_ends=False).text == kept


def test_pieces_keep_their_ends() -> None:
    piece = Document(Place("s", b"a.txt", 0, 1, piece=1), "\n\nmiddle of a book\n")
    assert next(iter(clean([piece], Options()))) is piece
    first = Document(PLACE, "字\n" * (1 << 20))
    assert next(iter(clean([first], Options()))) is first
