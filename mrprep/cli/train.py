"""``mrprep train``: a pretraining run on the shards of a build."""

from pathlib import Path
from typing import Annotated

import typer


def train(
    build: Annotated[Path | None, typer.Argument(help="A build; the only one in this directory by default.")] = None,
    out: Annotated[Path, typer.Option(help="Directory of the run; an unfinished one there is gone on with.")] = Path(
        "run"
    ),
    model: Annotated[str, typer.Option(help="A preset (tiny, 10m, 100m, 1b, 7b) or a config.json.")] = "tiny",
    ranks: Annotated[int, typer.Option(help="Data-parallel processes on this machine.", min=1)] = 1,
    steps: Annotated[int | None, typer.Option(help="Steps of the whole run.  [default: one epoch]", min=1)] = None,
    micro_batch: Annotated[int, typer.Option(help="Rows a forward pass of one rank.", min=1)] = 4,
    accumulate: Annotated[int, typer.Option(help="Forward passes a step.", min=1)] = 1,
    lr: Annotated[float, typer.Option(help="Highest learning rate.")] = 1e-3,
    warmup: Annotated[int, typer.Option(help="Steps until it is reached.", min=0)] = 10,
    seed: Annotated[int, typer.Option(help="Seed of the weights and of the order of rows.")] = 0,
    save_every: Annotated[int, typer.Option(help="Steps between checkpoints.", min=1)] = 100,
) -> None:
    """Train a Llama-style model on the train split, over data-parallel ranks."""
    from mrprep.builddir.find import find_build
    from mrprep.cli.terminal import say
    from mrprep.training.run import train as run

    found = find_build(build, shards=True)
    result = run(
        found.path,
        out=out,
        model=model,
        ranks=ranks,
        steps=steps,
        micro_batch=micro_batch,
        accumulate=accumulate,
        lr=lr,
        warmup=warmup,
        seed=seed,
        save_every=save_every,
        say=say,
    )
    print(f"loss {result.first_loss:.4f} -> {result.last_loss:.4f} in {result.steps} steps, {result.tokens:,} tokens")
    print(f"weights     {result.checkpoint}")
    print(f"metrics     {result.run / 'metrics.jsonl'}")
