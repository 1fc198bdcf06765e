"""The audit stage: a sample of rows from every shard, judged by the checks in ``mrprep/audit``.

Costs what ``mrprep verify`` costs, 2 to 4 s for 400 rows of 2,048, and a second for every 16 million tokens of train
that are looked through for copies, up to a budget; memory does not grow with the build.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from mrprep.audit.block import Look
from mrprep.audit.checks import Checks, Seen
from mrprep.audit.draw import draw
from mrprep.audit.figures import Figures
from mrprep.audit.finding import Finding
from mrprep.audit.how import How
from mrprep.audit.integrity import files_of, integrity, unreadable, without, wrong_files
from mrprep.audit.limits import Limits as Options
from mrprep.audit.ranks import rank_batches
from mrprep.audit.read import blocks, looked_up
from mrprep.audit.report import Audited, json_report, short_report, text_report
from mrprep.audit.scan import scan_rows, scan_texts
from mrprep.audit.subject import Shard, Subject, of_build, of_shards, open_tokenizer
from mrprep.builddir.manifest import Build
from mrprep.engine.progress import bar
from mrprep.errors import MrprepError
from mrprep.order import I64
from mrprep.tokenizers.protocol import Tokenizer

__all__ = [
    "VERSION",
    "How",
    "Options",
    "audit",
    "audit_build",
    "json_report",
    "of_build",
    "of_shards",
    "quick_audit",
    "short_report",
    "text_report",
]

VERSION = 2
QUICK_ROWS, QUICK_SHARDS = 64, 8
"""Rows of the short audit at the end of a build, and shards of each split that they are of."""


def audit_build(build: Build, *, sample: int, seed: int, options: Options | None = None) -> list[Finding]:
    """Return the findings of a build; see `audit`."""
    return list(audit(of_build(build), How(sample, seed), options or Options()).findings)


def quick_audit(build: Build, options: Options) -> Audited:
    """Judge a build by its first rows, in under a second and without MindSpore."""
    return audit(of_build(build), How(QUICK_ROWS, quick=True), options)


def audit(subject: Subject, how: How, options: Options) -> Audited:
    """Judge rows drawn from every shard.

    Args:
        subject: a finished build, or shards without a manifest.
        how: the audit is run.
        options: thresholds.

    Returns:
        One or more findings a check, always in the same order. A damaged build is a finding, no error.

    Raises:
        MrprepError: an evaluation file or the reference cannot be read, or shards have no tokenizer.
    """
    findings = [rank_batches(subject.seed, subject.rows, options.ranks, options.batch)]
    problems = list(subject.problems)
    if subject.build is not None and not how.quick:
        wrong = wrong_files(subject.build)
        findings.insert(0, integrity(subject.build, wrong))
        subject, problems = without(subject, wrong)
    try:
        tokenizer = open_tokenizer(subject, how.tokenizer, how.choices, checked=how.quick)
    except MrprepError as error:
        if subject.build is None:
            raise
        return Audited(subject.path, 0, 0, [*findings, unreadable([str(error)])], Figures())
    checks = Checks(subject, tokenizer, how, options)
    seen = Seen()
    problems += _show(subject, tokenizer, how, [seen, *checks.of_rows])
    problems += _look_wider(subject, how, options, checks)
    findings.append(unreadable(list(dict.fromkeys(problems))))
    findings += (finding for check in checks.all for finding in check.findings())
    return Audited(subject.path, seen.rows, seen.tokens, findings, checks.figures())


def _look_wider(subject: Subject, how: How, options: Options, checks: Checks) -> Iterator[str]:
    """Show the rest of train, the documents and the reference to the checks that want them; yield what is wrong."""
    tokens = options.scan if how.sample is not None else 1 << 62
    if checks.copies:
        yield from scan_rows(subject, checks.copies, tokens, how.seed)
    try:
        if checks.contamination and subject.build is not None:
            scan_texts(subject.build, checks.contamination, tokens, how.seed)
    except MrprepError as error:
        yield str(error)
    if how.against is not None and checks.reference:
        tokenizer = open_tokenizer(how.against, how.tokenizer, how.choices)
        reference, problems = _sound(how.against)
        yield from problems
        yield from _show(reference, tokenizer, how, [checks.reference], splits=("train",))


def _sound(reference: Subject) -> tuple[Subject, list[str]]:
    """Return a reference without its damaged shards, and a sentence for each of these."""
    if reference.build is None:
        return reference, list(reference.problems)
    names = [name for shard in reference.shards for name in files_of(shard)]
    return without(reference, wrong_files(reference.build, names))


def _show(
    subject: Subject, tokenizer: Tokenizer, how: How, looks: Sequence[Look], splits: Sequence[str] = ("train", "valid")
) -> Iterator[str]:
    """Show sampled rows to all looks; yield a sentence for each shard that cannot be read."""
    work = list(_work(subject, how, splits))
    known = looked_up(subject, [(shard, rows) for _, shard, rows in work]) if how.quick and work else None
    with bar(sum(rows.size for _, _, rows in work), "audit", "rows") as shown:
        for split, shard, rows in work:
            try:
                for block in blocks(subject, tokenizer, split, shard, rows, known):
                    for look in looks:
                        look.see(block)
            except MrprepError as error:
                yield str(error)
            shown.update(rows.size)


def _work(subject: Subject, how: How, splits: Sequence[str]) -> Iterator[tuple[str, Shard, I64]]:
    """Yield split, shard and the numbers of the rows to be looked at."""
    chosen = {split: _some(shards, how) for split, shards in subject.splits.items() if split in splits}
    rows = {split: [int(shard["rows"]) for shard in shards] for split, shards in chosen.items()}
    wanted = sum(map(sum, rows.values())) if how.sample is None else how.sample
    for split, drawn in draw(rows, wanted, how.seed).items():
        for shard, numbers in zip(chosen[split], drawn, strict=True):
            yield split, shard, np.arange(numbers.size) if how.quick else numbers


def _some(shards: Sequence[Shard], how: How) -> Sequence[Shard]:
    return shards[:: -(-len(shards) // QUICK_SHARDS)] if how.quick else shards
