"""HTML pages: their main text is read where the extra is there; without it they are left aside with a sentence."""

import gzip
from pathlib import Path

import pytest

from mrprep import extras
from mrprep.document import BadRecord, Document, FileNote
from mrprep.sources.discover import Skipped, discover
from mrprep.sources.read import read
from mrprep.sources.source import Source
from mrprep.sources.spans import cut

STORY = [
    "清晨的市场很热闹，卖菜的老人把青椒码成一座小山。隔壁的孩子蹲在地上数硬币，一共七枚。",
    "太阳升起来的时候，卡车从桥上开过，司机摇下车窗，问去县城的路怎么走。老人指了指河对岸的方向。",
    "The ferry left at dawn. Nobody on the pier waved, yet the captain lifted his cap to the empty benches.",
]
PAGE = (
    "<html><head><meta charset='{charset}'><title>市场</title><style>p {{color: red}}</style></head><body>"
    "<nav><ul><li><a href='/'>首页</a></li><li><a href='/login'>登录</a></li></ul></nav>"
    "<article><h1>市场</h1>{paragraphs}</article><script>track('x')</script>"
    "<footer>版权所有 <a href='/about'>关于我们</a></footer></body></html>"
)


def page(charset: str = "utf-8") -> bytes:
    paragraphs = "".join(f"<p>{text}</p>" for text in STORY)
    return PAGE.format(charset=charset, paragraphs=paragraphs).encode(charset)


def items(folder: Path) -> list[Document | BadRecord | FileNote]:
    listing = discover(Source(name="s", path=folder))
    return [item for unit in cut([listing], 1 << 20) for span in unit for item in read(span)]


@pytest.mark.parametrize("name", ["a.html", "a.HTM", "a.html.gz"])
def test_the_main_text_is_read_and_the_rest_is_not(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(gzip.compress(page()) if name.endswith("gz") else page())
    document, note = items(tmp_path)
    assert isinstance(document, Document)
    assert isinstance(note, FileNote)
    assert not note.problem
    assert all(paragraph in document.text for paragraph in STORY)
    assert not any(word in document.text for word in ("首页", "登录", "版权", "track", "color", "<"))


def test_a_page_in_another_encoding(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_bytes(page("gb18030"))
    document, note = items(tmp_path)
    assert isinstance(document, Document)
    assert isinstance(note, FileNote)
    assert STORY[0] in document.text
    assert note.encoding == "gb18030"


def test_a_page_without_a_main_text_is_no_document(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<html><body><script>x()</script></body></html>")
    record, _ = items(tmp_path)
    assert isinstance(record, BadRecord)
    assert record.reason == "no-main-text"


@pytest.mark.parametrize("told", ["auto", "html"])
def test_without_the_extra_pages_are_left_aside(told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(extras.PACKAGES, "html", "no_such_package")
    (tmp_path / "a.html").write_bytes(page())
    listing = discover(Source.model_validate({"name": "s", "path": tmp_path, "format": told}))
    reason = "reading HTML needs no_such_package: pip install 'mrprep[html]'"
    assert (listing.files, listing.skipped) == ((), (Skipped(b"a.html", "ending", reason),))
