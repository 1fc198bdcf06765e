"""The filter keeps text and drops garbage, each with its reason; both made by hand or drawn from a seed."""

import base64
import random
import time
from collections import Counter
from collections.abc import Callable

import pytest

from mrprep.document import Document, Dropped, Place
from mrprep.stages.filter import Options, filter_documents

PLACE = Place("s", b"a.txt", 0, 1)
ENGLISH = (
    "The ferry left at dawn. Nobody on the pier waved, yet the captain lifted his cap to the empty benches. "
    "By noon the fog had gone, and the two passengers sat on deck and talked of the price of coal in the north."
)
CHINESE = (
    "清晨的市场很热闹，卖菜的老人把青椒码成一座小山。隔壁的孩子蹲在地上数硬币，一共七枚。"
    "太阳升起来的时候，卡车从桥上开过，司机摇下车窗，问去县城的路怎么走。"
)
MENU = [
    "首页",
    "新闻",
    "体育",
    "娱乐",
    "财经",
    "汽车",
    "房产",
    "论坛",
    "登录",
    "注册",
    "关于我们",
    "联系方式",
    "网站地图",
]
BAR = ["Home", "About us", "Contact", "Products", "Login", "Register", "News", "Blog", "Sitemap", "Terms of Use"]


def judged(text: str, place: Place = PLACE, **options: object) -> str:
    """Return the reason for which a text is dropped, or ``kept``."""
    document = Document(place, text)
    (item,) = filter_documents([document], Options.model_validate(options))
    if isinstance(item, Dropped):
        assert item.document is document
        assert item.detail
        return item.reason
    assert item is document
    return "kept"


KEPT = {
    "english": ENGLISH,
    "chinese": CHINESE,
    "poem": "静夜思\n李白\n床前明月光，疑是地上霜。\n举头望明月，低头思故乡。",
    "five words": "Stocks closed higher in London.",
    "five characters": "今天下大雨",
    "one lost character": "一个坏字\ufffd而已，其余完好。",
    "one private glyph": "直径为 \ue6a1 5 毫米的孔，共三处。",
    "french": "Il était une fois, dans la forêt, un élève qui préférait les œuvres très âgées à l’été.",
    "javanese": "Pranyatan ngenani hak-hak asasi umat: saben umat manungsa lair kanthi hak-hak kang padha.",
    "vietnamese": "Bệnh viện ở Huế mở cửa lúc tám giờ sáng và đóng cửa lúc năm giờ chiều, trừ các ngày lễ.",
    "russian": "Сегодня утром на рынке было шумно, и старик сложил перец в маленькую гору.",
    "korean": "오늘 아침 시장은 매우 붐볐고 노인은 고추를 작은 산처럼 쌓아 올렸다.",
    "thai": "เช้านี้ตลาดคึกคักมาก ชายชราวางพริกเป็นกองเล็กๆ",
    "code": "def area(width: float) -> float:\n    if width < 0:\n        raise ValueError()\n    return width**2\n",
    "table": "| name | size | note |\n|---|---|---|\n"
    + "".join(f"| file{i} | {i * 7} | of the {i}th day |\n" for i in range(12)),
    "refrain": "\n".join(f"This is verse number {i} of the song.\nAnd the bells ring on." for i in range(6)),
}


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT.keys())
def test_text_is_kept(text: str) -> None:
    assert judged(text) == "kept"


Make = Callable[[random.Random], str]


def noise(rng: random.Random, low: int = 200, high: int = 2000) -> bytes:
    return rng.randbytes(rng.randint(low, high))


def hex_dump(rng: random.Random) -> str:
    data = noise(rng)
    rows = (data[at : at + 16] for at in range(0, len(data), 16))
    return "\n".join(
        f"{at * 16:08x}  {row.hex(' ')}  |{row.decode('ascii', 'replace')}|" for at, row in enumerate(rows)
    ).replace("\ufffd", ".")


def number_table(rng: random.Random) -> str:
    return "\n".join("\t".join(str(rng.randint(0, 10**6)) for _ in range(6)) for _ in range(rng.randint(10, 60)))


def keyboard_mash(rng: random.Random) -> str:
    keys = "asdfghjklqwertyuiopzxcvbnm"
    return " ".join("".join(rng.choices(keys, k=rng.randint(3, 10))) for _ in range(rng.randint(30, 120)))


