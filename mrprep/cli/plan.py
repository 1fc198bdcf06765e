"""``mrprep plan``: what a build and a training will take, before either begins."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mrprep.cli.given import AllowCode, TextField
from mrprep.cli.reading import Eod
from mrprep.cli.where import Jobs

if TYPE_CHECKING:
    from mrprep.config import Pipeline
    from mrprep.estimate.memory import Layout
    from mrprep.estimate.plans import Corpus, Devices, Training
    from mrprep.request import RunOptions


def plan(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(help="Files, folders and URLs of text.", metavar="INPUT..."),
    ] = None,
    seq: Annotated[int | None, typer.Option(help="Tokens a row trains on.  [default: 2048]")] = None,
    pipeline: Annotated[str, typer.Option(help="A pipeline file, or the name of a shipped one.")] = "default",
    tokenizer: Annotated[
        Path | None, typer.Option(help="A tokenizer file; without one, a vocabulary is trained.")
    ] = None,
    eod: Eod = None,
    text_field: TextField = None,
    sample: Annotated[
        float | None,
        typer.Option(help="Share of the text to look at.  [default: what takes seconds]", min=0.0001, max=1),
    ] = None,
    scan: Annotated[bool, typer.Option("--scan", help="Read all, for the exact share of duplicates.")] = False,
    allow_code: AllowCode = False,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    jobs: Jobs = None,
    model: Annotated[str | None, typer.Option(help="A preset (tiny, 10m, 100m, 1b, 7b) or a config.json.")] = None,
    tokens: Annotated[
        str | None, typer.Option(help="Tokens of the corpus, such as 300B, in place of an INPUT.")
    ] = None,
    epochs: Annotated[float, typer.Option(help="Times each token is trained on.", min=0.001, max=1e6)] = 1.0,
    ranks: Annotated[int, typer.Option(help="Devices to train on.", min=1)] = 1,
    micro_batch: Annotated[int, typer.Option(help="Rows a forward pass of one device.", min=1)] = 4,
    accumulate: Annotated[int, typer.Option(help="Forward passes a step.", min=1)] = 1,
    amp: Annotated[
        Literal["auto", "O0", "O1", "O2", "O3"], typer.Option(help="Mixed precision; auto: O2 on Ascend, else O0.")
    ] = "auto",
    recompute: Annotated[bool, typer.Option("--recompute", help="Compute activations anew.")] = False,
    zero: Annotated[int, typer.Option(help="1: split the optimizer states over the devices.", min=0, max=1)] = 0,
    fused: Annotated[bool, typer.Option("--fused-attention", help="Keep no attention scores (Ascend).")] = False,
    device: Annotated[str, typer.Option(help="CPU or Ascend.")] = "CPU",
    memory: Annotated[
        str | None, typer.Option(help="Of a device, such as 64GB.  [default: this machine's / ranks]")
    ] = None,
    tflops: Annotated[float, typer.Option(help="Peak of a device; 2 CPU cores have 0.1.", min=0.0001, max=1e6)] = 0.1,
    mfu: Annotated[float, typer.Option(help="Share of the peak that the model gets.", min=0.001, max=1)] = 0.4,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what a build of INPUT and a training on it will take, from a sample and from formulas (docs/plan.md)."""
    from mrprep.cli.given import given, job_count
    from mrprep.config import load_pipeline, with_inputs
    from mrprep.errors import UsageError
    from mrprep.estimate.memory import DEVICES, Layout
    from mrprep.estimate.plans import Devices
    from mrprep.estimate.report import corpus_lines, training_lines
    from mrprep.request import RunOptions

    if bool(inputs) == bool(tokens):
        raise UsageError("name an INPUT, or the --tokens of a corpus")
    if tokens and not model:
        raise UsageError("--tokens is for a training: name a --model too")
    if device not in DEVICES:
        raise UsageError(f"--device is {' or '.join(DEVICES)}")
    overrides: dict[str, dict[str, Any]] = {
        "input": given(text=tuple(text_field) if text_field else None),
        "tokenize": given(model=tokenizer, eod=eod),
        "pack": given(seq=seq),
    }
    chosen = load_pipeline(pipeline, overrides)
    found, trained = None, None
    if inputs:
        chosen = with_inputs(chosen, inputs)
        found = _corpus(chosen, seed, sample, RunOptions(job_count(jobs), allow_code=allow_code), scan)
    devices = Devices(ranks, _room(memory, ranks), tflops * 1e12, mfu)
    if model:
        layout = Layout(
            chosen.pack.seq,
            micro_batch,
            accumulate,
            ranks,
            amp=("O2" if device == "Ascend" else "O0") if amp == "auto" else amp,
            recompute=recompute,
            zero=zero,
            fused_attention=fused,
            device=device,
        )
        trained = _training(model, layout, found, tokens, epochs, devices)
    if as_json:
        _print_json(found, trained)
        return
    lines = [*corpus_lines(found, chosen.pack.seq)] if found else []
    lines += training_lines(trained) if trained else []
    print("\n".join(lines))


def _corpus(chosen: "Pipeline", seed: int, share: float | None, options: "RunOptions", scan: bool) -> "Corpus":
    from mrprep.cli.terminal import say
    from mrprep.estimate import plans

    removed = None
    if scan:
        from mrprep.building.scan import duplicate_share

        removed = duplicate_share(chosen, options, say)
    return plans.corpus(chosen, seed, share, sorted({1, options.jobs}), removed)


def _training(
    model: str, layout: "Layout", found: "Corpus | None", tokens: str | None, epochs: float, devices: "Devices"
) -> "Training":
    from mrprep.cli.size import parse_count
    from mrprep.estimate.plans import training
    from mrprep.estimate.shapes import shape

    total = (found.tokens.mid if found else parse_count(tokens, "--tokens")) * epochs
    return training(shape(model, found.text.vocab_size if found else None, layout.seq), layout, total, devices)


def _room(memory: str | None, ranks: int) -> float:
    from mrprep.cli.size import parse_size
    from mrprep.engine.memory import usable_memory

    return float(parse_size(memory, "--memory") or usable_memory() / ranks)


def _print_json(found: "Corpus | None", trained: "Training | None") -> None:
    import json
    from dataclasses import asdict

    record = {"corpus": asdict(found) if found else None, "training": None}
    if trained:
        record["training"] = {**asdict(trained), "model": trained.model.model_dump()}
    print(json.dumps(record, ensure_ascii=False, indent=1))
