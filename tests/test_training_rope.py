"""Rotary positions against what transformers 5.24 computes, and by hand. No MindSpore."""

import numpy as np
import pytest
from pydantic import TypeAdapter

from mrprep.training import rope

PLAIN = [1.0, 0.4598633, 0.2114742, 0.09724925, 0.04472136, 0.02056571, 0.009457416, 0.004349119]
OLD = {"original_max_position_embeddings": 64}


@pytest.mark.parametrize(
    ("scaling", "rates", "magnitude"),
    [
        ({"rope_type": "linear", "factor": 4.0}, [x / 4 for x in PLAIN], 1.0),
        ({"rope_type": "dynamic", "factor": 2.0}, PLAIN, 1.0),
        (
            {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, **OLD},
            [1.0, 0.4598633, 0.09761663, 0.01215616, 0.00559017, 0.002570714, 0.001182177, 0.0005436398],
            1.0,
        ),
        (
            {"rope_type": "yarn", "factor": 4.0, **OLD},
            [1.0, 0.3448974, 0.1057371, 0.02431231, 0.01118034, 0.005141428, 0.002364354, 0.00108728],
            1.138629436111989,
        ),
        (
            {
                "rope_type": "yarn", "factor": 40.0, "mscale": 0.7, "mscale_all_dim": 1.4, "truncate": False,
                "beta_fast": 16, **OLD,
            },
            [1.0, 0.3097978, 0.07345501, 0.002431231, 0.001118034, 0.0005141428, 0.0002364354, 0.000108728],
            0.8297189272888398,
        ),
        ({"rope_type": "yarn", "factor": 4.0, "attention_factor": 1.5, **OLD}, None, 1.5),
    ],
)  # fmt: skip
def test_rates_are_those_of_transformers(scaling, rates, magnitude):
    """Theta 500, heads of 16: from ``ROPE_INIT_FUNCTIONS`` of transformers 5.24, seven digits."""
    read = TypeAdapter(rope.RopeScaling).validate_python(scaling)
    if rates:
        plain = 500.0 ** (-np.arange(8) / 8)
        assert read.scaled(plain, 500.0) == pytest.approx(rates, rel=1e-6)
    assert read.magnitude == pytest.approx(magnitude)


def test_tables_by_hand():
    cos, sin = rope.tables(100.0, 4, np.array([0, 3]), None)
    assert np.allclose(cos, [[1, 1], [np.cos(3), np.cos(0.3)]])
    assert np.allclose(sin, [[0, 0], [np.sin(3), np.sin(0.3)]])
    halved = rope.tables(100.0, 4, np.array([6]), rope.LinearRope(rope_type="linear", factor=2))
    assert np.allclose(halved, rope.tables(100.0, 4, np.array([3]), None))
