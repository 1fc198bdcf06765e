"""``mrprep tokenizer train|show``."""


import typer

app = typer.Typer(help="Train a SentencePiece vocabulary, or look at one.", no_args_is_help=True, rich_markup_mode=None)
