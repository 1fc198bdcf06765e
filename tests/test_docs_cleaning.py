"""docs/cleaning.md lists every rule of clean and filter with its default, and no other."""

import re
from pathlib import Path

from mrprep.stages.clean import Options as CleanOptions
from mrprep.stages.filter import Options as FilterOptions

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "cleaning.md").read_text("utf-8")


def rows(title: str) -> dict[str, str]:
    """Return the first and second cell of each row under a heading whose first cell is a name."""
    section = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `(\w+)` \| ([^|]+?) \|", section, re.MULTILINE))


def test_every_rule_of_clean_is_there() -> None:
    shown = {
        name: {True: "on", False: "off"}.get(value, f"`{value}`") for name, value in CleanOptions().model_dump().items()
    }
    assert rows("Clean") == shown


def test_every_threshold_of_filter_is_there() -> None:
    shown = {name: f"{value:g}" if value != () else "all" for name, value in FilterOptions().model_dump().items()}
    assert rows("Filter") == shown
