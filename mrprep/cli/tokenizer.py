"""``mrprep tokenizer train|show|compare``."""

from pathlib import Path
from typing import Annotated

import typer

from mrprep.cli.given import AllowCode, TextField
from mrprep.cli.reading import AddedTokens, Eod, Pattern, choices
from mrprep.cli.target import here
from mrprep.cli.where import Jobs

app = typer.Typer(
    help="Train a SentencePiece vocabulary, look at one, or compare some.", no_args_is_help=True, rich_markup_mode=None
)


@app.command("train")
def train(
    inputs: Annotated[list[str], typer.Argument(help="Files, folders and URLs of text.", metavar="INPUT...")],
    out: Annotated[Path, typer.Option(help="The .model file to write.", callback=here)] = Path("tokenizer.model"),
    vocab_size: Annotated[int | None, typer.Option(help="Pieces.  [default: 32000, fewer for little text]")] = None,
    model_type: Annotated[str | None, typer.Option("--type", help="bpe or unigram.  [default: bpe]")] = None,
    pipeline: Annotated[str, typer.Option(help="A pipeline file, or the name of a shipped one.")] = "default",
    text_field: TextField = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the sample.")] = None,
    jobs: Jobs = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file at --out.")] = False,
    allow_code: AllowCode = False,
) -> None:
    """Clean, filter and deduplicate text as a build does, and train a vocabulary on a sample of what is left."""
    from mrprep.building.vocabulary import train_tokenizer
    from mrprep.cli.given import given, job_count
    from mrprep.cli.terminal import say
    from mrprep.config import load_pipeline, with_inputs
    from mrprep.errors import MrprepError
    from mrprep.request import RunOptions

    if out.exists() and not overwrite:
        raise MrprepError(f"{out} exists: give --overwrite to replace it, or another --out")
    overrides = {
        "": given(seed=seed),
        "input": given(text=tuple(text_field) if text_field else None),
        "tokenize": given(vocab_size=vocab_size, model_type=model_type),
    }
    chosen = load_pipeline(pipeline, overrides)
    chosen = with_inputs(chosen, inputs)
    train_tokenizer(chosen, out, RunOptions(job_count(jobs), overwrite=overwrite, allow_code=allow_code), say)
    show(out)


@app.command("show")
def show(
    model: Annotated[Path, typer.Argument(help="A tokenizer file of any family.")],
    text: Annotated[str | None, typer.Option(help="Show how this text is cut into pieces.")] = None,
    eod: Eod = None,
    added_tokens: AddedTokens = None,
    pattern: Pattern = None,
) -> None:
    """Say what a vocabulary is: its size, its special ids, what it does to text, and who encodes with it."""
    from mrprep.printable import printable
    from mrprep.tokenizers.family import open_tokenizer

    tokenizer = open_tokenizer(model, choices(eod, added_tokens, pattern))
    for name, value in tokenizer.facts().items():
        print(f"{name:<26} {printable(str(value))}")
    if text is not None:
        text = text.encode("utf-8", "replace").decode()
        ids = tokenizer.encode_batch([text])[0].tolist()
        print(" ".join(f"{printable(tokenizer.piece(token))}:{token}" for token in ids))
        print(f"{len(ids)} tokens, {len(text.encode()) / max(1, len(ids)):.2f} bytes a token")


@app.command("compare")
def compare_(
    models: Annotated[list[Path], typer.Argument(help="Tokenizer files of any family.", metavar="FILE...")],
    on: Annotated[Path, typer.Option(help="File or folder of text to compare on.")],
    megabytes: Annotated[float, typer.Option(help="MB of text to take, 2,000 characters a document.", min=0.001)] = 4.0,
    json: Annotated[bool, typer.Option("--json", help="Print plain values as JSON.")] = False,
) -> None:
    """Say of tokenizers how many bytes a token holds, what is unknown, how fast they are, and where they differ."""
    import orjson

    from mrprep.comparison import compare, lines
    from mrprep.config import load_pipeline
    from mrprep.errors import UsageError

    if len(models) == 1:
        raise UsageError("one tokenizer file is compared with nothing: name two or more (tokenizer show tells of one)")
    found = compare(models, on, load_pipeline("raw", {}), int(megabytes * 1e6))
    if json:
        print(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())
        return
    for line in lines(found):
        print(line)
