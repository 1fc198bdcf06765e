"""The audit stage: a sample of rows from every shard, judged by the checks in ``mrprep/audit``.

Costs what ``mrprep verify`` costs, and 1 to 2 s for 400 rows of 2,048; memory does not grow with the build.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from pydantic import Field

from mrprep.audit.alignment import Alignment
from mrprep.audit.block import Look
from mrprep.audit.boundaries import Boundaries
from mrprep.audit.draw import draw
from mrprep.audit.drift import Drift
from mrprep.audit.finding import Finding
from mrprep.audit.frequency import Frequency
from mrprep.audit.ids import Control, Range
from mrprep.audit.integrity import integrity, unreadable
from mrprep.audit.leftovers import PATTERNS, Leftovers
from mrprep.audit.padding import Padding
from mrprep.audit.ranks import rank_batches
from mrprep.audit.read import blocks
from mrprep.audit.repeats import Identical, Monotone
from mrprep.audit.report import json_report, text_report
from mrprep.audit.unknown import Unknown
from mrprep.builddir.manifest import Build
from mrprep.engine.progress import bar
from mrprep.errors import MrprepError
from mrprep.options import Options as BaseOptions
from mrprep.tokenizers.protocol import Tokenizer

__all__ = ["VERSION", "Options", "audit_build", "json_report", "text_report"]

VERSION = 1


class Check(Look, Protocol):
    """A check that goes by rows."""

    def findings(self) -> Iterator[Finding]:
        """Yield what it has found in all blocks."""


class Options(BaseOptions):
    """From where on a number is a warning or a failure: pairs are (warning, failure)."""

    unknown: tuple[float, float] = (0.001, 0.02)
    """Share of unknown tokens. One in a thousand is a character a page lost; one in fifty, whole words."""
    byte_fallback: tuple[float, float] = (0.1, 0.4)
    """Share of byte tokens. Rare Han in a fitting vocabulary give 1 to 3 %; a wrong vocabulary over half."""
    padding: tuple[float, float] = (0.05, 0.5)
    """Share of padding. concat pads under one row a shard; 5 % is where packing itself warns."""
    top_token: tuple[float, float] = (0.2, 0.5)
    """Share of the most frequent token. The comma or line end leads with 4 to 10 % in text and code."""
    entropy: tuple[float, float] = (5.0, 3.0)
    """Bits a token, at most half and three tenths of log2 of the vocabulary. Text has 8 to 11."""
    unseen: float = Field(0.5, ge=0, le=1)
    """Share of pieces not seen among 20 tokens a piece; worth a note only, it harms nothing but speed."""
    identical_rows: tuple[float, float] = (0.005, 0.05)
    """Share of rows that equal another sampled one. Deduplicated and shuffled text has none."""
    monotone_rows: tuple[float, float] = (0.01, 0.05)
    """Share of rows of one repeated phrase. Filtered text has none; tables of numbers a few in a thousand."""
    drift: tuple[float, float] = (0.002, 0.2)
    """Bits beyond what documents dealt at random differ by. One bad shard of eight is 0.1 and more."""
    odd_characters: tuple[float, float] = (0.02, 0.5)
    """Share of rows with control, zero-width, private-use or lost characters; cleaned text has next to none."""
    mojibake: tuple[float, float] = (0.01, 0.2)
    """Share of rows with three stretches or more in a wrong encoding."""
    html: tuple[float, float] = (0.05, 0.5)
    """Share of rows with 20 tags or entities or more; documentation on HTML itself stays below."""
    literal_specials: tuple[float, float] = (0.02, 0.5)
    """Share of rows with a special token written out; texts on language models have a few."""
    ranks: tuple[int, ...] = (1, 2, 4, 8)
    """Numbers of data-parallel ranks that are tried."""
    batch: int = Field(8, ge=1)
    """Rows a step over all ranks, a multiple of each of ``ranks``."""


def audit_build(build: Build, *, sample: int, seed: int, options: Options | None = None) -> list[Finding]:
    """Judge a build by rows drawn from every shard.

    Args:
        build: a finished build.
        sample: rows over all shards, in proportion to their size, at least one each.
        seed: of the sample.
        options: thresholds; the defaults if None.

    Returns:
        One or more findings a check, always in the same order. A damaged build is a finding, no error.
    """
    chosen = options or Options()
    findings = [integrity(build), rank_batches(build, chosen.ranks, chosen.batch)]
    try:
        tokenizer = _tokenizer(build)
    except MrprepError as error:
        return [*findings, unreadable([str(error)])]
    checks = _checks(build, tokenizer, chosen, seed)
    findings.append(unreadable(list(_look(build, tokenizer, checks, sample, seed))))
    return findings + [finding for check in checks for finding in check.findings()]


def _checks(build: Build, tokenizer: Tokenizer, options: Options, seed: int) -> list[Check]:
    leftovers = (options.odd_characters, options.mojibake, options.html, options.literal_specials)
    return [
        Range(tokenizer.vocab_size),
        Control(tokenizer),
        Unknown(tokenizer, options.unknown, options.byte_fallback),
        Padding(build.manifest, options.padding),
        Frequency(tokenizer, options.top_token, options.entropy, options.unseen),
        Identical(options.identical_rows),
        Monotone(options.monotone_rows),
        Alignment(build, tokenizer),
        Boundaries(tokenizer, add_bos=bool(build.manifest["pipeline"]["tokenize"]["add_bos"])),
        *(Leftovers(pattern, limits) for pattern, limits in zip(PATTERNS, leftovers, strict=True)),
        Drift("shard", options.drift, seed),
        Drift("split", options.drift, seed),
    ]


def _look(build: Build, tokenizer: Tokenizer, checks: Sequence[Check], sample: int, seed: int) -> Iterator[str]:
    """Show sampled rows to all checks; yield a sentence for each shard that cannot be read."""
    splits = {split: facts["shards"] for split, facts in build.manifest["splits"].items()}
    drawn = draw({split: [shard["rows"] for shard in shards] for split, shards in splits.items()}, sample, seed)
    work = [(split, *pair) for split in splits for pair in zip(splits[split], drawn[split], strict=True)]
    with bar(sum(rows.size for _, _, rows in work), "audit", "rows") as shown:
        for split, shard, rows in work:
            try:
                for block in blocks(build, tokenizer, split, shard, rows):
                    for check in checks:
                        check.see(block)
            except MrprepError as error:
                yield str(error)
            shown.update(rows.size)


def _tokenizer(build: Build) -> Any:
    from mrprep.tokenizers.sentencepiece import open_sentencepiece

    facts = build.manifest["tokenizer"]
    return open_sentencepiece(build.file(facts["file"]), eod=facts["eod_piece"])
