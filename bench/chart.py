"""Where each second of a build goes: python bench/chart.py BUILD [--out chart.html] [--wall SECONDS].

Drawn from BUILD/run.json as a page of HTML without scripts: the phases on the axis of time with the stretches in which
each worker was busy, where fewer than two were, the seconds and the processors of each phase. --wall is the time of the
whole command, with what comes after run.json is written: publishing, deleting the work, the audit.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

from mrprep.pages.axis import Axis
from mrprep.pages.chart import Caption, Key, figure, grid, percents
from mrprep.pages.html import Html, tag
from mrprep.pages.numbers import duration, percent
from mrprep.pages.page import Card, cards, page, section, table

Run = Mapping[str, Any]
BUSY, ALONE = 0, 1
"""Colours: workers side by side, and one or none."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of a build in which the same number of workers was busy."""

    began: float
    ended: float
    workers: int
    phase: str
    """That it lies in; empty between phases."""

    @property
    def seconds(self) -> float:
        """How long it is."""
        return self.ended - self.began


def stretches(run: Run, wall: float) -> list[Stretch]:
    """Cut the time of a build from 0 to ``wall`` where a phase or a busy stretch of a worker begins or ends."""
    busy = [tuple(span) for phase in run["phases"] for spans in phase["busy"].values() for span in spans]
    phases = [(phase["began"], phase["began"] + phase["seconds"], phase["phase"]) for phase in run["phases"]]
    cuts = sorted({0.0, wall, *(end for span in busy for end in span), *(end for span in phases for end in span[:2])})
    found = []
    for began, ended in pairwise(cuts):
        middle = (began + ended) / 2
        workers = sum(a <= middle < b for a, b in busy)
        found.append(Stretch(began, ended, workers, next((name for a, b, name in phases if a <= middle < b), "")))
    return [stretch for stretch in found if stretch.ended <= wall]


def serial(found: Sequence[Stretch]) -> dict[str, float]:
    """Return phase -> seconds in which fewer than two workers were busy; ``(between)`` of what lies in none."""
    seconds: dict[str, float] = {}
    for stretch in found:
        if stretch.workers < 2:
            name = stretch.phase or _between(stretch, found)
            seconds[name] = seconds.get(name, 0.0) + stretch.seconds
    return seconds


def _between(stretch: Stretch, found: Sequence[Stretch]) -> str:
    """Return a name for what lies in no phase: before the first, after the last, or between two."""
    named = [each for each in found if each.phase]
    if stretch.ended <= named[0].began:
        return "(start)"
    return "(end)" if stretch.began >= named[-1].ended else "(between phases)"


def drawn(run: Run, wall: float) -> Html:
    """Return the page."""
    found = stretches(run, wall)
    alone = serial(found)
    total, worst = sum(alone.values()), max(alone.items(), key=lambda item: item[1])
    cpu = sum(phase["cpu"] for phase in run["phases"])
    jobs = max(len(phase["busy"]) for phase in run["phases"])
    head = cards(
        Card("wall time", duration(wall)),
        Card("processor time of the workers", duration(cpu), f"{percent(cpu / (jobs * wall))} of {jobs} processors"),
        Card("fewer than two workers busy", percent(total / wall), duration(total), _level(total / wall, 0.2)),
        Card("the longest of it", percent(worst[1] / wall), worst[0], _level(worst[1] / wall, 0.05)),
    )
    rows = [_row(phase, alone.get(phase["phase"], 0.0), wall) for phase in run["phases"]]
    rest = [[name, "–", "–", _seconds(took), "–", _seconds(took), percent(took / wall)] for name, took in alone.items()]
    rows += [row for row in rest if row[0].startswith("(")]
    titles = [
        "phase",
        "units",
        "began, s",
        "took, s",
        "processors busy",
        "fewer than two at work, s",
        "of the wall time",
    ]
    told = f"{run['host']}, {jobs} workers, ended {run['ended']}"
    return page(
        "Where each second goes",
        told,
        head,
        _lanes(run, found, wall),
        section("Phases", table(titles, rows, numbers=range(1, 7))),
    )


