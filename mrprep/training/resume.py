"""Where a run stands, and back to there from its newest checkpoint: bit-equal on the same number of ranks."""

from dataclasses import dataclass
from pathlib import Path

import mindspore as ms
from mindspore import Tensor, amp

from mrprep.training import checkpoint
from mrprep.training.keys import check_keys, read_fitting
from mrprep.training.model import Llama
from mrprep.training.optimizer import AdamW
from mrprep.training.settings import Settings
from mrprep.training.spikes import Limits, Recent, Seen
from mrprep.training.tensors import Arrays
from mrprep.training.zero import ShardedAdamW


@dataclass(slots=True)
class Standing:
    """Where the loop stands; the same on every rank."""

    recent: Recent
    """The last good steps."""
    step: int = 0
    """Steps done."""
    tokens: int = 0
    """Targets trained on."""
    data_from: int = 0
    """Step at which training on this data began."""
    best: float | None = None
    """Lowest validation loss."""
    looked: bool = False
    """Whether the checkpoint that was gone on from has its validation loss."""
    spikes: int = 0
    """Skipped steps in a row."""
    overflows: int = 0
    """Steps skipped because the loss scale was too large."""

    def count(self, seen: Seen, limits: Limits, *, skipped: bool, overflow: bool = False) -> None:
        """Note a step and whether its update was made; one that only the loss scale spoilt is no spike."""
        if overflow:
            self.overflows += 1
            return
        self.spikes = self.spikes + 1 if skipped else 0
        if not skipped or (seen.loss < limits.loss and seen.norm < limits.norm):
            self.recent.add(seen)


def load(
    settings: Settings,
    data_sha256: str,
    model: Llama,
    optimizer: AdamW | ShardedAdamW,
    scaler: amp.DynamicLossScaler | None,
) -> Standing:
    """Load the newest checkpoint of the run, if there is one, and return where it stands.

    ``data_sha256`` names the data; on other data than the checkpoint's, training begins with the first row.
    """
    found = checkpoint.latest(settings.run / "checkpoints")
    if found is None:
        if settings.init_from is not None:
            put(read_fitting(settings.init_from, settings.model), model, settings.init_from)
        return Standing(Recent())
    path, state = found
    weights, moments = checkpoint.load(path)
    put(weights, model, path)
    optimizer.restore(moments)
    if scaler and state.loss_scale:
        scaler.scale_value.set_data(Tensor(state.loss_scale[0], ms.float32))
        scaler.counter.set_data(Tensor(int(state.loss_scale[1]), ms.int32))
    data_from = state.data_from if state.manifest_sha256 == data_sha256 else state.step
    return Standing(
        Recent(state.recent),
        state.step,
        state.tokens,
        data_from,
        state.best_loss,
        state.valid_loss is not None,
        state.spikes,
        state.overflows,
    )


def put(weights: Arrays, model: Llama, path: Path) -> None:
    """Give a model its weights; ``path`` is where they were read.

    Raises:
        MrprepError: they are not the model's, see ``check_keys``.
    """
    parameters = model.trainable_params()
    shapes = {name: array.shape for name, array in weights.items()}
    check_keys(shapes, {parameter.name: tuple(parameter.shape) for parameter in parameters}, path)
    for parameter in parameters:
        parameter.set_data(Tensor(weights[parameter.name]))
