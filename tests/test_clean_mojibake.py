"""Mojibake repair by ftfy: what was decoded wrongly is put right, Chinese full-width text is left alone."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_filter_corpora import texts

from mrprep import extras
from mrprep.config import load_pipeline
from mrprep.document import Document, Place
from mrprep.errors import MrprepError
from mrprep.stages.clean import Options, clean

PLACE = Place("s", b"a.txt", 0, 1)
PROSE = "清晨的市场很热闹，卖菜的老人（七十岁）把青椒码成一座小山。"


def cleaned(text: str) -> Document:
    (document,) = clean([Document(PLACE, text)], Options(mojibake=True))
    assert isinstance(document, Document)
    return document


MENDED = [
    ("Le cafÃ© de la gare", "Le café de la gare"),
    ("naÃ¯ve â€œquotedâ€\x9d itâ€™s", "naïve “quoted” it’s"),
    (PROSE.encode().decode("latin-1"), PROSE),
    ("ÐŸÑ€Ð¸Ð²ÐµÑ‚, Ð¼Ð¸Ñ€", "Привет, мир"),
]


@pytest.mark.parametrize(("wrong", "right"), MENDED)
def test_wrong_decodings_are_put_right(wrong: str, right: str) -> None:
    document = cleaned(wrong)
    assert (document.text, document.edits) == (right, {"mojibake": 1})
    assert "mojibake" not in cleaned(right).edits


def test_each_line_is_mended_by_itself() -> None:
    document = cleaned(f"{PROSE}\ncafÃ©\n“fine” — ¿qué?\nÃ©tÃ© 2024")
    assert document.text == f"{PROSE}\ncafé\n“fine” — ¿qué?\nété 2024"
    assert document.edits == {"mojibake": 2}


ALONE = [
    "价格：１２３元（含税），ＡＢＣ公司……——「引号」『书名』《红楼梦》、；！？",
    "ﾊﾝｶｸ ｡ ﬁne ﬂow “curly” ‘quotes’ &amp; &lt;b&gt;",
    "Él dijo: «¿Qué?» – ¡Olé! Ça, œuvre, Straße, Ærø, ÀÉÎÕÜ",
]


@pytest.mark.parametrize("text", ALONE)
def test_what_is_right_is_the_very_same(text: str) -> None:
    document = Document(PLACE, text)
    assert next(iter(clean([document], Options(mojibake=True)))) is document


def test_clean_corpora_are_left_alone(shared: Path) -> None:
    for corpus in ("zh_laws", "zh_classics", "mixfolder/wiki"):
        for _, text in zip(range(150), texts(shared / "corpora" / corpus), strict=False):
            assert "mojibake" not in cleaned(text).edits


@settings(deadline=None, max_examples=200)
@given(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x17F) | st.sampled_from("。，“”’…中文Ð€"), max_size=40))
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    once = cleaned(text)
    assert cleaned(once.text).text == once.text


def test_a_missing_package_is_told_when_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(extras.PACKAGES, "ftfy", "no_such_package")
    assert load_pipeline("default", {"clean": {"mojibake": False}})
    with pytest.raises(MrprepError, match=r"clean.mojibake: .*needs no_such_package: pip install 'mrprep\[ftfy\]'"):
        load_pipeline("default", {"clean": {"mojibake": True}})
