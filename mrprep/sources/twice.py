"""Files that several sources of one command hold: each is read once, for the first of them."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence

from mrprep.sources.discover import Listing
from mrprep.sources.source import Reading


def named_before(listings: Sequence[Listing]) -> frozenset[tuple[str, bytes]]:
    """Return source and path of each file that an earlier source holds, too, and that would be read the same way.

    Memory: the paths of the sources of which one lies in the other.
    """
    roots = [_root(listing) for listing in listings]
    count = Counter(roots)
    above = {folder for root in count for folder in _above(root)}
    seen: set[tuple[bytes, str]] = set()
    found = set()
    for listing, root in zip(listings, roots, strict=True):
        if count[root] == 1 and root not in above and not any(folder in count for folder in _above(root)):
            continue
        reading = repr([getattr(listing.source, name) for name in Reading.model_fields])
        for file in listing.files:
            place = (os.path.join(root, file.path), reading)
            if place in seen:
                found.add((listing.source.name, file.path))
            seen.add(place)
    return frozenset(found)


def told(count: int) -> str:
    """Say how many files were named twice."""
    return f"{count:,} {'file was' if count == 1 else 'files were'} named twice: each is read once"


def _root(listing: Listing) -> bytes:
    return listing.root if listing.source.url else os.path.realpath(listing.root)


def _above(folder: bytes) -> Iterator[bytes]:
    """Yield the folders that one lies in."""
    while (parent := os.path.dirname(folder)) not in (b"", folder):
        yield parent
        folder = parent
