"""MindSpore's pages of error text in one line."""

from mrprep.printable import printable


def reason(error: Exception) -> str:
    """Return the line of a MindSpore exception that says what happened, safe to show."""
    lines = str(error).splitlines()
    return printable(next((line.removeprefix("[ERROR] ") for line in lines if line.startswith("[ERROR]")), str(error)))
