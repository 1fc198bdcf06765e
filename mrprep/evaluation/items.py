"""Evaluation files -> their texts, each with the line it stands on."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.sources.files import UnreadableError
from mrprep.sources.found import Found
from mrprep.sources.jsonl import parse
from mrprep.sources.pieces import without_surrogates
from mrprep.sources.streams import decompressed
from mrprep.sources.texts import NoTextError


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of every string in each record of a .jsonl, or of each line of any other text file.

    Both may be compressed (gz, zst, bz2, xz). Strings of a record are looked for at any depth: question, context,
    choices and answer are each a text of their own.
    Records are read as those of documents are, leniently. The whole file is in memory.

    Raises:
        MrprepError: it cannot be read, is not UTF-8, or a line of a .jsonl is no JSON.
    """
    if tables := {".parquet", ".arrow"} & set(path.suffixes):
        kind = tables.pop().removeprefix(".")
        raise MrprepError(f"{printable(str(path))}: {kind} evaluation files are not supported: give jsonl or text")
    records = ".jsonl" in path.suffixes
    for number, line in enumerate(_content(path).split(b"\n"), 1):
        try:
            if records and line.strip():
                yield from ((number, without_surrogates(text, Found())) for text in _strings(parse(line)))
            elif line.strip():
                yield number, line.decode()
        except NoTextError as error:
            raise MrprepError(f"{printable(str(path))}:{number}: {error.message}: mend the evaluation file") from None
        except ValueError as error:
            raise MrprepError(
                f"{printable(str(path))}:{number} is not UTF-8 ({error}): mend the evaluation file"
            ) from None


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as raw:
            return b"".join(decompressed(raw, path.stat().st_size, path.suffix.lstrip("."), Found()))
    except (OSError, UnreadableError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise MrprepError(f"the evaluation file {printable(str(path))} cannot be read: {why}") from None


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)
