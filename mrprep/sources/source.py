"""What a pipeline says about one source: where it lies and how its files are to be read."""

import codecs
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from mrprep.options import Options
from mrprep.sources.remote import is_url

Format = Literal["txt", "md", "jsonl", "json", "parquet", "arrow", "html"]
"""How a file is read; ``txt`` and ``md`` are read alike."""
TABLES: tuple[Format, ...] = ("parquet", "arrow")
"""Those whose files are tables: a row is a document, whatever compresses it is inside."""
Documents = Literal["file", "line", "blank-line"]


class Reading(Options):
    """How files are read."""

    format: Literal["auto", Format] = "auto"
    """``auto`` goes by each file's ending; anything else holds for every file, whatever its ending."""
    documents: Documents = "file"
    """What is a document in .txt and .md: the file, each line, or each stretch between blank lines."""
    text: tuple[str, ...] = Field(("text",), min_length=1)
    """Field (jsonl, json) or column (parquet, arrow) that holds the text; nested ones as ``meta.body``. Several are
    joined by a blank line; those that are missing or null are left out unless all are."""
    score: str | None = Field(None, min_length=1)
    """Field or column that holds a number that rates the document, for ``keep = "best"``; nested as ``meta.score``."""
    encoding: str = "auto"
    """Of the files that are not parquet or arrow: ``auto``, or a name that Python knows, such as ``gb18030``."""

    @field_validator("text", mode="before")
    @classmethod
    def _one_field(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @field_validator("encoding")
    @classmethod
    def _known_encoding(cls, value: str) -> str:
        if value == "auto":
            return value
        try:
            codecs.getincrementaldecoder(value)("replace").decode("".encode(value), final=True)
            return codecs.lookup(value).name
        except (LookupError, UnicodeError, AssertionError):
            raise ValueError(f"no text encoding is named {value!r}; use auto or e.g. gb18030, big5hkscs") from None


class Source(Reading):
    """One folder, or one file, of raw text."""

    name: str = Field(min_length=1)
    """Short name; part of every document's identity."""
    path: Path
    """The folder that is read with all folders in it, or a single file; a URL is taken for ``url``."""
    url: str = ""
    """Where the source lies if it is no path of this machine, such as s3://bucket/corpus; see sources/remote.py."""
    weight: float = Field(1.0, gt=0, le=1000, allow_inf_nan=False)
    """How often the source's documents are taken; 0.5 takes half of them, 2 takes each twice."""

    @model_validator(mode="before")
    @classmethod
    def _url(cls, values: Any) -> Any:
        place = values.get("path") if isinstance(values, dict) else None
        if not isinstance(place, str) or not is_url(place):
            return values
        shorter = place.rstrip("/")
        return values | {"url": place if shorter.endswith(":") else shorter}

    @property
    def place(self) -> str:
        """Where it lies, for people."""
        return self.url or str(self.path)
