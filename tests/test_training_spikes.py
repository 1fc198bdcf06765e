"""What is far out, by hand. No MindSpore."""

import math

import numpy as np
import pytest

from mrprep.training.incident import worst
from mrprep.training.spikes import DEVIATIONS, NO_LIMITS, PEAK_FACTOR, WINDOW, Recent, Seen, stretch

CALM = Seen(5.0, 1.0, 5.5)


def test_nothing_is_far_out_before_twenty_steps():
    recent = Recent([CALM] * 19)
    assert recent.limits() == NO_LIMITS
    recent.add(CALM)
    assert max(recent.limits()) < 10


def test_limits_by_hand():
    """Losses 1..21: median 11, median absolute deviation 5; norms e^1..e^21 alike by their logarithm."""
    recent = Recent(Seen(float(k), math.exp(k), float(2 * k)) for k in range(1, 22))
    loss, norm, peak = recent.limits()
    assert loss == pytest.approx(11 + DEVIATIONS * 1.4826 * 5)
    assert math.log(norm) == pytest.approx(11 + 2 * DEVIATIONS * 1.4826 * 5)
    assert peak == pytest.approx(11 + PEAK_FACTOR * (40 - 11))


def test_a_calm_run_has_floors():
    assert Recent([Seen(2.0, 0.5, 2.1)] * 30).limits() == pytest.approx((2.15, 4.5, 3.0))


def test_a_norm_of_three_times_the_usual_with_an_ordinary_loss_is_no_incident():
    """What a tester saw: 2.048 among norms around 0.67, loss and peak far below their limits."""
    limits = Recent([Seen(6.0, 0.671, 6.4)] * 64).limits()
    seen = Seen(6.02, 2.048, 6.5)
    assert all(value < limit for value, limit in zip(seen, limits, strict=True))
    assert limits.norm < 0.671 * 10


def test_a_few_wild_values_do_not_move_the_limits_and_old_ones_go():
    calm = [Seen(2.0 + 0.01 * (k % 5), 1.0 + 0.01 * (k % 7), 4.0 + 0.1 * (k % 9)) for k in range(WINDOW)]
    wild = Seen(900.0, 900.0, 900.0)
    limits = Recent(calm).limits()
    assert Recent([*calm[:-1], wild]).limits() == pytest.approx(limits, rel=0.05)
    assert Recent([wild] * 50 + calm).limits() == limits


def test_what_a_checkpoint_holds_gives_the_same_limits():
    recent = Recent(Seen(3 + 1 / (k + 1), 1 + 1 / (k + 2), 4 + 1 / (k + 3)) for k in range(100))
    assert len(recent.seen()) == WINDOW
    assert Recent(recent.seen()).limits() == recent.limits()


@pytest.mark.parametrize(("seq", "width"), [(2048, 128), (512, 128), (128, 128), (96, 96), (1000, 200), (257, 257)])
def test_a_row_is_cut_into_stretches_that_divide_it(seq, width):
    assert stretch(seq) == width


def test_the_text_that_is_shown_begins_where_the_loss_is_worst():
    losses = np.full(500, 3.0, np.float32)
    assert worst(losses[:127]) == 0
    losses[300:364] = 9
    assert worst(losses) == 300
    losses[40] = np.nan
    assert 0 <= worst(losses) <= 40
