"""Encodings: what is decoded is decoded right, and what is unsure is said.

The detector was picked by these figures: 257 files of the shared folders ``encodings`` and ``news_gb18030``, the
truth by the encoding in a file's name, CPU seconds for all of them.

=========================  =====  =====  =======  ====
detector                   right  wrong  refused  CPU
=========================  =====  =====  =======  ====
chardet 7.7                  235     21        1  0.48
chardet 7.7, sure by 0.5     184      0       73  0.43
charset-normalizer 3.5       199     48       10  0.22
faust-cchardet 3.2           217     37        3  0.13
ours, with chardet           248      0        9  1.3
=========================  =====  =====  =======  ====
"""

from collections import Counter
from pathlib import Path

import pytest
from sources_tools import Reading, read_bytes, read_path

from mrprep.sources.encoding import Sample, decide

NAMED = {
    "Latin1": ["cp1252", "latin-1"],
    "Latin2": ["cp1250", "iso8859-2"],
    "err": ["cp1250"],
    "UTF8": ["utf-8", "cp1250"],  # Czech_Cesky-UTF8 is Windows-1250 by its bytes
    "Cyrillic": ["cp1251"],
    "Arabic": ["cp1256"],
    "Hebrew": ["cp1255"],
    "SJIS": ["cp932"],
    "EUC": ["euc_jp"],
    "Unicode": ["utf-16"],
    "HZ": ["hz"],
}
"""The Python name of what the file names say; T61, VPS, VG2Main and two font hacks have none."""


def truths(path: Path) -> set[str]:
    raw = path.read_bytes()
    names = NAMED.get(path.stem.rpartition("-")[2], [])
    texts = (raw.decode(name, "ignore" if name in {"utf-8", "utf-16"} else "replace") for name in names)
    return {text.removeprefix("\ufeff") for text in texts}


def judge(reading: Reading, right: set[str]) -> str:
    if reading.problems:
        return "refused"
    text = "".join(reading.texts)
    if text.replace("\ufffd", "") in right:  # files cut off in the middle of a character
        return "right"
    return "refused" if reading.notes[0].replaced else "wrong"


def test_corpus_of_encodings_has_no_wrong_text_and_nine_tenths_decoded(shared: Path) -> None:
    files = sorted((shared / "corpora/encodings").glob("*.txt"))
    found = Counter(judge(read_path(file), truths(file)) for file in files)
    assert found["wrong"] == 0
    assert found["right"] >= 0.95 * len(files)


def test_gb18030_news_has_no_wrong_text_and_nine_tenths_decoded(shared: Path) -> None:
    files = sorted((shared / "corpora/mixfolder/news_gb18030").rglob("*.txt"))
    found = Counter(judge(read_path(file), {file.read_bytes().decode("gb18030")}) for file in files)
    assert found["wrong"] == 0
    assert found["right"] >= 0.95 * len(files)


ARTICLE_1 = {  # Universal Declaration of Human Rights, public domain
    "ko": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. 인간은 이성을 받았다.",
    "ja": "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。",
    "tw": "人人生而自由，在尊嚴和權利上一律平等。他們賦有理性和良心，並應以兄弟關係的精神相對待。",
    "cn": "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。",
    "ru": "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и совестью.",
    "el": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. Είναι προικισμένοι.",
    "he": "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון",
    "fr": "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de raison.",
    "pl": "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni obdarzeni rozumem.",
    "cs": "Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv. Jsou nadáni rozumem a svědomím.",
    "tr": "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl ve vicdana sahiptirler.",
    "lt": "Visi žmonės gimsta laisvi ir lygūs savo orumu ir teisėmis. Jiems suteiktas protas ir sąžinė.",
    "pt": "Todos os seres humanos nascem livres e iguais em dignidade e em direitos. Dotados de razão.",
}


@pytest.mark.parametrize(
    ("language", "encoding"),
    [
        ("ko", "cp949"), ("ja", "cp932"), ("ja", "euc_jp"), ("tw", "big5"), ("tw", "big5hkscs"), ("tw", "gbk"),
        ("cn", "gb18030"), ("cn", "gb2312"), ("cn", "hz"), ("ja", "iso2022_jp"), ("ko", "iso2022_kr"),
        ("ru", "cp1251"), ("ru", "koi8-r"), ("ru", "iso8859-5"), ("ru", "cp866"), ("el", "cp1253"), ("he", "cp1255"),
        ("fr", "cp1252"), ("pl", "cp1250"), ("pl", "iso8859-2"), ("cs", "cp1250"), ("tr", "cp1254"), ("lt", "cp1257"),
        ("pt", "cp1252"),
        *((language, f"utf-16-{order}") for language in ("cn", "ja", "ko", "ru", "fr", "he") for order in ("le", "be")),
    ],
)  # fmt: skip
def test_a_paragraph_is_decoded(tmp_path: Path, language: str, encoding: str) -> None:
    text = (ARTICLE_1[language] + "\r\n") * 2
    reading = read_bytes(tmp_path, text.encode(encoding), "a.txt")
    assert reading.texts == [text]
    assert reading.notes[0].confidence > 0.25


