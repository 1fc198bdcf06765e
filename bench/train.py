"""Tokens a second of the compiled training step, each contender a process of its own, in turn.

    python bench/train.py [--rounds 3] [--torch PYTHON] [--recipe fast_step.py] [--also O1,O2,O3,recompute]

One model for all: d 256, 4 layers, 4 heads, feed-forward 683, vocabulary 8,000, 4 rows of 512 tokens, fp32, 2 cores.
The median of the last 15 of 35 steps; CPU seconds a step beside it, as a busy machine makes the wall clock lie.

    trainer     mrprep.training.step as it is
    plain       the same with the update not under an ``if``
    O1 O2 O3    the same at a level of mixed precision (float16 on CPU)
    recompute   the same, each layer computed again in the backward pass
    torch       transformers' Llama, eager, SDPA, torch.optim.AdamW (fused), by another Python that has it
    recipe      a script that prints "... N tok/s"
"""

import argparse
import re
import resource
import statistics
import subprocess
import sys
import time

SHAPE = {
    "vocab_size": 8000,
    "hidden_size": 256,
    "intermediate_size": 683,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "max_position_embeddings": 512,
}
ROWS, SEQ, STEPS, TIMED = 4, 512, 35, 15


def timed(step):
    """Run ``step(k)`` and print wall and CPU seconds of one."""
    walls, cpus = [], []
    for k in range(STEPS):
        wall, cpu = time.perf_counter(), time.process_time()
        loss = step(k)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    wall, cpu = statistics.median(walls[-TIMED:]), statistics.median(cpus[-TIMED:])
    rate = ROWS * SEQ / wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"first {walls[0]:.1f} s, step {wall * 1e3:.0f} ms, {cpu:.3f} CPU s, peak {peak:,.0f} MB, loss {loss:.4f}, "
        f"{rate:.0f} tok/s"
    )


def trainer(kind):
    import mindspore as ms
    import numpy as np

    from mrprep.training import precision
    from mrprep.training import step as step_module
    from mrprep.training.config import ModelConfig
    from mrprep.training.data import splitter
    from mrprep.training.model import Llama
    from mrprep.training.optimizer import AdamW, AdamWOptions

    if kind == "plain":
        step_module._finish = _plain_finish
    ms.set_device("CPU")
    chosen, _ = precision.choose(kind if kind in precision.LEVELS else "O0")
    model = Llama(ModelConfig(**SHAPE), SEQ, seed=0, precision=chosen, recompute=kind == "recompute")
    scaler = precision.loss_scale(chosen, 65536.0, 2000)
    optimizer = AdamW(model.trainable_params(), AdamWOptions(weight_decay=0.1))
    train_step = step_module.TrainStep(
        model, optimizer, splitter("flat", 0, 2), ranks=1, accumulate=1, clip=1.0, scaler=scaler
    )
    rows = np.random.default_rng(0).integers(3, 8000, (STEPS, ROWS, SEQ + 1)).astype(np.int32)
    timed(lambda k: train_step([(ms.Tensor(rows[k]),)], 1e-3 * min(1, (k + 1) / 10)).loss)


def _plain_finish(optimizer, rank, ranks, clip, adjust):  # noqa: ARG001
    """Do the update whatever the norm."""
    import mindspore as ms
    from mindspore import ops

    def finish(sums, plan, wish):
        gradients, loss, tokens, peak = sums[:-3], sums[-3], sums[-2], sums[-1]
        squares = ()
        for g in gradients:
            squares = (*squares, (g * g).sum())
        share = 1.0 / tokens
        norms, mean = ops.sqrt(ops.stack(squares)) * share, loss * share
        norm = ops.sqrt((norms * norms).sum())
        factor = share * ops.minimum(ms.Tensor(1.0, ms.float32), clip / (norm + 1e-6))
        scaled = ()
        for g in gradients:
            scaled = (*scaled, g * factor)
        optimizer(scaled, plan[0])
        one = ops.ones((), ms.float32)
        return ops.concat((ops.stack((mean, norm, peak, tokens, one, wish, one)), norms))

    return finish


def torch_eager():
    import numpy as np
    import torch
    import transformers

    torch.set_num_threads(2)
    config = transformers.LlamaConfig(**SHAPE, attn_implementation="sdpa")
    model = transformers.LlamaForCausalLM(config)
    adamw = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    rows = torch.tensor(np.random.default_rng(0).integers(3, 8000, (STEPS, ROWS, SEQ + 1)))

    def step(k):
        adamw.zero_grad()
        logits = model(rows[k, :, :-1], use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, 8000), rows[k, :, 1:].reshape(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adamw.step()
        return loss.item()

    timed(step)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--torch", help="a Python with torch and transformers")
    parser.add_argument("--also", default="", help="O1, O2, O3, recompute; commas between")
    parser.add_argument("--recipe", help="a script to run beside")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        return torch_eager() if options.one == "torch" else trainer(options.one)
    names = ["trainer", "plain", *filter(None, options.also.split(","))]
    contenders = {name: [sys.executable, __file__, "--one", name] for name in names}
    if options.torch:
        contenders["torch"] = [options.torch, "-P", __file__, "--one", "torch"]  # -P: our kernels.py is not kernels
    if options.recipe:
        contenders["recipe"] = [sys.executable, options.recipe]
    rates = {name: [] for name in contenders}
    for _ in range(options.rounds):
        for name, command in contenders.items():
            said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip().splitlines()[-1]
            rates[name].append(float(re.search(r"([\d.]+) tok/s", said)[1]))
            print(f"{name:<8} {said}", flush=True)
    for name, found in rates.items():
        print(f"{name:<8} median {statistics.median(found):,.0f} tok/s")
    return None


if __name__ == "__main__":
    main()
