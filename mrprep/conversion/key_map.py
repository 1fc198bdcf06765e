"""The table of which array became which, a line for all layers."""

from collections.abc import Sequence

from mrprep.conversion.names import Link, anonymous
from mrprep.printable import printable


def key_map(links: Sequence[Link]) -> list[str]:
    """Return the lines: theirs, shape, how often, ours, and what was done to the rows."""
    rows: dict[tuple[str, str], list[Link]] = {}
    for link in links:
        rows.setdefault((anonymous(link.theirs), _together(link.ours)), []).append(link)
    cells = [
        (theirs, str(list(found[0].shape)), f"x{len(found)}" if len(found) > 1 else "", _said(theirs, ours, found[0]))
        for (theirs, ours), found in rows.items()
    ]
    widths = [max(len(row[column]) for row in cells) for column in range(3)]
    lines = ("  ".join([*map(str.ljust, row[:3], widths), row[3]]).rstrip() for row in cells)
    return [printable(line, 400) for line in lines]


def _together(ours: tuple[str, ...]) -> str:
    """Write the names of queries, keys and values as one."""
    first = anonymous(ours[0])
    return first.replace(".q_proj.", ".{q,k,v}_proj.") if len(ours) > 1 else first


def _said(theirs: str, ours: str, link: Link) -> str:
    how = link.arrangement.said
    if theirs == ours and not how:
        return "= the same"
    return f"= {ours}{how and f' ({how})'}"
