"""Several texts in one file: each begins with a line ``=== name``."""

import re
from pathlib import Path

TEXT = Path(__file__).resolve().parent / "text"
_HEADING = re.compile(r"^=== (.+)\n", re.MULTILINE)


def read_bundle(name: str) -> dict[str, str]:
    """Return the texts of ``text/<name>.txt`` by name, in their order, each without its last line end."""
    parts = _HEADING.split((TEXT / f"{name}.txt").read_text(encoding="utf-8"))
    return {title: text.rstrip("\n") for title, text in zip(parts[1::2], parts[2::2], strict=True)}
