"""``mrprep clean``: what cleaning does to a file, before and after, rule by rule."""

import os
import sys
from typing import Annotated, Any

import typer

from mrprep.cli.given import Encoding, TextField

CHANGES_A_RULE = 3
DOCUMENTS_SHOWN = 10


def clean(
    file: Annotated[str, typer.Argument(help="A file of text, or its URL, in any form that a build reads.")],
    pipeline: Annotated[str, typer.Option(help="Pipeline whose [clean] is shown: a name or a .toml file.")] = "default",
    text_field: TextField = None,
    encoding: Encoding = None,
    show_all: Annotated[bool, typer.Option("--all", help="Show every change of every document.")] = False,
) -> None:
    """Show what cleaning changes in the documents of a file, each change with its rule; write nothing."""
    from mrprep.cli.given import given
    from mrprep.config import load_pipeline
    from mrprep.preview import preview

    given_input: dict[str, Any] = given(text=tuple(text_field) if text_field else None, encoding=encoding)
    chosen = load_pipeline(pipeline, {"input": given_input})
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    limits = (None, None) if show_all else (DOCUMENTS_SHOWN, CHANGES_A_RULE)
    for line in preview(file, chosen, *limits, colour=colour):
        print(line)
