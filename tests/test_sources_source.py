"""What a pipeline may say about a source."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from mrprep.sources.source import Source


def source(**options: Any) -> Source:
    return Source(**{"name": "s", "path": Path(), **options})


def test_defaults() -> None:
    s = source()
    assert (s.format, s.documents, s.text, s.encoding, s.weight) == ("auto", "file", ("text",), "auto", 1.0)


def test_one_field_may_be_said_without_a_list() -> None:
    assert source(text="body").text == ("body",)


def test_encodings_are_known_by_any_of_their_names() -> None:
    assert source(encoding="GB18030").encoding == "gb18030"
    assert source(encoding="latin1").encoding == "iso8859-1"


@pytest.mark.parametrize(
    "wrong",
    [{"weight": 0}, {"weight": float("inf")}, {"weight": -1}, {"encoding": "klingon"}, {"encoding": "base64"},
     {"encoding": "idna"},
     {"text": ()}, {"name": ""}, {"documents": "paragraph"}, {"format": "csv"}, {"pth": "x"}],
)  # fmt: skip
def test_mistakes_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as error:
        source(**wrong)
    assert next(iter(wrong)) in str(error.value)
