"""The same weights in ``transformers.LlamaForCausalLM``: logits, gradients, and 20 steps beside torch's AdamW.

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


@pytest.mark.parametrize("tied", [False, True])
def test_logits_gradients_and_training_are_those_of_transformers(tied, tmp_path):
    import mindspore as ms

    from mrprep.training.data import splitter
    from mrprep.training.model import Llama
    from mrprep.training.optimizer import AdamW
    from mrprep.training.step import TrainStep

    config = ModelConfig(
        vocab_size=VOCAB,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=SEQ,
        tie_word_embeddings=tied,
        initializer_range=0.2,
    )
    ours = Llama(config, SEQ, seed=1)
    parameters = ours.trainable_params()
    state = checkpoint.LoopState(step=1, rows=0, tokens=0, seed=1, global_batch=2, manifest_sha256="")
    weights = {p.name: p.asnumpy() for p in parameters}
    snapshot = checkpoint.Snapshot(state, weights, {}, config.to_hf(1, 2, 0))
    theirs = transformers.LlamaForCausalLM.from_pretrained(checkpoint.save(tmp_path, snapshot, 1), dtype=torch.float32)

    rows = np.random.default_rng(0).integers(3, VOCAB, (2, SEQ + 1)).astype(np.int32)
    ids, labels = torch.tensor(rows[:, :-1].astype(np.int64)), torch.tensor(rows[:, 1:].astype(np.int64))

    def their_loss():
        return torch.nn.functional.cross_entropy(theirs(ids).logits.reshape(-1, VOCAB), labels.reshape(-1))

    logits = ours(ms.Tensor(rows[:, :-1])).asnumpy().reshape(2, SEQ, VOCAB)
    assert np.abs(logits - theirs(ids).logits.detach().numpy()).max() < 1e-4

    their_loss().backward()
    target = ms.Tensor(rows[:, 1:].reshape(-1))
    gradients = ms.value_and_grad(lambda x: ms.ops.cross_entropy(ours(x), target), None, parameters)(
        ms.Tensor(rows[:, :-1])
    )[1]
    wanted = dict(theirs.named_parameters())
    for parameter, gradient in zip(parameters, gradients, strict=True):
        assert np.abs(gradient.asnumpy() - wanted[parameter.name].grad.numpy()).max() < 1e-4, parameter.name

    step = TrainStep(
        ours, AdamW(parameters, 0.9, 0.95, 1e-8, 0.1), splitter("flat", 0, 2), ranks=1, accumulate=1, clip=1.0
    )
    groups = [
        {"params": [p for p in theirs.parameters() if (p.ndim > 1) == matrix], "weight_decay": 0.1 * matrix}
        for matrix in (True, False)
    ]
    adamw = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.95), eps=1e-8)
    for _ in range(20):
        adamw.zero_grad()
        loss = their_loss()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
        adamw.step()
        assert step([(ms.Tensor(rows),)], 1e-3).loss == pytest.approx(loss.item(), abs=1e-4)
