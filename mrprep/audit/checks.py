"""All checks of an audit, put together for what is audited."""

from collections.abc import Iterator
from typing import Protocol

from mrprep.audit.alignment import Alignment
from mrprep.audit.block import Block, Look
from mrprep.audit.boundaries import Boundaries
from mrprep.audit.canonical import Canonical
from mrprep.audit.contamination import Contamination
from mrprep.audit.copies import Copies
from mrprep.audit.drift import SHARDS, SPLITS, Drift, against
from mrprep.audit.figures import Figures
from mrprep.audit.finding import Finding
from mrprep.audit.frequency import Frequency
from mrprep.audit.how import How
from mrprep.audit.ids import Control, Range, UserDefined
from mrprep.audit.leftovers import Leftovers, patterns
from mrprep.audit.lengths import Lengths
from mrprep.audit.limits import Limits
from mrprep.audit.mix import Languages, Mix
from mrprep.audit.ngrams import Filling
from mrprep.audit.padding import Padding
from mrprep.audit.repeats import Identical, Monotone
from mrprep.audit.subject import Subject
from mrprep.audit.unknown import Unknown
from mrprep.printable import printable
from mrprep.tokenizers.protocol import Tokenizer


class Check(Protocol):
    """What is asked for findings when all has been looked at."""

    def findings(self) -> Iterator[Finding]:
        """Yield what it has found."""


class RowCheck(Look, Check, Protocol):
    """A check that goes by sampled rows."""


class Seen:
    """Counts what was looked at."""

    def __init__(self) -> None:
        self.rows = self.tokens = 0

    def see(self, block: Block) -> None:
        """Take in a block."""
        self.rows += block.rows.size
        self.tokens += int(block.text.sum())


class Reference:
    """Shows the blocks of a reference to a check of drift."""

    def __init__(self, drift: Drift, name: str) -> None:
        self._drift, self._name = drift, name

    def see(self, block: Block) -> None:
        """Take in a block of the reference."""
        self._drift.see_as(self._name, block)


class Checks:
    """The checks of one audit.

    Args:
        subject: what is audited.
        tokenizer: of it.
        how: the audit is run.
        limits: thresholds.
    """

    def __init__(self, subject: Subject, tokenizer: Tokenizer, how: How, limits: Limits) -> None:
        self._frequency = Frequency(tokenizer, limits.top_token, limits.entropy, limits.unseen)
        self._mix, self._languages = Mix(limits.bytes_per_token), Languages(limits.minor_languages)
        self._lengths = Lengths(tokenizer.eod_id, limits.short_documents, limits.cut_documents)
        self._shards, self._splits = (Drift(of, limits.drift, how.seed) for of in (SHARDS, SPLITS))
        self.copies = None if how.quick else Copies(limits.repeated_text, limits.leaked_text, subject.sources)
        """Wants to be shown all of train."""
        self.contamination = Contamination(how.evaluation, limits.contaminated) if how.evaluation else None
        """Wants to be shown the documents, where there is a manifest."""
        self.reference: Reference | None = None
        """Wants to be shown the rows of the reference."""
        self.of_rows: list[RowCheck] = [
            *_of_ids(subject, tokenizer, limits),
            self._frequency,
            Identical(limits.identical_rows),
            Monotone(limits.monotone_rows),
            Filling(limits.filling_ngrams, limits.filling_source),
            *([self.copies] if self.copies else []),
            *_of_texts(subject, tokenizer, limits),
            self._mix,
            *([] if how.quick else [self._languages]),
            self._lengths,
            *([] if how.quick else [self._shards, self._splits]),
            *self._against(tokenizer, how, limits),
        ]
        """Want to be shown the sampled rows."""
        apart = [self.contamination] if self.contamination else []
        if subject.build is None:
            self.of_rows += apart
        self.all: list[Check] = [*self.of_rows, *(apart if subject.build is not None else [])]
        """In the order of their findings."""

    def _against(self, tokenizer: Tokenizer, how: How, limits: Limits) -> Iterator[RowCheck]:
        if how.against is not None:
            same = how.against.build is not None and _tokenizer_of(how.against) == tokenizer.sha256
            drift = Drift(against(same_tokenizer=same), limits.drift, how.seed)
            self.reference = Reference(drift, printable(how.against.path.name))
            yield drift

    def figures(self) -> Figures:
        """Return what the page draws; after the findings."""
        ranks, shares = self._frequency.curve
        return Figures(
            ranks=ranks,
            shares=shares,
            top=self._frequency.top,
            groups=self._frequency.groups,
            bytes_per_token=self._mix.bytes_per_token,
            scripts=self._mix.scripts,
            all_scripts=self._mix.all_scripts,
            languages=self._languages.shares,
            document_bytes=self._lengths.document_bytes,
            row_documents=self._lengths.row_documents,
            shard_heat=self._shards.heat(),
            split_heat=self._splits.heat(),
        )


def _of_ids(subject: Subject, tokenizer: Tokenizer, limits: Limits) -> list[RowCheck]:
    return [
        Range(tokenizer.vocab_size),
        Control(tokenizer),
        UserDefined(tokenizer, limits.user_defined),
        Unknown(tokenizer, limits.unknown, limits.byte_fallback),
        Padding(subject.build, limits.padding),
    ]


def _of_texts(subject: Subject, tokenizer: Tokenizer, limits: Limits) -> Iterator[RowCheck]:
    if subject.build is None:
        yield Canonical(tokenizer, limits.not_canonical)
    else:
        yield Alignment(subject.build, tokenizer)
        yield Boundaries(tokenizer, add_bos=bool(subject.build.manifest["pipeline"]["tokenize"]["add_bos"]))
    yield from (Leftovers(pattern, of) for pattern, of in patterns(limits))


def _tokenizer_of(subject: Subject) -> str:
    assert subject.build is not None
    return str(subject.build.manifest["tokenizer"].get("sha256", ""))
