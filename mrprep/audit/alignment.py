"""Does each row say what the documents say that it was made of?"""

from collections.abc import Iterator
from itertools import chain

import numpy as np

from mrprep.audit.block import Block, Example
from mrprep.audit.finding import Finding, Tally
from mrprep.audit.trace import texts
from mrprep.builddir.manifest import Build
from mrprep.order import I64
from mrprep.printable import printable
from mrprep.tokenizers.model_file import SPACE
from mrprep.tokenizers.protocol import Tokenizer

_MOST = 0.5
"""From this share of wrong stretches on in all shards, it is the tokenizer that is wrong."""
_SHOWN = 60


class Alignment:
    """Each stretch, decoded, must stand in the cleaned text of its document.

    Exact where the tokenizer gives a text back as it was; else against the text as encoded and decoded, so that
    what its own normaliser does is no fault. Characters that a cut goes through are left out.
    """

    def __init__(self, build: Build, tokenizer: Tokenizer) -> None:
        self._build, self._tokenizer = build, tokenizer
        facts = build.manifest["tokenizer"]
        self._exact = (
            facts["normalization"] == "identity" and not facts["remove_extra_whitespaces"] and tokenizer.unk_id is None
        )
        self._stretches = Tally()
        self._by_shard: dict[str, Tally] = {}

    def see(self, block: Block) -> None:
        """Take in a block; reads those texts of its documents that it does not hold."""
        wrong = list(self._wrong(block))
        total = block.stretches.row.size
        self._stretches.add(len(wrong), total, wrong)
        self._by_shard.setdefault(block.shard, Tally()).add(len(wrong), total)

    def _wrong(self, block: Block) -> Iterator[Example]:
        order = np.argsort(block.stretches.doc, kind="stable")
        docs = block.stretches.doc[order]
        missing = docs[[doc not in block.texts for doc in docs.tolist()]]
        for doc, text in chain(block.texts.items(), texts(self._build, missing)):
            rendered = self._rendered(text)
            for stretch in _slice(order, docs, doc).tolist():
                decoded = self._comparable(block.decoded[stretch])
                if decoded not in rendered:
                    source = printable(rendered, _SHOWN)
                    yield block.example(stretch, f"{printable(decoded, _SHOWN)} <> {source}")

    def _rendered(self, text: str) -> str:
        """Return a text as this tokenizer gives it back; U+2581 stands for a space, as in every SentencePiece."""
        if self._exact:
            return text.replace(SPACE, " ")
        return self._tokenizer.decode(self._tokenizer.encode_batch([text])[0].tolist())

    def _comparable(self, decoded: str) -> str:
        whole = decoded.strip("\ufffd").replace(SPACE, " ") if self._exact else decoded.strip("\ufffd")
        return whole if self._exact else whole.strip()

    def findings(self) -> Iterator[Finding]:
        """Yield the judgement."""
        found = self._stretches
        bad = {shard: tally.share for shard, tally in self._by_shard.items() if tally.hits}
        message = f"{found.hits:,} of {found.total:,} stretches of documents do not decode to the text they came from"
        advice = "rows and texts of this build do not belong together: run mrprep verify, and build again"
        if found.share >= _MOST and len(bad) == len(self._by_shard):
            message += "; the tokenizer in the build is not the one that made these ids"
            advice = "put the tokenizer back that made the shards, or build again with this one"
        elif bad:
            worst = max(bad, key=lambda shard: bad[shard])
            message += f"; most in {printable(worst)}, {bad[worst]:.0%}"
        yield found.finding(
            "alignment", "failure" if found.hits else "ok", found.share, 1 / max(1, found.total), message, advice
        )


def _slice(order: I64, docs: I64, doc: int) -> I64:
    low, high = np.searchsorted(docs, (doc, doc + 1))
    return order[low:high]
