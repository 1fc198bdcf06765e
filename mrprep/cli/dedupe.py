"""``mrprep dedupe IN... --out DIR``: text without duplicates, and no tokens; ``mrprep dedupe curve``: its bands."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from mrprep.cli.given import AllowCode, Decontaminate, Encoding, TextField
from mrprep.cli.target import Out, Work, hand_over, target
from mrprep.cli.where import Address, Executor, Jobs, Memory, where


class _InputsOrCurve(TyperGroup):
    """``curve`` is a command; whatever else follows is for the command that takes inputs."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args if args[:1] == ["curve"] else [_INPUTS, *args])


class _Inputs(TyperCommand):
    """Its name stands for its inputs in the usage line."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return ["--out DIR [OPTIONS]"]


_INPUTS = "INPUT..."
app = typer.Typer(cls=_InputsOrCurve, rich_markup_mode=None)
Threshold = Annotated[
    float | None, typer.Option(help="Least exact Jaccard similarity of two duplicates.  [default: 0.8]")
]


@app.command(_INPUTS, cls=_Inputs)
def dedupe(
    inputs: Annotated[list[str], typer.Argument(help="Files, folders and URLs of text.", metavar="INPUT...")],
    out: Annotated[str, Out],
    work: Work = None,
    form: Annotated[str, typer.Option("--format", help="jsonl or parquet.")] = "jsonl",
    pipeline: Annotated[
        str | None,
        typer.Option(help="Clean and filter before, as this pipeline does; without one, texts stay as they are."),
    ] = None,
    threshold: Threshold = None,
    keep: Annotated[
        str | None, typer.Option(help="Which of a cluster stays: longest, first, or source (the input named first).")
    ] = None,
    cluster: Annotated[str | None, typer.Option(help="connected, or star.")] = None,
    contained: Annotated[
        float | None, typer.Option(help="Also remove texts of which this share stands in a longer one, such as 0.9.")
    ] = None,
    against: Annotated[
        list[Path] | None,
        typer.Option(help="An earlier build, or DIR: what it holds is a duplicate; give it again for several."),
    ] = None,
    decontaminate: Decontaminate = None,
    text_field: TextField = None,
    encoding: Encoding = None,
    jobs: Jobs = None,
    memory: Memory = None,
    executor: Executor = "processes",
    address: Address = None,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first input that cannot be read.")] = False,
    keep_work: Annotated[bool, typer.Option("--keep-work", help="Keep OUT.work.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace another build at OUT.")] = False,
    hash_inputs: Annotated[
        bool, typer.Option("--hash-inputs", help="Tell changed inputs by their content instead of their mtime.")
    ] = False,
    allow_code: AllowCode = False,
) -> None:
    """Write the documents of some inputs without duplicates, and a table of who went for whom.

    DIR/documents holds them; mrprep why, mrprep verify and --against take DIR as they take a build.
    mrprep dedupe curve shows which pairs become candidates at a threshold.
    """
    from mrprep.building.documents import deduplicate
    from mrprep.cli.given import absolute, given
    from mrprep.cli.terminal import say
    from mrprep.config import decontaminated, load_pipeline, only_dedupe, with_inputs
    from mrprep.errors import UsageError
    from mrprep.request import RunOptions

    if form not in ("jsonl", "parquet"):
        raise UsageError(f"--format {form!r} is not known: jsonl or parquet")
    overrides = {
        "": given(against=absolute(against)),
        "input": given(text=tuple(text_field) if text_field else None, encoding=encoding),
        "dedupe": given(threshold=threshold, keep=keep, cluster=cluster, contained=contained),
    }
    chosen = only_dedupe(load_pipeline(pipeline or "default", overrides), maps=pipeline is not None)
    chosen = decontaminated(chosen, absolute(decontaminate) or ())
    chosen = with_inputs(chosen, inputs)
    folder, url = target(out, work)
    switches = RunOptions(
        **where(jobs, memory, executor, address),
        keep_work=keep_work,
        overwrite=overwrite,
        strict=strict,
        hash_inputs=hash_inputs,
        allow_code=allow_code,
        url=url,
    )
    hand_over(deduplicate(chosen, folder, "parquet" if form == "parquet" else "jsonl", switches, say), switches)


@app.command("curve")
def curve(
    threshold: Threshold = None,
    recall: Annotated[float | None, typer.Option(help="Share of pairs at it to be found.  [default: 0.998]")] = None,
    permutations: Annotated[int | None, typer.Option(help="Numbers in a signature.  [default: 64]")] = None,
) -> None:
    """Show the bands and rows for a threshold, and how likely pairs of each similarity become candidates."""
    from mrprep.cli.given import given
    from mrprep.config import load_pipeline
    from mrprep.minhash.picture import picture

    overrides = {"dedupe": given(threshold=threshold, recall=recall, permutations=permutations)}
    options = load_pipeline("default", overrides).dedupe
    print(picture(options.banding(), options.threshold))
