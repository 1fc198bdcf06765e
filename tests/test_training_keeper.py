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
        standing=SimpleNamespace(step=0, best=None, looked=False),
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


def _told(monkeypatch, tmp_path, losses, *, before=0, looked=True, every=2, **settings):
    """Return what a run wrote and looked at, in order: a look that comes to an end, a save, a checkpoint told."""
    from mrprep.training import keeper

    found, did = dict(losses), []

    def look(step, beat):
        loss = found[step]
        if loss is None:
            raise RuntimeError("a rank was too slow")
        did.append(f"look {step}")
        return {"step": step, "loss": loss}

    monkeypatch.setattr(keeper, "_validator", lambda parts: look)
    monkeypatch.setattr(
        keeper, "_save", lambda parts, valid, moments: did.append(f"save {parts.standing.step} {valid}")
    )
    monkeypatch.setattr(
        keeper.checkpoint, "tell", lambda where, step, told, keep, every: did.append(f"tell {step} {told['best_loss']}")
    )
    given = {"valid_every": every, "save_every": 4, "save_minutes": None, "keep": 2, "keep_every": None, **settings}
    parts = SimpleNamespace(
        settings=SimpleNamespace(schedule=SimpleNamespace(total=10), ranks=1, zero=0, run=tmp_path, **given),
        standing=SimpleNamespace(step=before, best=None, looked=looked),
        optimizer=SimpleNamespace(snapshot=dict),
        rank=0,
        beat=lambda phase: None,
    )
    keep = keeper.Keeper(parts)
    try:
        keep.make_up()
        for step in range(before + 1, 11):
            parts.standing.step = step
            keep(ending=False)
    except RuntimeError:
        did.append("failed")
    return did


def test_the_checkpoint_is_written_before_the_look_and_told_of_it(monkeypatch, tmp_path):
    losses = {2: 5.0, 4: 4.0, 6: 4.5, 8: 3.0, 10: 3.5}
    assert _told(monkeypatch, tmp_path, losses) == [
        *("look 2", "save 2 5.0"),  # none was due, and it is the best
        *("save 4 None", "look 4", "tell 4 4.0"),
        "look 6",
        *("save 8 None", "look 8", "tell 8 3.0"),
        *("save 10 None", "look 10", "tell 10 3.0"),
    ]


def test_a_look_that_fails_costs_no_step_and_is_made_up_for(monkeypatch, tmp_path):
    assert _told(monkeypatch, tmp_path, {8: 3.0, 10: None}, every=8)[-2:] == ["save 10 None", "failed"]
    assert _told(monkeypatch, tmp_path, {10: 3.5}, before=10, looked=False) == ["look 10", "tell 10 3.5"]
    assert _told(monkeypatch, tmp_path, {}, before=10, looked=True) == []
    assert _told(monkeypatch, tmp_path, {8: 2.0, 10: 3.0}, before=8, looked=False)[:2] == ["look 8", "tell 8 2.0"]
