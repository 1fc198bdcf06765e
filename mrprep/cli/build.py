"""``mrprep build``: from a folder of text to audited shards."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from mrprep.cli.given import AllowCode, Decontaminate, Encoding, TextField
from mrprep.cli.reading import Eod
from mrprep.cli.target import Work, hand_over, target
from mrprep.cli.where import Address, Executor, Jobs, Memory, where

Layout = typer.Option(help="flat: input_ids [S+1]; mcore: input_ids, labels, loss_mask, position_ids, actual_seq_len.")


def build(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(help="Files, folders and URLs of text.", metavar="INPUT..."),
    ] = None,
    seq: Annotated[int | None, typer.Option(help="Tokens a row trains on.  [default: 2048]")] = None,
    pipeline: Annotated[
        str | None,
        typer.Option(help="A pipeline file, or one of: default, zh-web, en-web, books, raw.  [default: default]"),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(help="Directory to make, or a URL to upload the build to.  [default: INPUT.build here]"),
    ] = None,
    work: Work = None,
    tokenizer: Annotated[
        Path | None,
        typer.Option(help="A tokenizer file of any family.  [default: trained on the text]"),
    ] = None,
    eod: Eod = None,
    vocab_size: Annotated[int | None, typer.Option(help="Pieces of a trained vocabulary.")] = None,
    text_field: TextField = None,
    against: Annotated[
        list[Path] | None,
        typer.Option(help="An earlier build: what it holds is a duplicate; give it again for several."),
    ] = None,
    append: Annotated[
        list[Path] | None,
        typer.Option(help="Add the inputs to this build, by its own options and tokenizer; what it holds wins."),
    ] = None,
    decontaminate: Decontaminate = None,
    encoding: Encoding = None,
    shards: Annotated[int | None, typer.Option(help="Shards to write for training.")] = None,
    shard_size: Annotated[str | None, typer.Option(help="Size of a shard instead, such as 64MB.")] = None,
    layout: Annotated[str | None, Layout] = None,
    packing: Annotated[str | None, typer.Option(help="concat (no padding) or bestfit (documents stay whole).")] = None,
    valid: Annotated[float | None, typer.Option(help="Share of the tokens to hold back for validation.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of order, samples and the valid split.")] = None,
    jobs: Jobs = None,
    memory: Memory = None,
    executor: Executor = "processes",
    address: Address = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Stop at the first input that cannot be read; exit with 4 if the audit fails."),
    ] = False,
    keep_work: Annotated[
        bool,
        typer.Option("--keep-work", help="Keep OUT.work, so that other options redo only what follows them."),
    ] = False,
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", help="Replace another build, or unfinished work on other inputs, at OUT."),
    ] = False,
    hash_inputs: Annotated[
        bool,
        typer.Option("--hash-inputs", help="Tell changed inputs by their content instead of their mtime."),
    ] = False,
    allow_code: AllowCode = False,
    no_audit: Annotated[bool, typer.Option("--no-audit", help="Leave out the short audit at the end.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be read and done; write nothing.")] = False,
) -> None:
    """Clean, filter, deduplicate, tokenize, pack and shard a folder of text.

    Killed at any moment, the same command goes on where it was and ends with the same bytes.
    """
    from mrprep.cli.given import absolute, given
    from mrprep.cli.size import parse_size
    from mrprep.config import decontaminated, load_pipeline, with_inputs
    from mrprep.errors import UsageError
    from mrprep.request import RunOptions

    if shards is not None and shard_size is not None:
        raise UsageError("--shards and --shard-size say the same thing: give one of them")
    if tokenizer is not None and vocab_size is not None:
        raise UsageError("--vocab-size is for training a vocabulary, and --tokenizer gives one: leave one of them out")
    overrides: dict[str, dict[str, Any]] = {
        "": given(seed=seed, against=absolute(against)),
        "input": given(text=tuple(text_field) if text_field else None, encoding=encoding),
        "tokenize": given(model=tokenizer, vocab_size=vocab_size, eod=eod),
        "pack": given(seq=seq, layout=layout, packing=packing),
        "shard": given(shards=shards, shard_size=parse_size(shard_size, "--shard-size"), valid=valid),
    }
    switches = RunOptions(
        **where(jobs, memory, executor, address),
        keep_work=keep_work,
        overwrite=overwrite,
        strict=strict,
        hash_inputs=hash_inputs,
        allow_code=allow_code,
    )
    evaluation = absolute(decontaminate) or ()
    if append:
        from mrprep.cli.append import add, only_one, refuse_placed

        refuse_placed(out, work, against)
        add(
            only_one(append),
            inputs or (),
            pipeline,
            overrides,
            evaluation,
            switches,
            audit=not no_audit,
            dry_run=dry_run,
        )
        return
    chosen = decontaminated(load_pipeline(pipeline or "default", overrides), evaluation)
    if inputs:
        chosen = with_inputs(chosen, inputs)
    if not chosen.source:
        raise UsageError("name an INPUT, or a --pipeline that has a [[source]]")
    folder, url = target(f"{chosen.source[0].name}.build" if out is None else out, work)
    if dry_run:
        from mrprep.dryrun import describe

        print(describe(chosen, folder, url))
        return
    _run(chosen, folder, replace(switches, url=url), audit=not no_audit)


def _run(chosen: Any, out: Path, switches: Any, *, audit: bool) -> None:
    from mrprep.building.build import build
    from mrprep.cli.short_audit import print_audit
    from mrprep.cli.terminal import say

    made = build(chosen, out, switches, say)
    hand_over(made, switches, partial(print_audit, made, chosen, strict=switches.strict) if audit else None)
