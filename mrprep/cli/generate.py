"""``mrprep generate``: see what a run has learnt."""

from pathlib import Path
from typing import Annotated

import typer


def generate(
    run: Annotated[Path, typer.Argument(help="A run, or a directory with model.safetensors and config.json.")],
    prompt: Annotated[str, typer.Option(help="Begin of a document.")] = "",
    tokens: Annotated[int, typer.Option(help="Most to add.", min=1)] = 100,
    temperature: Annotated[float, typer.Option(help="0 takes the likeliest token.", min=0)] = 0.8,
    top_p: Annotated[float, typer.Option(help="Draw from the likeliest that make up this share.", min=0, max=1)] = 0.95,
    seed: Annotated[int, typer.Option(help="Seed of the draws.", min=0)] = 0,
    build: Annotated[
        Path | None, typer.Option(help="Whose tokenizer it is.  [default: the run's build]", show_default=False)
    ] = None,
) -> None:
    """Continue a text with a run's newest weights."""
    from mrprep.cli.given import above_nought
    from mrprep.cli.terminal import say
    from mrprep.printable import printable
    from mrprep.training.generate import generate as run_generate

    above_nought("--top-p", top_p)
    added = run_generate(
        run, prompt, tokens=tokens, temperature=temperature, top_p=top_p, seed=seed, build=build, say=say
    )
    for line in (prompt + added).split("\n"):
        print(printable(line, 1_000_000))
