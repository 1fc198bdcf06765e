"""Model, AdamW and step against slow and obvious NumPy; rows a step against ``order.rows``. MindSpore in process."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from slow_llama import slow_logits
from training_build import write_build

from mrprep import order
from mrprep.training.config import ModelConfig
from mrprep.training.mixture import read_mixture

pytestmark = pytest.mark.mindspore

VOCAB, SEQ = 23, 12
PAD, EOD = 0, 2


@pytest.fixture(scope="module")
def ms():
    import mindspore

    mindspore.set_device("CPU")
    return mindspore


def _config(tied: bool = False, layers: int = 1, **family) -> ModelConfig:
    return ModelConfig(
        vocab_size=VOCAB,
        hidden_size=16,
        intermediate_size=20,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=SEQ,
        tie_word_embeddings=tied,
        initializer_range=0.3,
        **family,
    )


def _weights(model):
    return {p.name: p.asnumpy().astype(np.float64) for p in model.trainable_params()}


def _model(ms, config=None):
    """A model whose norms are not all 1, nor biases 0, so that the test sees them."""
    from mrprep.training.model import Llama

    model = Llama(config or _config(), SEQ, seed=3)
    noise = np.random.default_rng(9)
    for p in model.trainable_params():
        if p.ndim == 1:
            p.set_data(ms.Tensor((p.asnumpy() + 0.3 * noise.standard_normal(p.shape)).astype(np.float32)))
    return model


@pytest.mark.parametrize(
    "family",
    [{}, {"tied": True}, {"model_type": "qwen2"}, {"model_type": "qwen3", "head_dim": 6}, {"attention_bias": True}],
)
def test_logits_equal_the_slow_forward(ms, family):
    config = _config(layers=2, **family)
    model = _model(ms, config)
    ids = np.random.default_rng(0).integers(0, VOCAB, (2, SEQ)).astype(np.int32)
    logits = model(ms.Tensor(ids)).asnumpy().reshape(2, SEQ, VOCAB)
    for row in range(2):
        assert np.abs(logits[row] - slow_logits(config, _weights(model), ids[row])).max() < 2e-5
    assert sum(p.size for p in model.trainable_params()) == config.parameter_count


def test_new_weights_depend_on_seed_and_name_alone(ms):
    from mrprep.training.model import Llama

    one, same, other = (_weights(Llama(_config(True), SEQ, seed)) for seed in (1, 1, 2))
    deeper = _weights(Llama(_config(True).model_copy(update={"num_hidden_layers": 2}), SEQ, 1))
    assert all((one[name] == same[name]).all() and (one[name] == deeper[name]).all() for name in one)
    name = "model.layers.0.mlp.up_proj.weight"
    assert (one[name] != other[name]).all()
    assert abs(one[name].std() / 0.3 - 1) < 0.15


def test_adamw_equals_torch_s_algorithm(ms):
    """torch.optim.AdamW step by step in float64: decay, moments, bias correction, eps after the root."""
    from mrprep.training.optimizer import AdamW, AdamWOptions

    noise = np.random.default_rng(0)
    start = [noise.standard_normal((4, 3)).astype(np.float32), noise.standard_normal(5).astype(np.float32)]
    parameters = [ms.Parameter(ms.Tensor(x), name=f"p{k}") for k, x in enumerate(start)]
    optimizer = AdamW(parameters, AdamWOptions(beta1=0.9, beta2=0.95, eps=1e-4, weight_decay=0.1))
    expected = [x.astype(np.float64) for x in start]
    first, second = [np.zeros_like(x) for x in expected], [np.zeros_like(x) for x in expected]
    for step in range(1, 21):
        lr = 1e-2 / step
        gradients = [(noise.standard_normal(x.shape) * 10.0 ** -noise.integers(0, 5)).astype(np.float32) for x in start]
        optimizer(tuple(ms.Tensor(g) for g in gradients), ms.Tensor(lr, ms.float32))
        for k, g in enumerate(gradients):
            expected[k] *= 1 - lr * (0.1 if g.ndim > 1 else 0.0)
            first[k] = 0.9 * first[k] + 0.1 * g
            second[k] = 0.95 * second[k] + 0.05 * g.astype(np.float64) ** 2
            root = np.sqrt(second[k] / (1 - 0.95**step)) + 1e-4
            expected[k] -= lr * first[k] / (1 - 0.9**step) / root
    for parameter, value in zip(parameters, expected, strict=True):
        assert np.abs(parameter.asnumpy() - value).max() < 1e-6


def _step(ms, model, *, accumulate=1, clip=1e9, decay=0.0, z_loss=0.0):
    from mrprep.training.data import splitter
    from mrprep.training.optimizer import AdamW, AdamWOptions
    from mrprep.training.step import TrainStep

    optimizer = AdamW(model.trainable_params(), AdamWOptions(weight_decay=decay))
    return TrainStep(
        model, optimizer, splitter("flat", PAD, EOD), ranks=1, accumulate=accumulate, clip=clip, z_loss=z_loss
    )


def _rows():
    rows = np.random.default_rng(4).integers(1, VOCAB, (4, SEQ + 1)).astype(np.int32)
    rows[1, 5:] = PAD
    rows[3, 12:] = PAD
    return rows


def test_padding_is_no_target_and_splitting_a_batch_changes_nothing(ms):
    rows = _rows()
    whole, halves = _model(ms), _model(ms)
    before = _weights(whole)
    one = _step(ms, whole)([(ms.Tensor(rows),)], 1e-2)
    two = _step(ms, halves, accumulate=2)([(ms.Tensor(rows[:2]),), (ms.Tensor(rows[2:]),)], 1e-2)

    losses, ends = [], [0]
    for row in rows:
        logits = slow_logits(_config(), before, row[:-1])
        picked = logits[np.arange(SEQ), row[1:]] - np.log(np.exp(logits).sum(-1))
        losses.extend(-picked[row[1:] != PAD])
        ends.append(len(losses))
    assert one.tokens == two.tokens == len(losses) == (rows[:, 1:] != PAD).sum()
    assert one.loss == pytest.approx(np.mean(losses), abs=1e-5)
    assert one.peak == pytest.approx(max(sum(losses[a:b]) / SEQ for a, b in pairwise(ends)), abs=1e-5)
    assert (two.loss, two.peak) == pytest.approx((one.loss, one.peak), abs=1e-6)
    assert two.norm == pytest.approx(one.norm, rel=1e-5)
    assert two.norms == pytest.approx(one.norms, rel=1e-4)
    assert sum(norm**2 for norm in one.norms) == pytest.approx(one.norm**2, rel=1e-5)
    for name, value in _weights(halves).items():
        assert np.abs(value - _weights(whole)[name]).max() < 1e-5, name


def test_rows_filled_up_with_eod_for_want_of_a_pad_id(ms):
    from mrprep.training.data import splitter

    rows = np.array([[5, 6, EOD, 7, EOD, EOD, EOD], [EOD, 5, EOD, 6, 7, 8, EOD]], np.int32)
    mask = splitter("flat", None, EOD)(ms.Tensor(rows))[2].asnumpy()
    assert mask.tolist() == [[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]]


def test_rows_cut_short_are_trained_on_as_rows_of_their_own(ms):
    """12 targets a row cut into 3 times 4: the loss is that of twelve rows of five ids."""
    from mrprep.training.data import splitter
    from mrprep.training.model import Llama
    from mrprep.training.optimizer import AdamW, AdamWOptions
    from mrprep.training.step import TrainStep

    outcomes = []
    pieces = np.concatenate([_rows()[:, at : at + 5] for at in (0, 4, 8)])
    for rows, seq in ((_rows(), 4), (pieces, None)):
        model = Llama(_config(), 4, seed=3)
        optimizer = AdamW(model.trainable_params(), AdamWOptions(weight_decay=0.0))
        split = splitter("flat", PAD, EOD, seq)
        outcomes.append(TrainStep(model, optimizer, split, ranks=1, accumulate=1, clip=1.0)([(ms.Tensor(rows),)], 0.0))
    assert outcomes[0].tokens == outcomes[1].tokens
    assert outcomes[0].loss == pytest.approx(outcomes[1].loss, abs=1e-6)
    assert outcomes[0].norm == pytest.approx(outcomes[1].norm, rel=1e-5)


def test_a_step_at_its_limit_changes_no_weight_and_the_wish_to_stop_is_heard(ms):
    model = _model(ms)
    step, rows = _step(ms, model, decay=0.1), [(ms.Tensor(_rows()),)]
    free = step(rows, 0.0)
    before = _weights(model)
    for limits in ((free.loss, np.inf, np.inf), (np.inf, free.norm, np.inf), (np.inf, np.inf, free.peak)):
        outcome = step(rows, 1e-2, limits, stop=True)
        assert (outcome.skipped, outcome.stop, outcome.loss) == (True, True, free.loss)
    assert all((_weights(model)[name] == value).all() for name, value in before.items())
    outcome = step(rows, 1e-2, (free.loss * 1.001, free.norm * 1.001, free.peak * 1.001))
    assert (outcome.skipped, outcome.stop) == (False, False)
    assert any((_weights(model)[name] != value).any() for name, value in before.items())


def test_z_loss_pulls_the_softmax_s_denominator_towards_one_and_is_not_in_the_loss(ms):
    """One step of the plain and of the z-loss objective: the second lowers log(Z)^2 more."""

    def log_z_squared(model):
        logits = model(ms.Tensor(_rows()[:, :-1])).asnumpy().astype(np.float64)
        mask = (_rows()[:, 1:] != PAD).reshape(-1)
        return (np.log(np.exp(logits).sum(-1)) ** 2)[mask].mean()

    models = [_model(ms), _model(ms)]
    losses = [
        _step(ms, model, z_loss=weight)([(ms.Tensor(_rows()),)], 1e-3).loss
        for model, weight in zip(models, (0.0, 1.0), strict=True)
    ]
    assert losses[0] == losses[1]
    plain, pulled = (log_z_squared(model) for model in models)
    assert pulled < plain


def test_embeddings_can_be_spared_the_decay(ms):
    from mrprep.training.optimizer import AdamW, AdamWOptions

    model = _model(ms)
    optimizer = AdamW(model.trainable_params(), AdamWOptions(decay_embeddings=False))
    spared = {p.name for p, rate in zip(model.trainable_params(), optimizer.decays, strict=True) if not rate}
    norms = {p.name for p in model.trainable_params() if p.ndim == 1}
    assert spared == norms | {"model.embed_tokens.weight", "lm_head.weight"}


def test_scores_are_the_losses_of_the_step_in_any_batch(ms, numbered):
    from mrprep.training.data import splitter
    from mrprep.training.model import Llama
    from mrprep.training.score import Scorer, total

    model, mixture = _model(ms, _config().model_copy(update={"vocab_size": 60})), read_mixture([numbered])
    scorer = Scorer(model, splitter("flat", PAD, EOD), 4)
    beats = []
    rows = np.array([5, 0, 52, 7, 7, 30])
    losses, mask = scorer(mixture, rows, lambda: beats.append(1))
    assert losses.shape == mask.shape == (6, SEQ)
    assert len(beats) == 2
    whole = _step(ms, model)([(ms.Tensor(np.repeat(rows[:, None] + 1, SEQ + 1, 1).astype(np.int32)),)], 0.0)
    sums = total(losses, mask)
    assert sums.tokens == whole.tokens
    assert sums.loss / sums.tokens == pytest.approx(whole.loss, abs=2e-6)  # two kernels; fp32 has 5e-7 here
    short = Scorer(Llama(_config().model_copy(update={"vocab_size": 60}), 4, 3), splitter("flat", PAD, EOD, 4), 4)
    assert short(mixture, rows, lambda: None)[0].shape == (6, SEQ)


def test_buckets_cover_all_and_stay_small():
    from mrprep.training.reduce import buckets

    assert buckets([5, 3, 9, 1, 1, 1, 20, 2], 9) == [(0, 2), (2, 3), (3, 6), (6, 7), (7, 8)]
    assert buckets([50], 9) == [(0, 1)]


def test_accumulated_sums_are_emptied_between_steps(ms):
    rows = ms.Tensor(_rows())
    step = _step(ms, _model(ms), accumulate=2)
    first = step([(rows,), (rows,)], 0.0)
    assert step([(rows,), (rows,)], 0.0) == first


def test_the_gradient_s_norm_and_direction(ms):
    """Along the gradient the slow forward's loss rises by the norm, by finite differences."""
    rows = _rows()
    model = _model(ms)
    outcome = _step(ms, model)([(ms.Tensor(rows),)], 0.0)

    def loss(weights):
        total, count = 0.0, 0
        for row in rows:
            logits = slow_logits(_config(), weights, row[:-1])
            picked = logits[np.arange(SEQ), row[1:]] - np.log(np.exp(logits).sum(-1))
            total, count = total - picked[row[1:] != PAD].sum(), count + (row[1:] != PAD).sum()
        return total / count

    gradient = ms.value_and_grad(
        lambda ids, labels, mask: (
            (ms.ops.cross_entropy(model(ids), labels.reshape(-1), reduction="none") * mask.reshape(-1)).sum()
            / mask.sum()
        ),
        None,
        model.trainable_params(),
    )
    mask = (rows[:, 1:] != PAD).astype(np.float32)
    _, gradients = gradient(ms.Tensor(rows[:, :-1]), ms.Tensor(rows[:, 1:]), ms.Tensor(mask))
    arrays = {p.name: g.asnumpy().astype(np.float64) for p, g in zip(model.trainable_params(), gradients, strict=True)}
    norm = np.sqrt(sum((g * g).sum() for g in arrays.values()))
    assert outcome.norm == pytest.approx(norm, rel=1e-4)
    weights, h = _weights(model), 1e-4
    ahead, behind = ({n: w + s * h * arrays[n] / norm for n, w in weights.items()} for s in (1, -1))
    assert (loss(ahead) - loss(behind)) / (2 * h) == pytest.approx(norm, rel=1e-4)


