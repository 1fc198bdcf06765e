"""A fingerprint says what decided the bytes of a phase, so that work is reused only where it still holds."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

Settings = Mapping[str, Any]


def fingerprint(before: str, name: str, settings: Settings) -> str:
    """Return the SHA-256 (hex) of a phase's name, its settings, and the fingerprint of the phase before it."""
    text = json.dumps([before, name, settings], sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def changes(old: Settings, new: Settings, prefix: str = "") -> Iterator[str]:
    """Yield ``key: old -> new`` for each setting that differs, nested mappings by dotted key."""
    for key in sorted(old.keys() | new.keys()):
        was, now = old.get(key), new.get(key)
        if isinstance(was, Mapping) and isinstance(now, Mapping):
            yield from changes(was, now, f"{prefix}{key}.")
        elif was != now:
            yield f"{prefix}{key}: {_short(was)} -> {_short(now)}"


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "…"
