"""The books of a build: whatever goes in comes out somewhere, or the build fails and says where."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mrprep.errors import BugError


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the books: both sides must be equal."""

    name: str
    left: int
    right: int

    def check(self) -> None:
        """Raise BugError when the sides differ."""
        if self.left != self.right:
            raise BugError(
                f"the ledger does not add up at {self.name}: {self.left} against {self.right}; "
                "nothing was published, please report this with the work directory"
            )


def added(tables: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the sum of count tables: numbers added by key, nested tables added in turn, keys sorted."""
    total: dict[str, Any] = {}
    for key in sorted({key for table in tables for key in table}):
        values = [table[key] for table in tables if key in table]
        total[key] = added(values) if isinstance(values[0], Mapping) else sum(values)
    return total