def key_words(rng: random.Random) -> str:
    heads, tails = ("bal", "cor", "din", "fal", "gar", "hol", "mar", "nor", "pel", "tan"), ("con", "dle", "mer", "ton")
    pairs = [head + middle + tail for head in heads for middle in ("a", "i", "o", "er") for tail in tails]
    return ", ".join(rng.sample(pairs, k=rng.randint(60, 150)))


def web_page(rng: random.Random) -> str:
    items = (f'<li class="item"><a href="/p/{rng.randint(1, 999)}.html">{rng.choice(MENU)}</a></li>' for _ in range(30))
    return f"<div><ul>{''.join(items)}</ul></div>"


def style_sheet(rng: random.Random) -> str:
    return "".join(f".c{i}{{margin:0 {rng.randint(1, 9)}px;color:#{rng.randint(0, 1 << 24):06x}}}" for i in range(30))


GARBAGE: dict[str, tuple[Make, set[str]]] = {
    "repeated line": (lambda rng: f"{ENGLISH[: rng.randint(20, 90)]}\n" * rng.randint(10, 99), {"repeated-lines"}),
    "repeated chinese line": (
        lambda rng: f"{CHINESE[: rng.randint(8, 40)]}\n" * rng.randint(10, 99),
        {"repeated-lines"},
    ),
    "repeated paragraph": (
        lambda rng: " ".join([rng.choice([ENGLISH, CHINESE])] * rng.randint(5, 30)),
        {"compressible", "repeated-ngrams", "few-words"},
    ),
    "one character": (
        lambda rng: rng.choice("aA啊哈0=-。") * rng.randint(50, 5000),
        {"one-word", "long-words", "symbols", "digits"},
    ),
    "laughter": (
        lambda rng: rng.choice(["ha ", "哈哈！", "lol ", "666 "]) * rng.randint(20, 500),
        {"one-word", "digits"},
    ),
    "base64": (lambda rng: base64.encodebytes(noise(rng)).decode(), {"encoded"}),
    "hex dump": (hex_dump, {"encoded"}),
    "bytes as latin-1": (lambda rng: noise(rng).decode("latin-1"), {"mojibake", "garbled"}),
    "bytes as utf-8": (lambda rng: noise(rng).decode("utf-8", "replace"), {"garbled"}),
    "bytes as gbk": (lambda rng: noise(rng).decode("gbk", "ignore"), {"rare-characters", "garbled"}),
    "random ideographs": (
        lambda rng: "".join(chr(rng.randrange(0x4E00, 0x9FA6)) for _ in range(rng.randint(40, 400))),
        {"rare-characters"},
    ),
    "lost characters": (lambda rng: "".join(rng.choices("\ufffd\ufffda的", k=rng.randint(40, 400))), {"garbled"}),
    "private use": (
        lambda rng: "".join(chr(rng.randrange(0xE000, 0xF8FF)) for _ in range(rng.randint(40, 400))),
        {"garbled", "short"},
    ),
    "menu": (lambda rng: "\n".join(rng.choices(MENU, k=rng.randint(12, 60))), {"menu", "repeated-lines"}),
    "menu bar": (lambda rng: " | ".join(rng.choices(BAR, k=rng.randint(15, 50))), {"menu"}),
    "chinese menu bar": (lambda rng: " ".join(rng.choices(MENU, k=rng.randint(30, 60))), {"word-list"}),
    "digit table": (number_table, {"digits"}),
    "keyboard mash": (keyboard_mash, {"mash", "word-salad"}),
    "web page": (web_page, {"markup"}),
    "style sheet": (style_sheet, {"remains", "long-words", "symbols"}),
    "utf-8 as windows-1252": (lambda rng: CHINESE.encode().decode("cp1252", "ignore"), {"mojibake"}),
    "gbk as latin-1": (lambda rng: CHINESE.encode("gbk").decode("latin-1"), {"mojibake"}),
    "utf-8 as gbk": (lambda rng: CHINESE.encode().decode("gbk", "replace"), {"garbled", "rare-characters"}),
    "filler": (
        lambda rng: "Lorem ipsum dolor sit amet, consectetur adipiscing elit. " * 3,
        {"filler", "repeated-ngrams"},
    ),
    "key words": (key_words, {"word-salad"}),
}


def set_of_words() -> list[str]:
    return sorted({word.strip(".,").lower() for word in ENGLISH.split()})


@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_is_dropped_for_its_reason(kind: str) -> None:
    make, reasons = GARBAGE[kind]
    rng = random.Random(kind)
    found = Counter(judged(make(rng)) for _ in range(40))
    assert found["kept"] <= 2
    assert found.most_common(1)[0][0] in reasons


