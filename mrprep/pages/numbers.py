"""Numbers as a reader takes them in: 1,234 and 12.3k, 41 s and 2 h 05 min, and round marks for axes."""

import math
from collections.abc import Sequence

_SHORT = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_DECIMALS = 12


def short(value: float) -> str:
    """Return a number in three digits or so: 0.00123, 12.3, 1,234, 12.3k, 4.56M; "–" if it is not finite."""
    if not math.isfinite(value):
        return "–"
    if abs(value) < 10_000:
        return f"{round(value):,}" if value == round(value) or abs(value) >= 1000 else f"{value:.3g}"
    factor, unit = next(pair for pair in _SHORT if abs(value) >= 0.9995 * pair[0])
    return f"{value / factor:.3g}{unit}" if abs(value) < 999.5e12 else f"{value:.2e}"


def apart(values: Sequence[float]) -> list[str]:
    """Return different numbers as short texts that are not the same: 10.41 and 10.42, where three digits say 10.4."""
    told, decimals = [short(value) for value in values], 0
    while len(set(told)) < len(set(values)) and decimals < _DECIMALS:
        told, decimals = [f"{value:,.{decimals}f}" for value in values], decimals + 1
    return told


def percent(share: float) -> str:
    """Return a share in per cent: 0.04 %, 1.3 %, 62 %, "under 0.01 %"."""
    value = 100 * share
    if 0 < abs(value) < 0.01:
        return "under 0.01 %"
    if abs(value) >= 10 or value == 0:
        return f"{value:.0f} %"
    return f"{value:.1f} %" if abs(value) >= 1 else f"{value:.2g} %"


def duration(seconds: float) -> str:
    """Return a time in its two largest units: 0.4 s, 41 s, 3 min 05 s, 2 h 05 min, 3 d 4 h."""
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 9.95 else f"{seconds:.0f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    minutes = round(seconds / 60)
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    return f"{minutes // 1440} d {minutes % 1440 // 60} h"


def size(count: float) -> str:
    """Return bytes in binary units: 512 B, 3.4 MiB."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1000:
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:.3g} TiB"


def ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Return multiples of 1, 2 or 5 times a power of ten within [low, high]: ``wanted`` of them or a few less."""
    rough = (high - low) / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * 0.999)
    return [k * step for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Return powers of ten within [low, high]; with 2 and 5 times them, or round numbers, where these are few."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    every = max(1, round((last - first) / 6))
    powers = [10.0**k for k in range(first, last + 1)]
    fine = [m * p for p in powers for m in (1, 2, 5)] if last - first <= 3 else powers[::every]
    within = [mark for mark in fine if low * 0.999999 <= mark <= high * 1.000001]
    return within if len(within) >= 3 else [mark for mark in ticks(low, high) if mark > 0]
