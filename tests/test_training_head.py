"""The sliced output layer against logits written out in NumPy, float64. MindSpore in process."""

import numpy as np
import pytest

from mrprep.training.precision import FULL, Precision

pytestmark = pytest.mark.mindspore

ROWS, WIDTH, VOCAB = 11, 6, 40


@pytest.fixture(scope="module")
def ms():
    import mindspore

    mindspore.set_device("CPU")
    return mindspore


def _slow(hidden, table, labels, mask, factor, z_loss):
    """Return what is differentiated, the losses, and both gradients, from all logits at once."""
    logits = hidden @ table.T
    exponentials = np.exp(logits)
    denominators = exponentials.sum(1)
    losses = np.log(denominators) - logits[np.arange(ROWS), labels]
    softmax = exponentials / denominators[:, None]
    pull = softmax - np.eye(VOCAB)[labels] + 2 * z_loss * np.log(denominators)[:, None] * softmax
    pull *= (mask * factor)[:, None]
    aim = (factor * mask * (losses + z_loss * np.log(denominators) ** 2)).sum()
    return aim, losses * mask, pull @ table, pull.T @ hidden


@pytest.mark.parametrize("logits", [1, 3 * VOCAB, 1 << 20], ids=["a row", "uneven", "whole"])
@pytest.mark.parametrize("z_loss", [0.0, 0.01])
def test_losses_and_gradients_are_those_of_the_whole_logits(ms, logits, z_loss):
    from mrprep.training.head import LinearCrossEntropy, slice_rows

    chance = np.random.default_rng(5)
    hidden, table = chance.standard_normal((ROWS, WIDTH)), chance.standard_normal((VOCAB, WIDTH))
    labels, mask = chance.integers(0, VOCAB, ROWS), (chance.random(ROWS) < 0.7).astype(float)
    labels[3] = labels[4]
    cell = LinearCrossEntropy(FULL, z_loss, logits)
    fixed = (ms.Tensor(labels, ms.int32), ms.Tensor(mask, ms.float32), ms.Tensor(8.0, ms.float32))

    def aim(hidden, table):
        return cell(hidden, table, *fixed)[:2]

    differentiate = ms.value_and_grad(aim, (0, 1), has_aux=True)
    (total, losses), gradients = differentiate(ms.Tensor(hidden, ms.float32), ms.Tensor(table, ms.float32))
    expected = _slow(hidden, table, labels, mask, 8.0, z_loss)
    assert float(total.asnumpy()) == pytest.approx(expected[0], rel=1e-6)
    for got, want in zip((losses, *gradients), expected[1:], strict=True):
        assert np.abs(got.asnumpy() - want).max() < 1e-5 * np.abs(want).max()  # its softmax errs by 8e-6
    assert slice_rows(ROWS, VOCAB, logits) == {1: 1, 3 * VOCAB: 3, 1 << 20: ROWS}[logits]


def test_half_products_keep_small_probabilities(ms):
    """1e-6 of a probability, times a factor of 1,024, is more than float16's least number."""
    from mrprep.training.head import LinearCrossEntropy

    hidden, table = np.zeros((1, 2)), np.zeros((3, 2))
    hidden[0, 0], table[0, 0], table[:, 1] = 1.0, 13.8155, [1.0, 2.0, 4.0]
    cell = LinearCrossEntropy(Precision("O2", ms.float16), 0.0, 1 << 20)
    fixed = (ms.Tensor([0], ms.int32), ms.Tensor([1.0], ms.float32), ms.Tensor(1024.0, ms.float32))

    def aim(hidden):
        return cell(hidden, ms.Tensor(table, ms.float32), *fixed)[0]

    gradient = ms.grad(aim)(ms.Tensor(hidden, ms.float16)).asnumpy()
    assert gradient[0, 1] / 1024 == pytest.approx(1e-6 * (2 + 4 - 2), rel=0.5)


def test_the_slices_are_not_too_many():
    from mrprep.training.head import MOST_SLICES, slice_rows

    assert slice_rows(2048, 8000, 2 << 20) == 256
    assert -(-8192 // slice_rows(8192, 152_064, 2 << 20)) == MOST_SLICES
