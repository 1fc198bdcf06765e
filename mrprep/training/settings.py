"""Everything that decides a run, as it is handed to the ranks in ``RUN/settings.json``."""

from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field

from mrprep.options import Options
from mrprep.training.config import ModelConfig
from mrprep.training.schedule import Schedule


class LoopOptions(Options):
    """How a run goes about it, whatever the model and the length."""

    model_config = ConfigDict(allow_inf_nan=False)  # JSON, as the ranks read it, has none

    ranks: int = Field(default=1, ge=1)
    """Data-parallel processes on this machine."""
    micro_batch: int = Field(default=4, ge=1)
    """Rows a forward pass of one rank."""
    accumulate: int = Field(default=1, ge=1)
    """Forward passes a step."""
    train_seq: int | None = Field(default=None, ge=1)
    """Targets a sequence, if rows are to be cut into shorter ones; divides those of a row."""
    reset_attention: bool = False
    """Whether a token sees its own document alone; the first token of a document is no target then."""
    reset_position: bool = False
    """Whether places are counted from the start of each document."""
    seed: int = Field(default=0, ge=0)
    """Of the weights and of the row order."""
    save_every: int = Field(default=100, ge=1)
    """Steps between checkpoints; the last step always has one."""
    save_minutes: float | None = Field(default=None, gt=0)
    """Minutes after which a checkpoint is due as well."""
    keep: int = Field(default=2, ge=1)
    """Newest checkpoints kept, besides the one of lowest validation loss."""
    keep_every: int | None = Field(default=None, ge=1)
    """Checkpoints whose step is a multiple of it stay too."""
    valid_every: int = Field(default=100, ge=1)
    """Steps between validations; there is one at the end."""
    valid_rows: int = Field(default=512, ge=0)
    """Rows of the valid split that are looked at, its first ones; 0 for no validation."""
    on_spike: Literal["skip", "stop", "ignore"] = "skip"
    """What becomes of the update of a step that is far out; one that is not finite is never made."""
    spikes_in_a_row: int = Field(default=5, ge=1)
    """Skipped steps in a row that end the run."""
    layer_norms: int | None = Field(default=None, ge=1)
    """Steps between two lines of ``layers.jsonl``, the gradient's norm of each weight; none if None."""
    peak_tflops: float | None = Field(default=None, gt=0)
    """TFLOPs a second of one rank's device at its best, against which MFU is told; FLOPs a second are if None."""
    hang_after: float = Field(default=600, gt=0)
    """Seconds without a sign of life of any rank that end the run."""
    device: Literal["auto", "CPU", "Ascend"] = "auto"
    """What to compute on; auto: Ascend where MindSpore sees one."""
    amp: Literal["auto", "O0", "O1", "O2", "O3"] = "auto"
    """Level of mixed precision, see ``precision``; auto: O2 where the device has bfloat16, else O0."""
    loss_scale: float = Field(default=65536.0, ge=1)
    """What float16 training multiplies the mean loss by at first."""
    loss_scale_window: int = Field(default=2000, ge=1)
    """Steps without an overflow after which the loss scale is doubled."""
    recompute: bool = False
    """Whether each layer is computed again in the backward pass instead of kept."""
    zero: Literal[0, 1] = 0
    """1: the optimizer's state is split over the ranks."""
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
    decay_embeddings: bool = True
    """Whether embedding and output layer decay too."""
    z_loss: float = Field(default=0, ge=0)
    """Weight of the squared log of the softmax's denominator (PaLM: 1e-4); 0 for none."""

    @property
    def global_batch(self) -> int:
        """Rows a step over all ranks."""
        return self.micro_batch * self.ranks * self.accumulate


class Settings(LoopOptions):
    """One training run."""

    builds: tuple[Path, ...]
    """The builds it reads."""
    init_from: Path | None = None
    """Directory of the weights that a new run begins with; new ones if None."""
    mix: tuple[float, ...] | None = None
    """Weight of each; all rows of all if None."""
    run: Path
    """Its directory."""
    model: ModelConfig
    """The shape."""
    schedule: Schedule
    """The learning rate; it also holds the number of steps."""
