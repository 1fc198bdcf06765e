"""Gradient norms of the layers over the steps, where the run kept them (``--layer-norms``)."""

import math
import re
from collections.abc import Iterator, Mapping

from mrprep.pages.chart import Caption
from mrprep.pages.heat import heat_map
from mrprep.pages.html import Html
from mrprep.report.state import Run

_COLUMNS = 12
"""Steps shown, evenly picked."""
_LAYER = re.compile(r"layers\.(\d+)\.")


def layers(run: Run) -> Iterator[Html]:
    """Yield a heat map of layers by steps, if there is one."""
    if not run.layers:
        return
    picked = run.layers[:: math.ceil(len(run.layers) / _COLUMNS)]
    by_step = [by_layer(line["norms"]) for line in picked]
    names = list(by_step[0])
    told = "Of the gradient, before clipping; a layer that stays empty does not learn, one that fills up blows up."
    yield heat_map(
        Caption("Gradient norm of each layer", told, x="step", y="layer"),
        names,
        [f"{line['step']:,}" for line in picked],
        [[norms[name] for norms in by_step] for name in names],
    )


def by_layer(norms: Mapping[str, float | None]) -> dict[str, float | None]:
    """Return the norm of each layer, and of each weight outside of one, from those of the weights."""
    squares: dict[str, float] = {}
    for name, norm in norms.items():
        layer = _LAYER.search(name)
        of = f"layer {layer[1]}" if layer else name.removeprefix("model.").removesuffix(".weight")
        squares[of] = squares.get(of, 0.0) + (math.nan if norm is None else norm**2)
    return {of: None if math.isnan(square) else math.sqrt(square) for of, square in squares.items()}