OTHERS = ["cp437", "cp850", "cp852", "mac-roman", "mac_latin2", "utf-7", "cp037", "koi8-t", "ptcp154", "utf-32-le"]
OTHERS += ["mac_cyrillic", "mac_greek"]


@pytest.mark.parametrize("language", ARTICLE_1)
@pytest.mark.parametrize("encoding", OTHERS)
def test_encodings_that_are_not_known_are_refused_not_guessed(tmp_path: Path, language: str, encoding: str) -> None:
    text = ARTICLE_1[language] * 3
    try:
        raw = text.encode(encoding)
    except UnicodeEncodeError:
        return
    reading = read_bytes(tmp_path, raw, "a.txt")
    assert reading.problems or reading.texts == [text] or raw.isascii()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.json"])
def test_byte_order_marks(tmp_path: Path, encoding: str, name: str) -> None:
    text = "第一 é" if name == "a.txt" else '{"text": "第一 é"}\n'
    assert read_bytes(tmp_path, text.encode(encoding), name).texts == ["第一 é"]


@pytest.mark.parametrize("size", [5_000, 3_000_000])
def test_a_bad_byte_costs_itself(tmp_path: Path, size: int) -> None:
    raw = bytearray("整篇都是正常的中文。\n".encode() * (size // 31))
    raw[size // 2 // 31 * 31] = 0xFF  # the first of the three bytes of a character
    reading = read_bytes(tmp_path, bytes(raw), "a.txt")
    assert reading.notes[0].replaced == 3
    assert reading.texts[0].count("\ufffd") == 3
    assert len(reading.texts[0]) == len(bytes(raw).decode("utf-8", "ignore")) + 3


def test_a_bad_byte_of_ascii_costs_itself(tmp_path: Path) -> None:
    reading = read_bytes(tmp_path, b"plain text of words\n" * 200 + b"\x81\x8d", "a.txt")
    assert reading.texts == ["plain text of words\n" * 200 + "\ufffd\ufffd"]
    assert reading.notes[0].replaced == 2


def test_gb18030_jsonl_is_decoded_by_lines(tmp_path: Path) -> None:
    line = '{"text": "' + ARTICLE_1["cn"] + '"}\n'
    reading = read_bytes(tmp_path, (line * 5).encode("gb18030"))
    assert reading.texts == [ARTICLE_1["cn"]] * 5
    assert [d.place.offset for d in reading.documents] == [i * len(line.encode()) for i in range(5)]  # as UTF-8


def test_told_encoding_is_not_questioned() -> None:
    assert decide(Sample(b"abc", whole=True), "koi8-r").name == "koi8-r"


def test_binary_is_refused(tmp_path: Path) -> None:
    assert "undecodable" in read_bytes(tmp_path, bytes(range(256)) * 20, "a.txt").problems[0]
    assert "undecodable" in read_bytes(tmp_path, b"ab\0\0\0\0\xff" * 20, "a.txt").problems[0]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
@pytest.mark.parametrize("order", ["le", "be"])
@pytest.mark.parametrize("text", ["Plain words.", "第一章，清晨的市场上小贩们已经摆好了摊位。\n", "x", ""])
def test_told_utf16_without_a_mark_gets_its_byte_order(tmp_path: Path, encoding: str, order: str, text: str) -> None:
    reading = read_bytes(tmp_path, text.encode(f"{encoding}-{order}"), "a.txt", encoding=encoding)
    assert (reading.texts, reading.problems) == ([text], [])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_told_utf16_that_is_something_else_is_reported(tmp_path: Path, encoding: str) -> None:
    (problem,) = read_bytes(tmp_path, b"plain words, not what was told", "a.txt", encoding=encoding).problems
    assert "no byte order mark" in problem


NO_SPACES = {
    "th": "ตอนเช้าตรู่ที่ตลาดพ่อค้าแม่ค้าตั้งแผงขายของเรียบร้อยแล้วชายชราที่ขายผักจัดเรียงผักอย่างเป็นระเบียบ",
    "my": "မနက်စောစောဈေးမှာကုန်သည်တွေဆိုင်ခင်းပြီးကြပြီ။ဟင်းသီးဟင်းရွက်ရောင်းတဲ့အဘိုးအိုက",
    "am": "በማለዳገበያውላይነጋዴዎችቀድሞውኑመደብራቸውንዘርግተውነበር",
}


@pytest.mark.parametrize("text", NO_SPACES.values(), ids=NO_SPACES)
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("times", [1, 30])
def test_utf16_without_zero_bytes_is_no_utf8(tmp_path: Path, text: str, encoding: str, times: int) -> None:
    reading = read_bytes(tmp_path, (text * times).encode(encoding), "a.txt")
    assert reading.texts == ([] if reading.problems else [text * times])
    assert not reading.problems or "undecodable" in reading.problems[0]
    assert text == NO_SPACES["am"] or reading.texts


def test_zero_bytes_in_records_cost_their_line(tmp_path: Path) -> None:
    lines = [b'{"text":"record %d"}\n' % i for i in range(100)]
    raw = b"".join([*lines[:50], bytes(40_000), *lines[50:]])
    reading = read_bytes(tmp_path, raw)
    assert reading.texts == [f"record {i}" for i in range(100) if i != 50]
    assert reading.reasons == ["bad-json"]
