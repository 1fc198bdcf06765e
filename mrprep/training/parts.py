"""What one rank holds while it trains, put together from the settings."""

from dataclasses import dataclass
from functools import partial

from mrprep.training import data, resume
from mrprep.training.documents import Apart
from mrprep.training.heartbeat import Heart
from mrprep.training.mixture import Mixture, read_mixture
from mrprep.training.model import Llama
from mrprep.training.optimizer import AdamW
from mrprep.training.resume import Standing
from mrprep.training.score import Scorer
from mrprep.training.settings import Settings
from mrprep.training.step import TrainStep


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
    optimizer: AdamW
    """Its state, too."""
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
    model = Llama(settings.model, settings.train_seq or shards.seq, settings.seed, apart)
    optimizer = AdamW(
        model.trainable_params(),
        settings.beta1,
        settings.beta2,
        settings.eps,
        settings.weight_decay,
        settings.decay_embeddings,
    )
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
        train_step=step(model, optimizer, split, clip=settings.clip, z_loss=settings.z_loss),
        scorer=Scorer(model, split, settings.micro_batch),
        standing=resume.load(settings, mixture.sha256, model, optimizer),
        heart=heart,
    )
