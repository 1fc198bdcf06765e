"""What is far out, by hand. No MindSpore."""

import math

import pytest

from mrprep.training.spikes import DEVIATIONS, WINDOW, Recent


def test_nothing_is_far_out_before_twenty_steps():
    recent = Recent([(5.0, 1.0)] * 19)
    assert recent.limits() == (math.inf, math.inf)
    recent.add(5.0, 1.0)
    assert max(recent.limits()) < 10


def test_limits_by_hand():
    """Losses 1..21: median 11, median absolute deviation 5; norms e^1..e^21 alike by their logarithm."""
    recent = Recent((float(k), math.exp(k)) for k in range(1, 22))
    loss, norm = recent.limits()
    assert loss == pytest.approx(11 + DEVIATIONS * 1.4826 * 5)
    assert math.log(norm) == pytest.approx(11 + DEVIATIONS * 1.4826 * 5)


def test_a_calm_run_has_floors():
    loss, norm = Recent([(2.0, 0.5)] * 30).limits()
    assert (loss, norm) == pytest.approx((2.15, 1.5))


def test_one_wild_value_does_not_move_the_limits_and_old_ones_go():
    calm = [(2.0 + 0.01 * (k % 5), 1.0 + 0.01 * (k % 7)) for k in range(WINDOW)]
    limits = Recent(calm).limits()
    assert Recent([*calm[:-1], (900.0, 900.0)]).limits() == pytest.approx(limits, rel=0.02)
    assert Recent([(900.0, 900.0)] * 50 + calm).limits() == limits


def test_what_a_checkpoint_holds_gives_the_same_limits():
    recent = Recent((3 + 1 / (k + 1), 1 + 1 / (k + 2)) for k in range(100))
    assert len(recent.pairs()) == WINDOW
    assert Recent(recent.pairs()).limits() == recent.limits()
