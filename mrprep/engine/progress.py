"""A bar with a rate and the time left for whatever takes over two seconds; quiet when not a terminal."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any


def bar(total: int, label: str, unit: str = "B") -> Any:
    """Return a tqdm bar on stderr that appears after a second, and only on a terminal."""
    from tqdm import tqdm

    return tqdm(
        total=total,
        desc=label,
        unit=unit,
        unit_scale=True,
        unit_divisor=1024,
        disable=None,
        delay=1,
        leave=False,
        dynamic_ncols=True,
    )


def track(done: Iterable[int], weights: Sequence[int], label: str, already: Iterable[int], unit: str) -> Iterator[int]:
    """Pass on the indices in ``done``, moving a bar over the sum of ``weights`` by each index's weight."""
    with bar(sum(weights), label, unit) as shown:
        shown.update(sum(weights[i] for i in already))
        for index in done:
            shown.update(weights[index])
            yield index