def test_a_gradient_that_is_not_finite_changes_no_weight(ms):
    model = _model(ms)
    step = _step(ms, model, decay=0.1)
    assert not step([(ms.Tensor(_rows()),)], 1e-2).skipped
    poisoned = model.trainable_params()[-1]
    healthy = ms.Tensor(poisoned.asnumpy().copy())
    ms.ops.assign(poisoned, ms.Tensor(np.full(poisoned.shape, np.inf, np.float32)))
    before = _weights(model)
    assert step([(ms.Tensor(_rows()),)], 1e-2).skipped
    assert all((_weights(model)[name] == value).all() for name, value in before.items())
    ms.ops.assign(poisoned, healthy)
    assert not step([(ms.Tensor(_rows()),)], 1e-2).skipped


@pytest.fixture(scope="module")
def numbered(tmp_path_factory) -> Path:
    """A build of 53 rows in 3 shards; row i holds nothing but i + 1."""
    rows = np.repeat(np.arange(1, 54, dtype=np.int32)[:, None], SEQ + 1, axis=1)
    return write_build(tmp_path_factory.mktemp("numbered") / "b", {"input_ids": rows}, 3, vocab_size=60)


@pytest.mark.parametrize("ranks", [1, 2])
def test_rows_of_every_step_are_those_of_order_rows(ms, numbered, ranks, monkeypatch):
    """Over three epochs, in stretches of two steps, begun in the middle too."""
    from mrprep.training import data

    monkeypatch.setattr(data, "STRETCH_ROWS", 2 * 8 // ranks)
    mixture = read_mixture([numbered])
    for start in (0, 7):
        seen = {step: [] for step in range(start, 15)}
        for rank in range(ranks):
            share = data.Share(seed=6, micro_batch=4 // ranks, accumulate=2, rank=rank, ranks=ranks)
            for step, micro_batches in data.steps(mixture, share, start, 15):
                assert len(micro_batches) == 2
                seen[step].append(np.concatenate([columns[0].asnumpy()[:, 0] - 1 for columns in micro_batches]))
        for step, parts in seen.items():
            epoch, within = divmod(step, 6)
            places = np.arange(within * 8, within * 8 + 8)
            wanted = order.permute(6 + epoch * 0x9E3779B9, 53, places)
            assert (np.stack(parts, axis=1).ravel() == wanted).all()


def test_mcore_rows_have_their_own_labels_and_mask(ms, tmp_path):
    from mrprep.training import data

    ids = np.arange(4 * SEQ, dtype=np.int32).reshape(4, SEQ) % VOCAB
    rows = {
        "input_ids": ids,
        "labels": (ids + 1) % VOCAB,
        "loss_mask": (ids % 3 > 0).astype(np.float32),
        "position_ids": ids,
        "actual_seq_len": np.full((4, 8), SEQ, np.int32),
    }
    mixture = read_mixture([write_build(tmp_path / "b", rows, 2, vocab_size=VOCAB)])
    share = data.Share(seed=0, micro_batch=2, accumulate=2, rank=0, ranks=1)
    ((_, micro_batches),) = data.steps(mixture, share, 0, 1)
    wanted = order.rows(0, 0, 4, 4, 0, 1, 0).reshape(2, 2)
    for columns, picked in zip(micro_batches, wanted, strict=True):
        ids_, labels, mask = data.splitter("mcore", PAD, EOD)(*columns)
        for got, name in ((ids_, "input_ids"), (labels, "labels"), (mask, "loss_mask")):
            assert (got.asnumpy() == rows[name][picked]).all()
