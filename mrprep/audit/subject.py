"""What is audited: a build of ours, or MindRecord shards that came without a manifest."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mrprep.builddir.manifest import Build
from mrprep.errors import MrprepError
from mrprep.mindrecord.foreign import describe, mindrecord_files
from mrprep.printable import printable
from mrprep.tokenizers import family
from mrprep.tokenizers.choices import Choices
from mrprep.tokenizers.of_build import tokenizer_of
from mrprep.tokenizers.protocol import Tokenizer

Shard = Mapping[str, Any]

_RAGGED = 4096
"""Tokens a row, taken for rows of any length."""
_HELD_BACK = ("valid", "val", "eval", "dev", "test")
"""Words in the name of a file or of its folder that tell that it is not for training."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Rows to be judged."""

    path: Path
    splits: Mapping[str, Sequence[Shard]]
    """Shards by split: entries of the manifest, or ``{"file", "rows"}``."""
    width: int
    """Tokens a row."""
    seed: int
    build: Build | None = None
    column: str = "input_ids"
    problems: tuple[str, ...] = ()
    """Sentences on shards that are not among these, as they cannot be opened."""

    def file(self, shard: Shard) -> Path:
        """Return where a shard lies."""
        return self.path / str(shard["file"])

    @property
    def shards(self) -> Iterator[Shard]:
        """All shards of all splits."""
        return (shard for shards in self.splits.values() for shard in shards)

    @property
    def rows(self) -> int:
        """Rows of train."""
        return sum(shard["rows"] for shard in self.splits.get("train", ()))

    @property
    def sources(self) -> dict[str, float]:
        """Names and weights of the sources; of shards without a manifest there are none."""
        listed = self.build.manifest["pipeline"]["source"] if self.build else ()
        return {source["name"]: float(source["weight"]) for source in listed}


def of_build(build: Build) -> Subject:
    """Return a build as something to be judged."""
    splits = {split: tuple(facts["shards"]) for split, facts in build.manifest["splits"].items()}
    return Subject(build.path, splits, int(build.manifest["seq"]) + 1, int(build.manifest["seed"]), build)


def of_shards(path: Path, column: str | None = None) -> Subject:
    """Return the MindRecord files at a path, which no manifest of ours describes.

    Args:
        path: a file, or a folder that holds some at any depth.
        column: that holds the ids; found if None: ``input_ids``, or the only column of integers.

    Raises:
        MrprepError: there is none, none can be read, or no column of ids is to be found.
    """
    files = mindrecord_files(path)
    if not files:
        raise MrprepError(f"{printable(str(path))} holds no MindRecord file with its .db beside it: name such a folder")
    home = path if path.is_dir() else path.parent
    splits: dict[str, list[Shard]] = {}
    problems: list[str] = []
    for file in files:
        try:
            rows, columns = describe(file)
        except MrprepError as error:
            problems.append(str(error))
            continue
        column = _column(file, columns, column)
        entry = {"file": str(file.relative_to(home)), "rows": rows, "width": int(columns[column]["shape"][-1])}
        splits.setdefault(_split(file, home), []).append(entry)
    if not splits:
        raise MrprepError(problems[0])
    if "train" not in splits:
        splits = {"train": [entry for entries in splits.values() for entry in entries]}
    width = max(entry["width"] for entry in splits["train"])
    width = width if width > 0 else _RAGGED
    return Subject(home, dict(sorted(splits.items())), width, 0, None, column or "", tuple(problems))


def open_tokenizer(subject: Subject, given: Path | None, choices: Choices, *, checked: bool = False) -> Tokenizer:
    """Return the tokenizer of a build, or for shards without a manifest the one given.

    Args:
        subject: what is audited.
        given: a tokenizer file.
        choices: how that is to be read.
        checked: the tokenizer of the build is our own.

    Raises:
        MrprepError: it cannot be opened, or there is none.
    """
    if subject.build is not None:
        return tokenizer_of(subject.build, checked=checked)
    if given is None:
        raise MrprepError(
            f"{printable(str(subject.path))} has no manifest of mrprep: name its tokenizer with --tokenizer"
        )
    return family.open_tokenizer(given, choices)


def _split(file: Path, home: Path) -> str:
    words = str(file.relative_to(home)).lower().replace("-", "/").replace("_", "/").replace(".", "/").split("/")
    return "valid" if any(word in _HELD_BACK for word in words) else "train"


def _column(file: Path, columns: Mapping[str, Any], wanted: str | None) -> str:
    name = wanted or ("input_ids" if "input_ids" in columns else next(iter(columns), "") if len(columns) == 1 else "")
    if name in columns:
        return name
    held = ", ".join(printable(column) for column in columns) or "none"
    lack = f"has no column {printable(wanted)}" if wanted else "does not say which column holds the ids"
    raise MrprepError(f"{printable(str(file))} {lack}: name one with --column (columns of integers: {held})")
