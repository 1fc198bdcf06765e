"""Language identification: wanted languages stay, others go, and nothing is loaded unless asked for."""

import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
from test_filter_corpora import texts
from test_filter_rules import CHINESE, ENGLISH, KEPT, judged

from mrprep import extras
from mrprep.config import load_pipeline
from mrprep.document import Document, Dropped, Place
from mrprep.errors import MrprepError
from mrprep.stages.filter import Options, filter_documents

PLACE = Place("s", b"a", 0, 1)
WANTED = ("zh", "en")
CODECS = {"Latin1": "cp1252", "Latin2": "cp1250", "UTF8": "utf-8", "SJIS": "shift_jis", "EUC": "euc_jp"}


@pytest.mark.parametrize("text", [ENGLISH, CHINESE, KEPT["poem"]], ids=["english", "chinese", "poem"])
def test_wanted_languages_stay(text: str) -> None:
    assert judged(text, languages=WANTED) == "kept"


@pytest.mark.parametrize("language", ["french", "javanese", "vietnamese", "russian", "korean", "thai"])
def test_other_languages_go(language: str) -> None:
    assert judged(KEPT[language], languages=WANTED) == "language"
    assert judged(KEPT[language], languages=WANTED, min_language=0) == "kept"
    assert judged(KEPT[language]) == "kept"


def test_detail_names_what_it_looks_like() -> None:
    (item,) = filter_documents([Document(PLACE, KEPT["french"])], Options(languages=WANTED))
    assert isinstance(item, Dropped)
    assert item.detail == "looks like fr, zh or en wanted"


def test_of_a_hundred_languages_none_passes_for_chinese_or_english(shared: Path) -> None:
    passed, asked = [], 0
    for file in sorted((shared / "corpora" / "encodings").glob("*.txt")):
        name, _, encoding = file.stem.rpartition("-")
        if encoding in CODECS and not name.startswith(("English", "Chinese")):
            text = file.read_bytes().decode(CODECS[encoding], "replace")
            (item,) = filter_documents([Document(PLACE, text)], Options(languages=WANTED))
            asked += 1
            passed += [] if isinstance(item, Dropped) else [name]
    assert asked > 100
    assert not passed


@pytest.mark.parametrize("corpus", ["zh_laws", "en_python_doc", "zh_classics", "zh_poetry/yuding_tang.jsonl.gz"])
def test_clean_corpora_lose_under_one_percent(shared: Path, corpus: str) -> None:
    documents = [Document(PLACE, text) for text in islice(texts(shared / "corpora" / corpus), 400)]
    judged_all = filter_documents(documents, Options(languages=WANTED))
    lost = [item for item in judged_all if isinstance(item, Dropped) and item.reason == "language"]
    assert len(lost) < 0.01 * len(documents)


def test_an_unknown_code_and_a_missing_package_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MrprepError, match=r"filter.languages: no language is known as 'cn'"):
        load_pipeline("default", {"filter": {"languages": ["cn"]}})
    monkeypatch.setitem(extras.PACKAGES, "langid", "no_such_package")
    assert load_pipeline("default", {"filter": {"languages": []}})
    with pytest.raises(MrprepError, match=r"needs no_such_package: pip install 'mrprep\[langid\]'"):
        load_pipeline("default", {"filter": {"languages": ["zh"]}})


def test_no_extra_is_loaded_unasked() -> None:
    code = (
        "import sys; from mrprep.config import load_pipeline; load_pipeline('zh-web', {});"
        "from mrprep.stages import clean, filter as f; from mrprep.document import Document, Place;"
        "d = Document(Place('s', b'a', 0, 1), 'naïve café text of a few words' * 9);"
        "list(f.filter_documents(clean.clean([d], clean.Options()), f.Options()));"
        "print({'py3langid', 'ftfy', 'trafilatura'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
