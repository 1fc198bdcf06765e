"""Mixed precision, loss scale, recomputing, and how ZeRO shares out. MindSpore in process."""

import numpy as np
import pytest

from mrprep.training.config import ModelConfig

pytestmark = pytest.mark.mindspore

VOCAB, SEQ = 23, 12
CONFIG = ModelConfig(
    vocab_size=VOCAB,
    hidden_size=16,
    intermediate_size=20,
    num_hidden_layers=1,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=SEQ,
    initializer_range=0.3,
)
ROWS = np.random.default_rng(4).integers(1, VOCAB, (4, SEQ + 1)).astype(np.int32)


@pytest.fixture(scope="module")
def ms():
    import mindspore

    mindspore.set_device("CPU")
    return mindspore


def _parts(level="O0", scale=65536.0, window=2000, recompute=False, accumulate=1, config=CONFIG):
    from mrprep.training import precision
    from mrprep.training.data import splitter
    from mrprep.training.model import Llama
    from mrprep.training.optimizer import AdamW, AdamWOptions
    from mrprep.training.step import TrainStep

    kind, _ = precision.choose(level)
    model = Llama(config, SEQ, 3, precision=kind, recompute=recompute)
    scaler = precision.loss_scale(kind, scale, window)
    optimizer = AdamW(model.trainable_params(), AdamWOptions())
    split = splitter("flat", 0, 2)
    step = TrainStep(model, optimizer, split, ranks=1, accumulate=accumulate, clip=1.0, scaler=scaler)
    return model, optimizer, step


def _weights(model):
    return {p.name: p.asnumpy().copy() for p in model.trainable_params()}


def _losses(ms, step, count):
    return [step([(ms.Tensor(ROWS),)], 3e-3).loss for _ in range(count)]


@pytest.fixture(scope="module")
def plain(ms):
    return _losses(ms, _parts()[2], 10)


@pytest.mark.parametrize("level", ["O1", "O2", "O3"])
def test_float16_trains_as_float32_does_on_float32_weights(ms, plain, level):
    model, optimizer, step = _parts(level)
    losses = _losses(ms, step, 10)
    assert losses != plain
    assert np.abs(np.subtract(losses, plain)).max() < 0.02
    assert plain[-1] < plain[0] - 0.3
    assert {p.dtype for p in (*model.trainable_params(), *optimizer.first, *optimizer.second)} == {ms.float32}
    assert model(ms.Tensor(ROWS[:, :-1])).dtype == ms.float32


def test_levels_by_type(ms):
    from mrprep.training.precision import Precision

    half = [Precision(level, ms.float16) for level in ("O1", "O2", "O3")]
    assert [p.products for p in half] == [ms.float16] * 3
    assert [p.stream for p in half] == [ms.float32, ms.float16, ms.float16]
    assert [p.norms for p in half] == [ms.float32, ms.float32, ms.float16]
    assert [p.scaled for p in (half[0], Precision(), Precision("O2", ms.bfloat16))] == [True, False, False]


def test_what_is_chosen_is_asked_of_the_device(ms, monkeypatch):
    """The CPU multiplies no bfloat16."""
    from mrprep.training import device, precision

    assert not device.has_bfloat16()
    assert precision.choose("auto") == (precision.FULL, "precision: float32 (O0), as the device has no bfloat16")
    chosen, sentence = precision.choose("O1")
    assert (chosen.half, "the device has no bfloat16" in sentence) == (ms.float16, True)
    monkeypatch.setattr(device, "has_bfloat16", lambda: True)
    assert precision.choose("auto")[0] == precision.Precision("O2", ms.bfloat16)
    assert precision.choose("O3")[0] == precision.Precision("O3", ms.bfloat16)
    assert precision.choose("O0")[0] == precision.FULL


def test_an_overflow_skips_the_step_and_halves_the_scale_until_it_passes_and_it_grows_again(ms):
    """2^26 / 32 targets: gradients of the logits leave float16. Two micro-batches a step."""
    model, optimizer, step = _parts("O2", scale=2.0**26, window=3, accumulate=2)
    halves = [(ms.Tensor(part),) for part in np.split(ROWS, 2)]
    before, scale = _weights(model), 2.0**26
    outcome = step(halves, 1e-3)
    while outcome.overflow:
        assert (outcome.loss_scale, outcome.skipped) == (scale, True)
        assert all((_weights(model)[name] == value).all() for name, value in before.items())
        assert optimizer.step.asnumpy() == 0
        scale /= 2
        outcome = step(halves, 1e-3)
    assert (outcome.loss_scale, outcome.skipped) == (scale, False)
    assert 2.0**16 <= scale < 2.0**26
    assert any((_weights(model)[name] != value).any() for name, value in before.items())
    rest = [step(halves, 1e-3).loss_scale for _ in range(3)]
    assert rest == [scale, scale, 2 * scale]


def test_a_step_that_is_far_out_is_no_overflow(ms):
    from mrprep.training.spikes import Limits

    _, _, step = _parts("O1")
    outcome = step([(ms.Tensor(ROWS),)], 1e-3, Limits(np.inf, 1e-9, np.inf))
    assert (outcome.skipped, outcome.overflow) == (True, False)
    assert step([(ms.Tensor(ROWS),)], 1e-3).loss_scale == 65536.0


def test_recomputing_changes_no_loss(ms, plain):
    assert _losses(ms, _parts(recompute=True)[2], 10) == pytest.approx(plain, abs=1e-6)


def test_stretches_hold_each_weight_once_in_pieces_of_one_size():
    from mrprep.training.zero import Stretch, stretches

    assert stretches([10, 3, 7, 5], [0.1, 0.0, 0.1, 0.0], 2) == [
        Stretch((0, 2), 17, 9, 0.1),
        Stretch((1, 3), 8, 4, 0.0),
    ]
    large = stretches([3 << 20, 3 << 20], [0.1, 0.1], 4)
    assert [(s.members, s.width) for s in large] == [((0,), 3 << 18), ((1,), 3 << 18)]


def test_the_scale_is_of_the_mean():
    from mrprep.training.scaling import power_of_two

    assert [power_of_two(n) for n in (1, 2, 3, 64, 65)] == [1, 2, 4, 64, 128]


@pytest.mark.parametrize("accumulate", [1, 2])
def test_a_step_is_compiled_once(ms, accumulate):
    """Whatever learning rate, limits and wishes are; with accumulation there are two functions."""
    _compiled_once(ms, CONFIG, accumulate)


@pytest.mark.slow
def test_a_step_of_24_layers_is_compiled_once(ms):
    ms.set_recursion_limit(20000)
    _compiled_once(ms, CONFIG.model_copy(update={"num_hidden_layers": 24}), 1)


def _compiled_once(ms, config, accumulate):
    from mindspore.graph import api

    from mrprep.training.spikes import Limits

    before = len(api.ms_compile_cache)
    _, _, step = _parts(config=config, accumulate=accumulate)
    for k, limits in enumerate((Limits(np.inf, np.inf, np.inf), Limits(9.0, 9.0, 9.0), Limits(0.1, 0.1, 0.1))):
        step([(ms.Tensor(ROWS),)] * accumulate, 1e-3 * (k + 1), limits, stop=k == 2)
        assert len(api.ms_compile_cache) == before + accumulate