def test_empty_and_short() -> None:
    assert [judged(text) for text in ("", " \n\t\u3000", "a b c d", "一二三四", "。。。！！")] == [
        *("empty", "empty", "short", "short", "short")
    ]
    assert judged("\u200b" * 300) == judged(" " * 100_000) == "empty"
    assert judged(" " * 200_000 + ENGLISH + " " * 200_000) != "empty"
    assert judged("a b c d", min_units=4) == "kept"
    assert judged("一 two 三", min_units=3) == "kept"


def test_detail_gives_the_number_against_its_threshold() -> None:
    (item,) = filter_documents([Document(PLACE, "three words only")], Options())
    assert isinstance(item, Dropped)
    assert item.detail == "3 words or characters, at least 5 wanted"
    (item,) = filter_documents([Document(PLACE, "1234567890 " * 3 + "ten of the letters here")], Options())
    assert isinstance(item, Dropped)
    assert item.detail == "61.2% digits, at most 50.0% wanted"  # 30 of 49


def test_pieces_are_never_short() -> None:
    assert judged("the end", Place("s", b"a.txt", 0, 1, piece=3)) == "kept"


def test_strict_thresholds_reach_plain_text() -> None:
    text = ENGLISH + " 1234567890"
    assert judged(text) == "kept"
    assert judged(text, max_digits=0.05) == "digits"
    assert judged(text, max_symbols=0.01) == "symbols"


LIFTED = [
    ("max_repeated_lines", "repeated line", "repeated-lines"),
    ("max_encoded", "base64", "encoded"),
    ("max_garbled", "lost characters", "garbled"),
    ("max_mojibake", "gbk as latin-1", "mojibake"),
    ("max_rare_characters", "random ideographs", "rare-characters"),
    ("max_menu", "menu", "menu"),
    ("max_spaced", "chinese menu bar", "word-list"),
    ("max_digits", "digit table", "digits"),
    ("max_mash", "keyboard mash", "mash"),
    ("max_markup", "web page", "markup"),
    ("max_one_unit", "laughter", "one-word"),
]


@pytest.mark.parametrize(("option", "kind", "reason"), LIFTED)
def test_a_threshold_of_one_switches_its_rule_off(option: str, kind: str, reason: str) -> None:
    make, _ = GARBAGE[kind]
    texts = [make(random.Random(seed)) for seed in range(30)]
    assert reason in map(judged, texts)
    assert reason not in {judged(text, **{option: 1}) for text in texts}


def test_a_long_text_is_judged_by_samples_of_all_of_it() -> None:
    words = random.Random(3)
    prose = " ".join(words.choice(set_of_words()) for _ in range(60_000))
    assert judged(prose, min_word_order=-1) == "kept"
    assert judged(ENGLISH + "\ufffd" * 400_000) == "garbled"


HARD = {
    "one letter": "a" * (4 << 20),
    "one ideograph": "啊" * (4 << 20),
    "blanks": "x" + " " * (4 << 20) + "y",
    "lines": "a\n" * (2 << 20),
    "no line ends": CHINESE * 40_000,
    "tags": "<a" * (2 << 20),
    "mojibake": "ÖÐРС" * (1 << 20),
}


@pytest.mark.parametrize("text", HARD.values(), ids=HARD.keys())
def test_megabytes_of_trouble_take_no_time(text: str) -> None:
    start = time.process_time()
    judged(text)
    assert time.process_time() - start < 2


def test_what_is_left_of_a_pdf_without_its_glyphs_is_dropped() -> None:
    few, many = (Document(PLACE, ENGLISH, {"cid": count}) for count in (5, 60))
    kept, dropped = filter_documents([few, many], Options())
    assert kept is few
    assert isinstance(dropped, Dropped)
    assert (dropped.reason, dropped.detail.startswith(f"{60 / (60 + len(ENGLISH)):.1%}")) == ("hollow", True)


def test_lines_of_nothing_but_bars_are_no_pieces_between_them() -> None:
    assert judged("» » » »\n" * 30) == "symbols"
    assert judged("home » news » sport » more\n" * 5 + "» » » »\n" * 8) == "menu"


def test_unassigned_characters_of_the_last_planes_are_garbage() -> None:
    text = "".join(a + chr(0xE0200 + 7 * n) for n, a in enumerate(ENGLISH))
    (dropped,) = filter_documents([Document(PLACE, text)], Options())
    assert isinstance(dropped, Dropped)
    assert dropped.reason == "garbled"
