"""The weights that a run left, for whoever only reads them: a run's newest checkpoint, or a directory of weights."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.training import checkpoint
from mrprep.training.config import ModelConfig
from mrprep.training.config_json import read_config, read_object
from mrprep.training.keys import read_fitting
from mrprep.training.tensors import SINGLE, Arrays, has_weights

ALIGNED = "alignment.json"
"""What ``mrprep vocab align`` says beside the weights that it moved."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where weights lie, and what is said of them there."""

    path: Path
    """The directory with the files."""
    step: int = 0
    """Steps they were trained for; 0 when that is not said."""
    tokenizer_sha256: str | None = None
    """Of the tokenizer that their ids are of; None when that is not said, as of weights made elsewhere."""

    def check_vocabulary(self, rows: int, vocab_size: int, sha256: str | None, build: Path) -> None:
        """See that the weights have a row for each id of a build's tokenizer, and more only as padding after those.

        Raises:
            MrprepError: they do not; both sizes, and the command that moves weights to another tokenizer, are named.
        """
        padded = rows > vocab_size and sha256 is not None and self.tokenizer_sha256 == sha256
        if rows != vocab_size and not padded:
            raise MrprepError(
                f"{printable(str(self.path))} has a vocabulary of {rows}, the tokenizer of {printable(str(build))} one "
                f"of {vocab_size}: build with the weights' own --tokenizer, or move them to this one with mrprep vocab "
                "align --from THEIRS --to ITS --weights THEM --out DIR"
            )

    def check_tokenizer(self, sha256: str | None, build: Path) -> None:
        """See that the ids of a build mean what the weights take them for, as far as both say.

        Raises:
            MrprepError: the build has another tokenizer; both are named.
        """
        if None in (self.tokenizer_sha256, sha256) or self.tokenizer_sha256 == sha256:
            return
        raise MrprepError(
            f"{printable(str(self.path))} was trained with the tokenizer of SHA-256 {self.tokenizer_sha256}, "
            f"{printable(str(build))} has that of {sha256}, whose ids mean other pieces: name a build with the "
            "tokenizer it was trained with"
        )


@dataclass(frozen=True, slots=True)
class Weights:
    """A trained model."""

    origin: Origin
    """Where it lies."""
    config: ModelConfig
    """Its shape."""
    arrays: Arrays
    """fp32, under Hugging Face's names."""


def read_weights(path: Path, say: Callable[[str], None] = checkpoint.silent) -> Weights:
    """Read the newest sound checkpoint of a run, or the directory itself if it holds weights.

    ``say`` hears of damaged checkpoints that are passed over.

    Raises:
        MrprepError: neither; a checkpoint that was named is damaged; or the files are not those of the shape they say.
    """
    origin = origin_of(path, say)
    config = read_config(origin.path / "config.json")
    return Weights(origin, config, read_fitting(origin.path, config))


def origin_of(path: Path, say: Callable[[str], None] = checkpoint.silent) -> Origin:
    """Return where the weights lie that ``path`` means.

    ``say`` hears of damaged checkpoints that are passed over.

    Raises:
        MrprepError: it is neither a run with a sound checkpoint nor a directory of weights; or it is a checkpoint
            that is damaged.
    """
    if checkpoint.is_checkpoint(path):
        return _origin(path, checkpoint.named(path))
    found = checkpoint.latest(path / "checkpoints", say)
    if found:
        return _origin(*found)
    if not has_weights(path):
        raise MrprepError(
            f"{printable(str(path))} is no run with a sound checkpoint, and holds no {SINGLE}: name the --out of "
            "mrprep train, a directory of weights, or what mrprep weights import made of those of other programs"
        )
    return Origin(path, tokenizer_sha256=_aligned_to(path))


def _aligned_to(folder: Path) -> str | None:
    """Return the SHA-256 of the tokenizer that ``mrprep vocab align`` moved a directory's weights to, if it did."""
    file = folder / ALIGNED
    return read_object(file).get("tokenizer_sha256") if file.is_file() else None


def _origin(path: Path, state: checkpoint.LoopState) -> Origin:
    return Origin(path, state.step, state.tokenizer_sha256)
