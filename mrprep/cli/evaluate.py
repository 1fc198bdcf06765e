"""``mrprep eval``: the loss of a run on a build."""

from pathlib import Path
from typing import Annotated

import typer


def evaluate(
    run: Annotated[Path, typer.Argument(help="A run, or a directory with model.safetensors and config.json.")],
    build: Annotated[Path | None, typer.Argument(help="A build; the only one in this directory by default.")] = None,
    split: Annotated[str, typer.Option(help="valid or train.")] = "valid",
    rows: Annotated[int | None, typer.Option(help="Only the first so many.  [default: all]", min=1)] = None,
) -> None:
    """Print loss, perplexity and bits a byte of a run's newest weights on a split of a build."""
    from mrprep.builddir.find import find_build
    from mrprep.cli.terminal import say
    from mrprep.training.evaluate import evaluate as run_evaluate
    from mrprep.training.metrics import told

    found = run_evaluate(run, find_build(build, shards=True).path, split=split, rows=rows, say=say)
    print(f"step {found['step']}: {told(found)}")