def _level(share: float, most: float) -> Any:
    return "good" if share <= most else "warning"


def _row(phase: Mapping[str, Any], alone: float, wall: float) -> list[str]:
    used = phase["cpu"] / phase["seconds"] if phase["seconds"] else 0.0
    return [
        phase["phase"],
        f"{phase['units']:,}",
        _seconds(phase["began"]),
        _seconds(phase["seconds"]),
        f"{used:.2f}",
        _seconds(alone),
        percent(alone / wall),
    ]


def _seconds(value: float) -> str:
    return f"{value:.2f}"


def _lanes(run: Run, found: Sequence[Stretch], wall: float) -> Html:
    """Return a row a phase and under them a row for how many workers are busy."""
    x = Axis(0.0, wall)
    names = [phase["phase"] for phase in run["phases"]]
    lanes = len(names) + 1
    shapes = [*_bands(lanes), grid(x, None)]
    for lane, phase in enumerate(run["phases"]):
        shapes += _phase(phase, lane, lanes, x)
    for together, group in groupby(found, key=lambda stretch: stretch.workers > 1):
        shapes.append(_block(list(group), lanes, x, BUSY if together else ALONE))
    for lane, name in enumerate([*names, "workers busy"]):
        shapes.append(tag("text", name, x="-8", y=percents((lane + 0.5) / lanes), dy="0.32em", text_anchor="end"))
    caption = Caption(
        "Workers over time",
        "Each row is a phase, each bar a worker that is at its units; the last row says where two or more are, and "
        "where one or none is: that is serial.",
        x="seconds since the start",
    )
    keys = [Key("two or more workers", BUSY), Key("one or none", ALONE)]
    style = f"height:{30 * lanes + 40}px;padding-left:150px"
    drawn = figure(caption, shapes, keys, kind="lanes")
    return Html(drawn.replace('class="plot lanes"', f'class="plot lanes" style="{style}"', 1))


def _bands(lanes: int) -> Iterator[Html]:
    for lane in range(1, lanes):
        at = percents(lane / lanes)
        yield tag("line", x1="0", x2="100%", y1=at, y2=at, class_="grid")


def _phase(phase: Mapping[str, Any], lane: int, lanes: int, x: Axis) -> Iterator[Html]:
    workers = sorted(phase["busy"])
    for place, worker in enumerate(workers):
        for began, ended in phase["busy"][worker]:
            told = f"{phase['phase']}, {worker}: {began:.2f} to {ended:.2f} s"
            top = (lane + 0.12 + 0.76 * place / len(workers)) / lanes
            yield _rect(x, began, ended, top, 0.7 / len(workers) / lanes, BUSY if len(workers) > 1 else ALONE, told)


def _block(group: Sequence[Stretch], lanes: int, x: Axis, color: int) -> Html:
    began, ended = group[0].began, group[-1].ended
    phases = ", ".join(dict.fromkeys(stretch.phase or "between phases" for stretch in group))
    told = f"{ended - began:.2f} s: {phases}"
    return _rect(x, began, ended, (lanes - 1 + 0.12) / lanes, 0.76 / lanes, color, told)


def _rect(x: Axis, began: float, ended: float, top: float, height: float, color: int, told: str) -> Html:
    left, right = x.places([began, ended]).tolist()
    place = {"x": percents(left), "width": percents(right - left), "y": percents(top), "height": percents(height)}
    return tag("rect", tag("title", told), class_=f"c{color}", **place)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    parser.add_argument("--out", type=Path, default=Path("chart.html"))
    parser.add_argument("--wall", type=float)
    asked = parser.parse_args()
    run = json.loads((asked.build / "run.json").read_text())
    asked.out.write_text(drawn(run, max(run["seconds"], asked.wall or 0.0)))
    print(asked.out)


if __name__ == "__main__":
    main()
