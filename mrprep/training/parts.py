"""What one rank holds while it trains, put together from the settings."""

from dataclasses import dataclass
from functools import partial

import mindspore as ms
from mindspore import amp

from mrprep.training import data, precision, resume
from mrprep.training.documents import Apart
from mrprep.training.heartbeat import Heart
from mrprep.training.mixture import Mixture, read_mixture
from mrprep.training.model import Llama
from mrprep.training.notes import note
from mrprep.training.optimizer import AdamW, AdamWOptions
from mrprep.training.resume import Standing
from mrprep.training.score import Scorer
from mrprep.training.settings import Settings
from mrprep.training.step import TrainStep
from mrprep.training.zero import ShardedAdamW


@dataclass(frozen=True, slots=True)
class Parts:
    """One rank's parts of a run."""

    settings: Settings
    """Of the run."""
    rank: int
    """This process; rank 0 writes."""
    mixture: Mixture
    """The train splits."""
    share: data.Share
    """This rank's rows."""
    model: Llama
    """Weights, the same on every rank."""
    optimizer: AdamW | ShardedAdamW
    """Its state, too; a share of it with ZeRO."""
    scaler: amp.DynamicLossScaler | None
    """Of the loss, for float16."""
    train_step: TrainStep
    """The compiled step."""
    scorer: Scorer
    """Losses without an update."""
    standing: Standing
    """Where the loop stands."""
    heart: Heart
    """Signs of life."""

    def beat(self, phase: str) -> None:
        """Note that a phase of the step that is under way begins."""
        self.heart.beat(self.standing.step, phase)


def assemble(settings: Settings, rank: int) -> Parts:
    """Build the model and its step, and load the newest checkpoint if there is one."""
    heart = Heart()
    heart.beat(0, "loading")
    mixture = read_mixture(settings.builds, settings.mix)
    shards = mixture.like
    apart = Apart(shards.eod_id, settings.reset_attention, settings.reset_position)
    kind, sentence = precision.choose(settings.amp)
    seq = settings.train_seq or shards.seq
    model = Llama(settings.model, seq, settings.seed, apart, kind, settings.recompute)
    scaler = precision.loss_scale(kind, settings.loss_scale, settings.loss_scale_window)
    optimizer = _optimizer(settings, model, rank)
    if rank == 0:
        _tell(settings, sentence, optimizer.state_bytes)
    split = data.splitter(
        shards.layout, shards.pad_id, shards.eod_id, settings.train_seq, apart=settings.reset_attention
    )
    step = partial(TrainStep, rank=rank, ranks=settings.ranks, accumulate=settings.accumulate)
    return Parts(
        settings=settings,
        rank=rank,
        mixture=mixture,
        share=data.Share(settings.seed, settings.micro_batch, settings.accumulate, rank, settings.ranks),
        model=model,
        optimizer=optimizer,
        scaler=scaler,
        train_step=step(model, optimizer, split, clip=settings.clip, z_loss=settings.z_loss, scaler=scaler),
        scorer=Scorer(model, split, settings.micro_batch),
        standing=resume.load(settings, mixture.sha256, model, optimizer, scaler),
        heart=heart,
    )


def _optimizer(settings: Settings, model: Llama, rank: int) -> AdamW | ShardedAdamW:
    options = AdamWOptions(
        settings.beta1, settings.beta2, settings.eps, settings.weight_decay, settings.decay_embeddings
    )
    if settings.zero and settings.ranks > 1:
        return ShardedAdamW(model.trainable_params(), options, rank, settings.ranks)
    return AdamW(model.trainable_params(), options)


def _tell(settings: Settings, precision_: str, state_bytes: int) -> None:
    """Say what the device decided."""
    logs = settings.run / "logs"
    note(logs, precision_)
    if settings.recompute and ms.get_context("device_target") == "CPU":
        note(logs, "recompute: layers are computed twice, and in graph mode the CPU saves no memory by it")
    if settings.zero:
        whole = 8 * settings.model.parameter_count
        note(logs, f"zero 1: {state_bytes / 1e6:,.1f} MB of optimizer state a rank, of {whole / 1e6:,.1f} MB")
