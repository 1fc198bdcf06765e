"""The kinds of error a user meets, each with the exit code the command line gives it.

A message is one sentence that says what, where (file and line), and what to do.
"""

from typing import ClassVar


class MrprepError(Exception):
    """A user's mistake or an input that cannot be served: exit code 1, no traceback."""

    exit_code: ClassVar[int] = 1


class UsageError(MrprepError):
    """The command line asks for something that cannot be: exit code 2."""

    exit_code = 2


class NoRowError(MrprepError, IndexError):
    """A row was asked for by a number that no row has; an ``IndexError`` too, for callers who expect that."""


class BugError(MrprepError):
    """Something that must hold does not (a ledger that does not add up): exit code 3."""

    exit_code = 3


class AuditError(MrprepError):
    """The data failed an audit: exit code 4."""

    exit_code = 4
