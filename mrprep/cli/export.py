"""``mrprep export FORM BUILD``: a build for other programs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from mrprep.stages.export import Form

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="Write a build as other programs read it.")
Given = Annotated[Path, typer.Argument(help="A finished build.", metavar="BUILD")]
Out = Annotated[Path, typer.Option(help="Directory to make.")]
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
    jobs: Annotated[int | None, typer.Option(help="Worker processes.  [default: one a core]", min=1)] = None,
) -> None:
    """Write the tokens as Megatron's indexed datasets: train.bin, train.idx, and those of the valid split."""
    from mrprep.builddir.find import find_build
    from mrprep.cli.given import job_count
    from mrprep.interop.megatron import export_megatron

    found = export_megatron(find_build(build, shards=True), out, job_count(jobs))
    for split, (documents, tokens) in found.items():
        print(f"{split}: {documents:,} documents, {tokens:,} tokens")


def _texts(build: Path, out: Path, form: "Form", *, tokens: bool) -> None:
    from mrprep.builddir.find import find_build
    from mrprep.interop.texts import SPLITS, export_texts

    for split, written in export_texts(find_build(build), out, form, tokens=tokens).items():
        told = f", {written.tokens:,} tokens" if tokens else ""
        print(f"{SPLITS[split]}: {written.rows:,} documents, {written.bytes:,} bytes of text{told}")
