"""``mrprep weights import|export``: weights of other programs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from mrprep.cli.target import here

if TYPE_CHECKING:
    from mrprep.conversion.record import Converted

app = typer.Typer(
    rich_markup_mode=None, no_args_is_help=True, help="Take weights of other programs, and give ours to them."
)
Out = Annotated[Path, typer.Option(help="Directory to make.", callback=here)]
Against = Annotated[
    Literal["transformers", "stored", "numpy"] | None,
    typer.Option(help="Whose logits ours must equal.  [default: the first of these that can be asked]"),
]
Most = Annotated[str, typer.Option(help="Bytes a file holds at most.")]


@app.command("import")
def import_(
    place: Annotated[Path, typer.Argument(help="A directory of weights, or a MindSpore .ckpt.", metavar="HF_DIR")],
    out: Out,
    config: Annotated[
        Path | None, typer.Option(help="Hugging Face's config.json, where it is not beside.", show_default=False)
    ] = None,
    rotary: Annotated[
        Literal["half", "interleaved"] | None,
        typer.Option(help="Order of queries and keys, where names do not tell.", show_default=False),
    ] = None,
    against: Against = None,
    max_file: Most = "5GB",
) -> None:
    """Write weights of a Llama, Mistral, Qwen2, Qwen3 or InternLM2 for train --init-from, eval and generate.

    Read are safetensors, pytorch_model.bin (with torch installed), Meta's consolidated files, and MindSpore's .ckpt.
    Logits on fixed ids are compared before anything appears.
    """
    from mrprep.cli.size import parse_size
    from mrprep.conversion.importing import SHARD_BYTES, import_weights

    most = parse_size(max_file, "--max-file") or SHARD_BYTES
    _tell(import_weights(place, out, config_file=config, rotary=rotary, against=against, shard_bytes=most), out)


@app.command("export")
def export(
    place: Annotated[Path, typer.Argument(help="A run, a checkpoint, or a directory of weights.", metavar="RUN|DIR")],
    out: Out,
    family: Annotated[
        str | None,
        typer.Option(help="llama, mistral, qwen2, qwen3 or internlm2.  [default: what it was]", show_default=False),
    ] = None,
    ckpt: Annotated[
        Literal["mindformers", "hf"] | None,
        typer.Option(help="Write a MindSpore model.ckpt with these names, not safetensors.", show_default=False),
    ] = None,
    against: Against = None,
    max_file: Most = "5GB",
) -> None:
    """Write weights as transformers reads them, as InternLM2's own code does, or as a MindSpore .ckpt."""
    from mrprep.cli.size import parse_size
    from mrprep.conversion.exporting import export_weights
    from mrprep.conversion.importing import SHARD_BYTES

    most = parse_size(max_file, "--max-file") or SHARD_BYTES
    done = export_weights(place, out, model_type=family, ckpt_names=ckpt, against=against, shard_bytes=most)
    _tell(done, out)


def _tell(done: "Converted", out: Path) -> None:
    from mrprep.printable import printable

    for line in done.key_map:
        print(line)
    for name in done.left_out:
        print(f"{printable(name)}: left out, it adds nothing")
    check = done.check
    print(
        f"check    logits differ by {check.largest:.1e} at most from those of {check.by} "
        f"(largest logit {check.logit:.3g}, {check.bound:.1e} allowed)"
    )
    print(f"weights  {printable(str(out))}: {done.parameters:,} parameters, {done.bytes:,} bytes")
