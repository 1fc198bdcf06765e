"""How an audit is run: what decides which rows it sees, and what it compares them with."""

from dataclasses import dataclass
from pathlib import Path

from mrprep.audit.subject import Subject
from mrprep.tokenizers.choices import AS_IT_IS, Choices


@dataclass(frozen=True, slots=True)
class How:
    """How an audit is run."""

    sample: int | None = 400
    """Rows over all shards, in proportion to their size, at least one each; all if None."""
    seed: int = 0
    """Of the sample."""
    tokenizer: Path | None = None
    """That made shards without a manifest."""
    choices: Choices = AS_IT_IS
    """How it is to be read."""
    evaluation: tuple[Path, ...] = ()
    """Evaluation files that documents may not hold."""
    against: Subject | None = None
    """A reference that the mix of text is held against."""
    quick: bool = False
    """Only what takes no second: the first rows of each shard, no checksums, no scan of train, no languages."""
