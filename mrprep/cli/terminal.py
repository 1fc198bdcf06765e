"""How a command speaks while it works: lines on stderr, so that stdout holds the result alone."""

import sys


def say(message: str) -> None:
    """Print a line for the user without breaking a progress bar."""
    from tqdm import tqdm

    tqdm.write(message, file=sys.stderr)
