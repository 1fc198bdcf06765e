"""The directory of a run: who may write into it, and where training goes on.

``settings.json``, ``metrics.jsonl``, ``logs/``, ``checkpoints/``; ``mrprep-train.lock``, by which it is known as one.
"""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.training import changes, checkpoint, metrics
from mrprep.training.config_json import read_config
from mrprep.training.mixture import Mixture, valid_mixture
from mrprep.training.settings import Settings
from mrprep.training.weights import Origin

LOCK = "mrprep-train.lock"
"""Marks a directory as a run; held while a trainer is at work in it."""


@contextmanager
def held(run: Path) -> Iterator[None]:
    """Make the directory of a run if need be, and keep other trainers out of it.

    Raises:
        MrprepError: it cannot be written, holds something else than a run, or another trainer is at work in it.
    """
    with _opened(run) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise MrprepError(f"another mrprep train is at work in {printable(str(run))}") from None
        yield


def _opened(run: Path) -> IO[str]:
    try:
        if run.exists() and (not run.is_dir() or (any(run.iterdir()) and not (run / LOCK).exists())):
            raise MrprepError(f"{printable(str(run))} exists and is no training run: name another --out")
        run.mkdir(parents=True, exist_ok=True)
        return (run / LOCK).open("a")
    except OSError as error:
        raise MrprepError(
            f"the run cannot be written to {printable(str(run))} ({printable(error.strerror or str(error))}): name "
            "another --out"
        ) from None


def at_work(run: Path) -> bool:
    """Return whether a trainer is at work in a run."""
    with (run / LOCK).open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def prepare(settings: Settings, mixture: Mixture, say: Callable[[str], None], *, new_data: bool = False) -> int:
    """Write the settings, cut the metrics back to the newest checkpoint, and return the steps it has done.

    Args:
        settings: of the run.
        mixture: the rows that are trained on.
        say: hears of checkpoints that are damaged, and of settings that are not the checkpoint's.
        new_data: the checkpoint may be of another build.

    Raises:
        MrprepError: the checkpoint is of other data, another tokenizer, model, seed or global batch; or it has more
            steps than are asked for.
    """
    run = settings.run
    found = checkpoint.latest(run / "checkpoints", say)
    done, looked = 0, True
    if found:
        path, state = found
        if state.manifest_sha256 != mixture.sha256:
            Origin(path, state.step, state.tokenizer_sha256).check_tokenizer(
                mixture.like.tokenizer_sha256, mixture.like.build
            )
            _other_data(path, new_data, say)
        _same("the seed", state.seed, settings.seed, path)
        _same("the global batch", state.global_batch, settings.global_batch, path)
        before = read_config(path / "config.json")
        for name, value in settings.model:
            _same(name, getattr(before, name), value, path)
        done, looked = state.step, state.valid_loss is not None
        _not_beyond(run, done, settings.schedule.total)
        changed = changes.told(state.settings, settings)
        if changed:
            say(changed)
    for name in ("metrics.jsonl", "layers.jsonl"):
        metrics.cut_after(run / name, done)
    metrics.cut_after(run / "valid.jsonl", done if looked else done - 1)  # the look is made up for
    (run / "settings.json").write_text(settings.model_dump_json(indent=2) + "\n")
    return done


def owes_look(settings: Settings, mixture: Mixture) -> bool:
    """Return whether the newest checkpoint was written, but its look at the valid split did not come to an end."""
    found = checkpoint.latest(settings.run / "checkpoints")
    known = found is None or found[1].valid_loss is not None
    return not known and valid_mixture(settings.builds, mixture, settings.valid_rows) is not None


def _not_beyond(run: Path, done: int, total: int) -> None:
    if done > total:
        raise MrprepError(
            f"{printable(str(run))} has {done} steps done and this command asks for {total} (--steps, by default one "
            "epoch): ask for as many or more, or name another --out"
        )


def _other_data(path: Path, allowed: bool, say: Callable[[str], None]) -> None:
    if not allowed:
        raise MrprepError(
            f"{printable(str(path))} was trained on other data than this build: name that build, another --out, "
            "or say --new-data to go on with the first row of this one"
        )
    say("going on with new data, from its first row")


def _same(what: str, before: object, now: object, path: Path) -> None:
    if before != now:
        raise MrprepError(
            f"{printable(str(path))} was trained with {what} {before}, now it is {now}: "
            "set it as before, or name another --out"
        )
