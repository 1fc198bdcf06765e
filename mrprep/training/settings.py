"""Everything that decides a run, as it is handed to the ranks in ``RUN/settings.json``."""

from pathlib import Path

from pydantic import Field

from mrprep.options import Options
from mrprep.training.config import ModelConfig
from mrprep.training.schedule import Schedule


class Settings(Options):
    """One training run."""

    build: Path
    """The build it reads."""
    run: Path
    """Its directory."""
    model: ModelConfig
    """The shape."""
    schedule: Schedule
    """The learning rate; it also holds the number of steps."""
    ranks: int = Field(ge=1)
    """Processes."""
    micro_batch: int = Field(ge=1)
    """Rows a forward pass of one rank."""
    accumulate: int = Field(ge=1)
    """Forward passes a step."""
    seed: int
    """Of the weights and of the row order."""
    save_every: int = Field(ge=1)
    """Steps between checkpoints; the last step always has one."""
    keep: int = Field(default=2, ge=1)
    """Checkpoints kept; older ones are deleted."""
    clip: float = Field(default=1.0, gt=0)
    """Largest norm of the gradient."""
    beta1: float = 0.9
    """AdamW's decay of the mean gradient."""
    beta2: float = 0.95
    """AdamW's decay of the mean square."""
    eps: float = 1e-8
    """AdamW's floor under the root."""
    weight_decay: float = 0.1
    """AdamW's decay of matrices."""

    @property
    def global_batch(self) -> int:
        """Rows a step over all ranks."""
        return self.micro_batch * self.ranks * self.accumulate
