"""The wider looks, beyond the sample: rows of train for copies, documents for stretches of evaluation files."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice

import numpy as np
import numpy.typing as npt

from mrprep.audit.block import BLOCK_TOKENS, I32, Example
from mrprep.audit.contamination import Contamination
from mrprep.audit.copies import Copies
from mrprep.audit.foreign import rectangle
from mrprep.audit.subject import Shard, Subject
from mrprep.audit.trace import kept_texts, text_groups
from mrprep.builddir.manifest import Build
from mrprep.engine.progress import bar
from mrprep.errors import MrprepError
from mrprep.mindrecord.foreign import read_ragged
from mrprep.mindrecord.read import stored_batches
from mrprep.order import permute
from mrprep.printable import printable
from mrprep.provenance.tables import Found

_BYTES = 4
"""Of text a token, about."""
_BATCH = 64


def scan_rows(subject: Subject, copies: Copies, tokens: int, seed: int) -> Iterator[str]:
    """Show rows of train to a check, shards in a seeded order; yield a sentence for each that cannot be read.

    Args:
        subject: the build.
        copies: the check.
        tokens: read at most, about.
        seed: of the order.
    """
    shards = subject.splits["train"]
    wanted = max(1, min(subject.rows, tokens // subject.width))
    read = 0
    with bar(wanted, "copies", "rows") as shown:
        for number in permute(seed, max(1, len(shards)), np.arange(len(shards))).tolist():
            try:
                for first, rows in _batches(subject, shards[number], min(shards[number]["rows"], wanted - read)):
                    copies.scan(str(shards[number]["file"]), first, rows)
                    read += len(rows)
                    shown.update(len(rows))
            except MrprepError as error:
                yield str(error)
    copies.looked = read / max(1, subject.rows)


def _batches(subject: Subject, shard: Shard, count: int) -> Iterator[tuple[int, I32]]:
    """Yield the number of the first row, and rows int32[n, S+1], of the first ``count`` of a shard."""
    if count <= 0 or not subject.file(shard).is_file():
        return  # a missing one has been told
    indices = range(count)
    if subject.build is None:
        rows = read_ragged(subject.file(shard), subject.column, indices)
        step = max(1, BLOCK_TOKENS // subject.width)
        for first in range(0, count, step):
            yield first, rectangle(list(islice(rows, step)))
        return
    mcore = subject.build.manifest["layout"] == "mcore"
    names = ["input_ids", "labels"] if mcore else ["input_ids"]
    first = 0
    for batch in stored_batches(subject.file(shard), names, np.arange(count)):
        tokens: npt.NDArray[np.int32] = batch["input_ids"]
        if mcore:
            tokens = np.concatenate([tokens, batch["labels"][:, -1:]], axis=1)
        yield first, tokens
        first += len(tokens)


def scan_texts(build: Build, contamination: Contamination, size: int, seed: int) -> None:
    """Show documents of a build to a check, row groups of text/ in a seeded order.

    Args:
        build: the build.
        contamination: the check.
        size: tokens' worth of text read at most, about.
        seed: of the order.

    Raises:
        MrprepError: a text table is missing or damaged.
    """
    groups = text_groups(build)
    total, left = sum(group.bytes for group in groups), size * _BYTES
    read = 0
    with bar(min(total, left), "evaluation", "B") as shown:
        for number in permute(seed, max(1, len(groups)), np.arange(len(groups))).tolist():
            if read >= left:
                break
            founds, texts = kept_texts(build, groups[number])
            contamination.add(texts, partial(_example, founds))
            read += groups[number].bytes
            shown.update(groups[number].bytes)
    contamination.looked = read / max(1, total)


def _example(founds: Sequence[Found], number: int, text: str) -> Example:
    return Example("", founds[number].place, printable(text))
