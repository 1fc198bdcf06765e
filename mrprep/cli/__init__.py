"""The command line: one command a file. Nothing heavy is imported before a command runs."""

from mrprep.cli.app import main

__all__ = ["main"]
