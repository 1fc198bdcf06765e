"""``mrprep export FORM BUILD``: a build for other programs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mrprep.cli.target import here
from mrprep.cli.where import Jobs

if TYPE_CHECKING:
    from mrprep.stages.export import Form

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="Write a build as other programs read it.")
Given = Annotated[Path, typer.Argument(help="A finished build.", metavar="BUILD")]
Out = Annotated[Path, typer.Option(help="Directory to make.", callback=here)]
Tokens = Annotated[bool, typer.Option("--tokens", help="Add input_ids, by the tokenizer of the build.")]


@app.command("parquet")
def parquet(build: Given, out: Out, tokens: Tokens = False) -> None:
    """Write the cleaned, deduplicated documents as Parquet, for datasets.load_dataset and others."""
    _texts(build, out, "parquet", tokens=tokens)


@app.command("jsonl")
def jsonl(build: Given, out: Out, tokens: Tokens = False) -> None:
    """Write the cleaned, deduplicated documents as jsonl."""
    _texts(build, out, "jsonl", tokens=tokens)


@app.command("megatron")
def megatron(
    build: Given,
    out: Out,
    jobs: Jobs = None,
) -> None:
    """Write the tokens as Megatron's indexed datasets: train.bin, train.idx, and those of the valid split."""
    from mrprep.builddir.find import find_build
    from mrprep.cli.given import job_count
    from mrprep.interop.megatron import export_megatron

    found = export_megatron(find_build(build, shards=True), out, job_count(jobs))
    for split, (documents, tokens) in found.items():
        print(f"{split}: {documents:,} documents, {tokens:,} tokens")


@app.command("mindformers")
def mindformers(
    build: Given,
    out: Out,
    model: Annotated[str, typer.Option(help="tiny, 10m, 100m, 1b, 7b, or the path of a config.json.")],
    stack: Annotated[
        str | None, typer.Option(help="legacy (layout flat) or mcore (layout mcore).  [default: by the layout]")
    ] = None,
    devices: Annotated[int, typer.Option(help="Devices in all.", min=1)] = 8,
    dp: Annotated[int | None, typer.Option(help="Data-parallel groups.  [default: devices / (tp * pp)]", min=1)] = None,
    tp: Annotated[int, typer.Option(help="Devices that share each layer.", min=1)] = 1,
    pp: Annotated[int, typer.Option(help="Stages that share the layers.", min=1)] = 1,
    micro: Annotated[int, typer.Option(help="Rows a forward pass.", min=1)] = 1,
    accum: Annotated[int, typer.Option(help="Forward passes a step.", min=1)] = 1,
    zero: Annotated[int, typer.Option(help="1 splits the optimizer's state over dp.", min=0, max=1)] = 1,
    recompute: Annotated[bool, typer.Option("--recompute", help="Compute activations again.")] = False,
    document_mask: Annotated[
        bool, typer.Option("--document-mask", help="Keep documents of a row apart (layout mcore, --micro 1).")
    ] = False,
) -> None:
    """Write a YAML with which mindformers 1.8 trains on the build, the list of shards, and a script for msrun."""
    from mrprep.builddir.find import find_build
    from mrprep.interop.mindformers import Cluster, export_mindformers

    cluster = Cluster(devices, tp, pp, micro, accum, zero == 1, recompute, document_mask)
    done = export_mindformers(find_build(build, shards=True), out, model, stack, dp, cluster)
    print(
        f"{out}/train.yaml: {done.stack} stack, {cluster.dp} x {tp} x {pp} devices, "
        f"{cluster.global_batch} rows a step, {done.steps:,} steps an epoch, {done.left_over} rows left out of it"
    )


def _texts(build: Path, out: Path, form: "Form", *, tokens: bool) -> None:
    from mrprep.builddir.find import find_build
    from mrprep.interop.texts import SPLITS, export_texts

    for split, written in export_texts(find_build(build), out, form, tokens=tokens).items():
        told = f", {written.tokens:,} tokens" if tokens else ""
        print(f"{SPLITS[split]}: {written.rows:,} documents, {written.bytes:,} bytes of text{told}")
