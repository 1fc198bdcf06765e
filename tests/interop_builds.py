"""A small build for the tests of interop: known sentences, some twice, made through the library itself."""

from pathlib import Path

import numpy as np

import mrprep

WORDS = ["market", "dawn", "river", "paper", "lamp", "stone", "bread", "north", "清晨", "市场", "河流", "纸张", "灯火"]


def texts(count: int) -> list[str]:
    """Return texts of 20 to 120 words, none like another."""
    draw = np.random.default_rng(7)
    return [" ".join(draw.choice(WORDS, draw.integers(20, 120))) + f" {number}." for number in range(count)]


def small_build(folder: Path, *, layout: str = "flat", packing: str = "concat", seq: int = 32) -> mrprep.OpenBuild:
    """Build 120 documents and 10 copies of them."""
    known = texts(120)
    source = folder / "source"
    source.mkdir(parents=True)
    for name, some in (("a.txt", known), ("b.txt", known[:10])):
        (source / name).write_text("\n\n".join(some), "utf-8")
    options = {
        "seed": 3,
        "input": {"documents": "blank-line"},
        "stages": ["dedupe", "tokenize", "pack", "shard"],
        "pack": {"seq": seq, "layout": layout, "packing": packing},
        "tokenize": {"vocab_size": 400},
        "shard": {"valid": 0.1, "shards": 3},
    }
    return mrprep.build(source, folder / "out", options=options, jobs=1)
