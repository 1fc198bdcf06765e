"""How a tokenizer file is to be read, where it does not say so itself: options of several commands."""

from typing import Annotated, Any, Literal

import typer

from mrprep.cli.given import given

Eod = Annotated[
    str | None, typer.Option("--eod", help="Token that closes documents, where the tokenizer does not say which.")
]
AddedTokens = Annotated[
    Literal["none", "plain", "all"] | None,
    typer.Option("--added-tokens", help="Added tokens that match in texts: none, plain or all.  [default: none]"),
]
Pattern = Annotated[
    str | None, typer.Option("--pattern", help="How a tiktoken rank file cuts text: a name, or a regular expression.")
]


def choices(eod: str | None, added_tokens: str | None, pattern: str | None) -> Any:
    """Return the ``Choices`` that the user made."""
    from mrprep.tokenizers.choices import Choices

    return Choices(**given(eod=eod, added_tokens=added_tokens, pattern=pattern))
