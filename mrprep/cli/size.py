"""Sizes as people write them."""

import re

from mrprep.errors import UsageError

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}


def parse_size(text: str | None, option: str) -> int | None:
    """Return the bytes that ``64MB``, ``64MiB``, ``1.5G``, ``1TB``, ``4096`` or ``1e9`` stand for; None for None.

    Args:
        text: as the user wrote it.
        option: that it was given to, for the message.

    Raises:
        UsageError: it is no size.
    """
    if text is None:
        return None
    match = re.fullmatch(r"(\d{1,15}(?:\.\d+)?(?:E\d{1,2})?)\s*([KMGT]I?)?B?", text.strip().upper())
    size = int(float(match[1]) * _UNITS[match[2] or ""]) if match else 0
    if not size:
        raise UsageError(f"{option} {text!r} is no size above 0: write it like 64MB, 64MiB, 1.5G, 1TB or 1e9")
    return size


def parse_count(text: str | None, option: str) -> float:
    """Return the number that ``300B``, ``1.5T`` or ``20000`` stand for: k, M, B and T are powers of a thousand.

    Args:
        text: as the user wrote it.
        option: that it was given to, for the message.

    Raises:
        UsageError: it is no number.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMBGT]?)", (text or "").strip().upper())
    if not match or float(match[1]) <= 0:
        raise UsageError(f"{option} {text!r} is no number above 0: write it like 300B, 1.5T or 20000")
    return float(match[1]) * {"": 1.0, "K": 1e3, "M": 1e6, "B": 1e9, "G": 1e9, "T": 1e12}[match[2]]
