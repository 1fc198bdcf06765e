"""What lies beside converted weights: where they came from, and the small files that belong to a model."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mrprep import __version__
from mrprep.conversion.check import Check
from mrprep.conversion.form import Form
from mrprep.engine.parts import sync

IMPORTED, EXPORTED = "import.json", "export.json"
_COMPANIONS = (
    "generation_config.json", "tokenizer.model", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
    "added_tokens.json", "vocab.json", "merges.txt", "chat_template.jinja",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Converted:
    """What was done."""

    key_map: list[str]
    """A line for each kind of array."""
    left_out: list[str]
    """Arrays that add nothing: tables of angles, the embedding a second time."""
    parameters: int
    """Numbers trained."""
    bytes: int
    """Of the weights written."""
    check: Check
    """Against the source, or the target."""


def write_config(folder: Path, config: Mapping[str, Any]) -> None:
    """Write ``config.json``."""
    _write(folder / "config.json", config)


def write_record(file: Path, source: Path, model_type: str, form: Form, check: Check) -> None:
    """Write what a conversion was."""
    said: dict[str, Any] = {"mrprep": __version__, "from": str(source.absolute()), "model_type": model_type}
    said |= {"names": form.names.name, "interleaved": form.interleaved, "check": asdict(check)}
    _write(file, said)


def copy_companions(source: Path, folder: Path) -> None:
    """Copy the tokenizer and what else lies beside a model's weights."""
    for name in _COMPANIONS:
        if (source / name).is_file():
            shutil.copyfile(source / name, folder / name)
            sync(folder / name)


def _write(file: Path, content: Mapping[str, Any]) -> None:
    file.write_text(json.dumps(content, indent=2) + "\n")
    sync(file)
