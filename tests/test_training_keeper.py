"""When a checkpoint is due. A fake of the run, a clock of our own."""

from types import SimpleNamespace

import pytest

pytestmark = pytest.mark.mindspore


def _saved(monkeypatch, *, steps, rank=0, ending=None, **settings):
    """Return the steps after which a checkpoint was written, at 20 seconds a step."""
    from mrprep.training import keeper

    clock, saved = SimpleNamespace(now=0.0), []
    monkeypatch.setattr(keeper.time, "monotonic", lambda: clock.now)
    monkeypatch.setattr(keeper, "_save", lambda parts, valid, moments: saved.append(parts.standing.step))
    given = {"valid_rows": 0, "builds": (), "valid_every": 100, "save_every": 5, "save_minutes": None, **settings}
    parts = SimpleNamespace(
        settings=SimpleNamespace(schedule=SimpleNamespace(total=steps), ranks=1, zero=0, **given),
        standing=SimpleNamespace(step=0, best=None),
        mixture=None,
        optimizer=SimpleNamespace(snapshot=dict),
        rank=rank,
        beat=lambda phase: None,
    )
    keep = keeper.Keeper(parts)
    for step in range(1, steps + 1):
        clock.now, parts.standing.step = 20.0 * step, step
        keep(ending=step == ending)
    return saved


def test_every_so_many_steps_or_minutes_since_the_last_and_at_the_end(monkeypatch):
    assert _saved(monkeypatch, steps=12) == [5, 10, 12]
    assert _saved(monkeypatch, steps=12, save_minutes=1) == [3, 5, 8, 10, 12]
    assert _saved(monkeypatch, steps=12, save_every=100, save_minutes=1.2) == [4, 8, 12]
    assert _saved(monkeypatch, steps=12, ending=7) == [5, 7, 10, 12]
    assert _saved(monkeypatch, steps=12, rank=1) == []
