"""``mrprep vocab align``: weights for another tokenizer."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from mrprep.cli.target import here

app = typer.Typer(help="Move weights to another vocabulary.", no_args_is_help=True, rich_markup_mode=None)
_WORDS = {
    "same": "the same text",
    "byte": "one byte",
    "normalised": "one old piece, in the form the old tokenizer gives text",
    "special": "control pieces, by name or part",
    "pieces": "made of several old pieces",
    "none": "nothing like it",
}


@app.callback()
def vocab() -> None:
    """Move weights to another vocabulary."""


@app.command("align")
def align(
    old: Annotated[Path, typer.Option("--from", help="Tokenizer file of the weights.")],
    new: Annotated[Path, typer.Option("--to", help="Tokenizer file they are to be for.")],
    weights: Annotated[Path, typer.Option(help="A run, a checkpoint, or a directory of weights.")],
    out: Annotated[Path, typer.Option(help="Directory to make.", callback=here)],
    rows: Annotated[
        Literal["pieces", "mean"],
        typer.Option("--new", help="Rows of new pieces: mean of the old pieces they are made of, or of all."),
    ] = "pieces",
    multiple: Annotated[int, typer.Option(help="Pad the rows to a multiple of this.", min=1)] = 1,
    max_file: Annotated[str, typer.Option(help="Bytes a file holds at most.")] = "5GB",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Move the rows of the embedding and the output layer, by piece, to another tokenizer's ids.

    Pieces are compared by the text they stand for. OUT is a directory for train --init-from, eval and generate.
    """
    import json
    from dataclasses import asdict

    from mrprep.cli.size import parse_size
    from mrprep.conversion.importing import SHARD_BYTES
    from mrprep.conversion.vocabulary import align as move
    from mrprep.printable import printable

    most = parse_size(max_file, "--max-file") or SHARD_BYTES
    done = move(old, new, weights, out, new=rows, multiple=multiple, shard_bytes=most)
    if as_json:
        print(json.dumps(asdict(done), ensure_ascii=False))
        return
    for kind, words in _WORDS.items():
        if kind in done.counts:
            print(f"{done.counts[kind]:>9,}  {words}: {', '.join(done.examples[kind])}")
    if done.rows > done.new:
        print(f"{done.rows - done.new:>9,}  padding: the mean of all")
    print(f"{done.dropped:>9,}  old pieces are in no new row")
    print(f"weights  {printable(str(out))}: {done.old:,} -> {done.rows:,} rows of {', '.join(done.layers)}")
