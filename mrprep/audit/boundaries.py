"""Does an EOD close each document, and a BOS open it where the build has them?"""

from collections.abc import Iterator

import numpy as np

from mrprep.audit.block import Block
from mrprep.audit.finding import Finding, Tally
from mrprep.tokenizers.protocol import Tokenizer


class Boundaries:
    """Where one document follows another in a row, EOD stands between them; offsets are the packer's.

    Args:
        tokenizer: says what EOD and BOS are.
        add_bos: whether documents of this build begin with BOS.
    """

    def __init__(self, tokenizer: Tokenizer, *, add_bos: bool) -> None:
        self._eod, self._bos = tokenizer.eod_id, tokenizer.bos_id if add_bos else None
        self._ends, self._begins = Tally(), Tally()

    def see(self, block: Block) -> None:
        """Take in a block."""
        here = block.stretches
        ids = np.array([block.found[doc].id if doc in block.found else 0 for doc in here.doc.tolist()], np.uint64)
        follows = np.flatnonzero(here.row[1:] == here.row[:-1])
        joined = (ids[follows] == ids[follows + 1]) & (here.copy[follows] == here.copy[follows + 1])
        ends = follows[~joined]  # pieces of one document follow each other without EOD
        last = here.at[ends] + here.length[ends] - 1
        wrong = ends[block.tokens[here.row[ends], last] != self._eod]
        self._ends.add(wrong.size, ends.size, (block.example(stretch) for stretch in wrong.tolist()))
        if self._bos is not None:
            self._see_begins(block)

    def _see_begins(self, block: Block) -> None:
        here = block.stretches
        first = np.array([doc in block.found and block.found[doc].piece == 0 for doc in here.doc.tolist()], bool)
        begins = np.flatnonzero((here.token == 0) & first)
        wrong = begins[block.tokens[here.row[begins], here.at[begins]] != self._bos]
        self._begins.add(wrong.size, begins.size, (block.example(stretch) for stretch in wrong.tolist()))

    def findings(self) -> Iterator[Finding]:
        """Yield a judgement on EOD, and one on BOS where the build has it."""
        judged = [("end-of-document", "end without EOD", self._ends)]
        if self._bos is not None:
            judged.append(("begin-of-document", "begin without BOS", self._begins))
        for check, lack, found in judged:
            yield found.finding(
                check,
                "failure" if found.hits else "ok",
                found.hits,
                1,
                f"{found.hits:,} of {found.total:,} documents {lack} within a row",
                "a model would read documents as one: rows and provenance differ, run mrprep verify, build again",
            )
