"""The same weights in ``transformers``, each family and each way to stretch positions: logits, gradients, AdamW.

Skipped where torch and transformers are not installed; they are no part of the project's environment.
"""

import numpy as np
import pytest

from mrprep.training import checkpoint
from mrprep.training.config import ModelConfig

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.mindspore

VOCAB, SEQ = 50, 24
ROWS = np.random.default_rng(0).integers(3, VOCAB, (2, SEQ + 1)).astype(np.int32)
OLD = {"factor": 2.0, "original_max_position_embeddings": 12}
FAMILIES = {
    "llama": {},
    "tied": {"tie_word_embeddings": True},
    "bias": {"attention_bias": True},
    "qwen2": {"model_type": "qwen2"},
    "qwen3": {"model_type": "qwen3", "head_dim": 12, "tie_word_embeddings": True},
    "linear": {"rope_scaling": {"rope_type": "linear", "factor": 4.0}},
    "dynamic": {"rope_scaling": {"rope_type": "dynamic", "factor": 4.0}},
    "llama3": {"rope_scaling": {"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0, **OLD}},
    "yarn": {"rope_scaling": {"rope_type": "yarn", **OLD}, "model_type": "qwen2"},
}


def _pair(family, path):
    """Return our model, and theirs loaded from a checkpoint of it."""
    import mindspore as ms

    from mrprep.training.model import Llama

    config = ModelConfig(
        vocab_size=VOCAB,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=SEQ,
        initializer_range=0.2,
        **FAMILIES[family],
    )
    ours, noise = Llama(config, SEQ, seed=1), np.random.default_rng(2)
    for p in ours.trainable_params():
        if p.ndim == 1:  # norms begin at 1 and biases at 0, which would hide them
            p.set_data(ms.Tensor((p.asnumpy() + 0.3 * noise.standard_normal(p.shape)).astype(np.float32)))
    state = checkpoint.LoopState(step=1, rows=0, tokens=0, seed=1, global_batch=2, manifest_sha256="")
    weights = {p.name: p.asnumpy() for p in ours.trainable_params()}
    saved = checkpoint.save(path, checkpoint.Snapshot(state, weights, {}, config.to_hf(1, 2, 0)), 1)
    return ours, transformers.AutoModelForCausalLM.from_pretrained(saved, dtype=torch.float32)


def _loss(theirs):
    ids, labels = (torch.tensor(part.astype(np.int64)) for part in (ROWS[:, :-1], ROWS[:, 1:]))
    return torch.nn.functional.cross_entropy(theirs(ids).logits.reshape(-1, VOCAB), labels.reshape(-1))


@pytest.mark.parametrize("family", FAMILIES)
def test_logits_and_gradients_are_those_of_transformers(family, tmp_path):
    import mindspore as ms

    ours, theirs = _pair(family, tmp_path)
    parameters = ours.trainable_params()
    ids, target = ms.Tensor(ROWS[:, :-1]), ms.Tensor(ROWS[:, 1:].reshape(-1))
    logits = ours(ids).asnumpy().reshape(2, SEQ, VOCAB)
    wanted = theirs(torch.tensor(ROWS[:, :-1].astype(np.int64))).logits.detach().numpy()
    assert np.abs(logits - wanted).max() < 1e-4

    _loss(theirs).backward()
    gradients = ms.value_and_grad(lambda x: ms.ops.cross_entropy(ours(x), target), None, parameters)(ids)[1]
    wanted = dict(theirs.named_parameters())
    assert {p.name for p in parameters} == set(wanted)
    for parameter, gradient in zip(parameters, gradients, strict=True):
        assert np.abs(gradient.asnumpy() - wanted[parameter.name].grad.numpy()).max() < 1e-4, parameter.name


@pytest.mark.parametrize("family", ["llama", "tied"])
def test_twenty_steps_are_those_of_torch(family, tmp_path):
    """Clipped gradients, AdamW without decay of the norms: losses and weights."""
    import mindspore as ms

    from mrprep.training.data import splitter
    from mrprep.training.optimizer import AdamW, AdamWOptions
    from mrprep.training.step import TrainStep

    ours, theirs = _pair(family, tmp_path)
    parameters = ours.trainable_params()
    step = TrainStep(
        ours, AdamW(parameters, AdamWOptions(weight_decay=0.1)), splitter("flat", 0, 2), ranks=1, accumulate=1, clip=1.0
    )
    groups = [
        {"params": [p for p in theirs.parameters() if (p.ndim > 1) == matrix], "weight_decay": 0.1 * matrix}
        for matrix in (True, False)
    ]
    adamw = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.95), eps=1e-8)
    for _ in range(20):
        adamw.zero_grad()
        loss = _loss(theirs)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
        adamw.step()
        assert step([(ms.Tensor(ROWS),)], 1e-3).loss == pytest.approx(loss.item(), abs=1e-4)
    wanted = dict(theirs.named_parameters())
    for p in parameters:
        assert np.abs(p.asnumpy() - wanted[p.name].detach().numpy()).max() < 1e-3, p.name
