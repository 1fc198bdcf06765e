"""``mrprep import mindrecord FILES``: shards of others into a build."""

from pathlib import Path
from typing import Annotated

import typer

from mrprep.cli.reading import AddedTokens, Eod, Pattern
from mrprep.cli.target import Out, Work, hand_over, target
from mrprep.cli.where import Address, Executor, Jobs, Memory, where

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="Make a build of what other programs wrote.")


@app.callback()
def _several() -> None:
    """Keep the form a word of its own."""


@app.command("mindrecord")
def mindrecord(
    files: Annotated[list[str], typer.Argument(help="MindRecord files, and folders of them.", metavar="FILES...")],
    tokenizer: Annotated[Path, typer.Option(help="The tokenizer with which they were made.")],
    out: Annotated[str, Out],
    work: Work = None,
    eod: Eod = None,
    added_tokens: AddedTokens = None,
    pattern: Pattern = None,
    seq: Annotated[int | None, typer.Option(help="Tokens a row trains on.  [default: 2048]")] = None,
    layout: Annotated[str | None, typer.Option(help="flat or mcore.")] = None,
    packing: Annotated[str | None, typer.Option(help="concat or bestfit.")] = None,
    valid: Annotated[float | None, typer.Option(help="Share of the tokens to hold back for validation.")] = None,
    shards: Annotated[int | None, typer.Option(help="Shards to write for training.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of order and the valid split.")] = None,
    bos: Annotated[bool, typer.Option("--bos", help="Documents begin with a BOS.")] = False,
    joined: Annotated[
        bool, typer.Option("--joined", help="A row goes on where the one before it ends; else its end ends a document.")
    ] = False,
    dedupe: Annotated[bool, typer.Option("--dedupe", help="Take out duplicates.")] = False,
    jobs: Jobs = None,
    memory: Memory = None,
    executor: Executor = "processes",
    address: Address = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace another build at OUT.")] = False,
) -> None:
    """Split the rows of MindRecord files at EOD and pack the documents anew, their ids as they were.

    Columns: input_ids, and labels where those are shifted by one. Rows that overlap by one token are joined.
    """
    from mrprep.building.imports import ImportedRows, import_rows
    from mrprep.cli.given import given
    from mrprep.cli.terminal import say
    from mrprep.config import command_line_sources, load_pipeline
    from mrprep.plan import plan_mindrecord
    from mrprep.request import RunOptions

    overrides = {
        "": given(seed=seed, stages=(*(("dedupe",) if dedupe else ()), "tokenize", "pack", "shard")),
        "tokenize": given(model=tokenizer, add_bos=bos, eod=eod, added_tokens=added_tokens, pattern=pattern),
        "pack": given(seq=seq, layout=layout, packing=packing),
        "shard": given(shards=shards, valid=valid),
    }
    chosen = load_pipeline("raw", overrides)
    chosen = chosen.model_copy(update={"source": command_line_sources(files, chosen.input)})
    folder, url = target(out, work)
    found = plan_mindrecord(chosen.source, folder)
    switches = RunOptions(**where(jobs, memory, executor, address), overwrite=overwrite, url=url)
    hand_over(import_rows(chosen, found, folder, ImportedRows(joined), switches, say), switches)
