"""``mrprep train``: a pretraining run on the shards of a build."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from mrprep.cli.target import here

Decay = Literal["cosine", "linear", "wsd", "constant"]
OnSpike = Literal["skip", "stop", "ignore"]


def train(
    builds: Annotated[
        list[Path] | None, typer.Argument(help="Builds; the only one in this directory by default.")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Directory of the run; an unfinished one there is gone on with.", callback=here)
    ] = Path("run"),
    mix: Annotated[
        str | None, typer.Option(help="Weight of each build, such as 0.7,0.3.  [default: all rows of all]")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="A preset (tiny, 10m, 100m, 1b, 7b) or a config.json.  [default: tiny]")
    ] = None,
    init_from: Annotated[
        Path | None,
        typer.Option(help="Begin with these weights: a run, a checkpoint, or a directory of Hugging Face's."),
    ] = None,
    ranks: Annotated[int, typer.Option(help="Data-parallel processes on this machine.", min=1)] = 1,
    steps: Annotated[int | None, typer.Option(help="Steps of the whole run.  [default: one epoch]", min=1)] = None,
    micro_batch: Annotated[int, typer.Option(help="Rows a forward pass of one rank.", min=1)] = 4,
    accumulate: Annotated[int, typer.Option(help="Forward passes a step.", min=1)] = 1,
    global_batch: Annotated[
        int | None, typer.Option(help="Checked: micro batch x ranks x accumulation.", show_default=False)
    ] = None,
    train_seq: Annotated[
        int | None, typer.Option(help="Cut rows into shorter ones; may change when a run goes on.", min=1)
    ] = None,
    reset_attention: Annotated[
        bool, typer.Option("--reset-attention", help="A token sees its own document alone.")
    ] = False,
    reset_position: Annotated[
        bool, typer.Option("--reset-position", help="Places are counted from the start of each document.")
    ] = False,
    lr: Annotated[float, typer.Option(help="Highest learning rate.")] = 1e-3,
    warmup: Annotated[int, typer.Option(help="Steps until it is reached.", min=0)] = 10,
    decay: Annotated[
        Literal["cosine", "linear", "wsd", "constant"], typer.Option(help="Way down; wsd goes down in the last fifth.")
    ] = "cosine",
    amp: Annotated[
        Literal["auto", "O0", "O1", "O2", "O3"],
        typer.Option(help="Mixed precision; auto: O2 where the device has bfloat16, else O0 (float32)."),
    ] = "auto",
    recompute: Annotated[
        bool, typer.Option("--recompute", help="Compute layers again instead of keeping them.")
    ] = False,
    zero: Annotated[int, typer.Option(help="1: split the optimizer's state over the ranks.", min=0, max=1)] = 0,
    device: Annotated[Literal["auto", "CPU", "Ascend"], typer.Option(help="auto: Ascend where there is one.")] = "auto",
    weight_decay: Annotated[float, typer.Option(help="AdamW's; norms have none.", min=0)] = 0.1,
    decay_embeddings: Annotated[bool, typer.Option(help="Whether embedding and output layer decay too.")] = True,
    z_loss: Annotated[float, typer.Option(help="Weight of log(Z)^2 (1e-4 in PaLM).", min=0)] = 0.0,
    seed: Annotated[int, typer.Option(help="Seed of the weights and of the order of rows.", min=0)] = 0,
    save_every: Annotated[int, typer.Option(help="Steps between checkpoints.", min=1)] = 100,
    save_minutes: Annotated[
        float | None, typer.Option(help="Minutes after which one is due as well.", show_default=False)
    ] = None,
    keep: Annotated[int, typer.Option(help="Newest checkpoints kept, besides the best.", min=1)] = 2,
    keep_every: Annotated[
        int | None, typer.Option(help="Keep those of multiples of this step too.", min=1, show_default=False)
    ] = None,
    valid_every: Annotated[int, typer.Option(help="Steps between looks at the valid split.", min=1)] = 100,
    valid_rows: Annotated[int, typer.Option(help="Its rows looked at; 0: none.", min=0)] = 512,
    on_spike: Annotated[
        Literal["skip", "stop", "ignore"], typer.Option(help="A step whose loss or norm is far out.")
    ] = "skip",
    spikes_in_a_row: Annotated[int, typer.Option(help="So many in a row end the run.", min=1)] = 5,
    layer_norms: Annotated[
        int | None, typer.Option(help="Steps between gradient norms of each weight.", min=1, show_default=False)
    ] = None,
    peak_tflops: Annotated[
        float | None, typer.Option(help="Of one rank's device at its best: MFU is told.", show_default=False)
    ] = None,
    hang_after: Annotated[float, typer.Option(help="Seconds without a sign of life that end the run.")] = 600.0,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Write scalars for it to RUN/tensorboard.")
    ] = False,
    new_data: Annotated[bool, typer.Option("--new-data", help="Go on, though the build is another.")] = False,
) -> None:
    """Train a Llama-style model on the train split, over data-parallel ranks; Ctrl-C stops with a checkpoint."""
    from mrprep.builddir.find import find_build
    from mrprep.cli.given import above_nought, from_nought
    from mrprep.cli.terminal import say
    from mrprep.training.metrics import told
    from mrprep.training.run import train as run
    from mrprep.training.schedule import ScheduleOptions
    from mrprep.training.settings import LoopOptions

    given = {"--lr": lr, "--save-minutes": save_minutes, "--peak-tflops": peak_tflops, "--hang-after": hang_after}
    for flag, value in given.items():
        above_nought(flag, value)
    from_nought("--weight-decay", weight_decay)
    from_nought("--z-loss", z_loss)
    found = (
        [find_build(build, shards=True).path for build in builds] if builds else [find_build(None, shards=True).path]
    )
    result = run(
        *found,
        out=out,
        mix=_weights(mix, len(found)),
        model=model,
        init_from=init_from,
        steps=steps,
        schedule=ScheduleOptions(peak=lr, warmup=warmup, decay=decay),
        options=LoopOptions(
            ranks=ranks,
            micro_batch=micro_batch,
            accumulate=accumulate,
            train_seq=train_seq,
            reset_attention=reset_attention,
            reset_position=reset_position,
            seed=seed,
            save_every=save_every,
            save_minutes=save_minutes,
            keep=keep,
            keep_every=keep_every,
            valid_every=valid_every,
            valid_rows=valid_rows,
            on_spike=on_spike,
            spikes_in_a_row=spikes_in_a_row,
            layer_norms=layer_norms,
            peak_tflops=peak_tflops,
            hang_after=hang_after,
            amp=amp,
            recompute=recompute,
            zero=1 if zero else 0,
            device=device,
            weight_decay=weight_decay,
            decay_embeddings=decay_embeddings,
            z_loss=z_loss,
        ),
        global_batch=global_batch,
        new_data=new_data,
        tensorboard=tensorboard,
        say=say,
    )
    if result is None:  # another rank of an msrun tells
        return
    print(f"loss {result.first_loss:.4f} -> {result.last_loss:.4f} in {result.steps} steps, {result.tokens:,} tokens")
    if result.valid:
        print(f"validation  {told(result.valid)}")
    if result.overflows:
        print(f"overflows   {result.overflows} of {result.steps} steps not made, and the loss scale halved")
    if result.verdict:
        print(f"2nd half    {result.verdict}")
    print(f"weights     {result.checkpoint}")
    print(f"metrics     {result.run / 'metrics.jsonl'}")


def _weights(mix: str | None, builds: int) -> list[float] | None:
    """Return the weights in ``--mix``, one a build."""
    from mrprep.errors import UsageError
    from mrprep.printable import printable

    if mix is None:
        return None
    if builds == 1:
        raise UsageError(f"--mix {printable(mix)} is for several builds, and there is one: leave it out")
    try:
        weights = [float(word) for word in mix.split(",")]
    except ValueError:
        weights = []
    if not weights or not all(0 < weight < float("inf") for weight in weights):
        raise UsageError(f"--mix {printable(mix)} is no list of weights: give numbers above 0, such as 0.7,0.3")
    if len(weights) != builds:
        raise UsageError(f"--mix has {len(weights)} weights for {builds} builds: give one a build, in their order")
    return weights
