"""What benches measured, one line a run, in bench/history.jsonl: python bench/history.py [BENCH] shows it.

A line is {"date", "commit", "bench", "load", "figures"}; ``load`` is the load average of a minute, since figures of a
busy machine say little. ``commit`` ends in ``+`` where tracked files were changed.
"""

import argparse
import json
import os
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HISTORY = Path(__file__).with_name("history.jsonl")


def append(bench: str, figures: Mapping[str, Any]) -> None:
    """Add a line with the figures of a run, values of JSON, to the history."""
    line = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "bench": bench,
        "load": round(os.getloadavg()[0], 1),
        "figures": dict(figures),
    }
    with HISTORY.open("a") as stream:
        stream.write(json.dumps(line) + "\n")


def _commit() -> str:
    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=HISTORY.parent, check=True, capture_output=True, text=True)
        return done.stdout

    changed = git("status", "--porcelain", "--untracked-files=no", "--", ":!bench/history.jsonl", ":/")
    return git("rev-parse", "--short", "HEAD").strip() + ("+" if changed else "")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("bench", nargs="?")
    bench = parser.parse_args().bench
    for line in map(json.loads, HISTORY.read_text().splitlines() if HISTORY.exists() else []):
        if bench in (None, line["bench"]):
            said = ", ".join(f"{name} {value}" for name, value in line["figures"].items())
            print(f"{line['date']}  {line['commit']}  {line['bench']}  load {line['load']}: {said}")


if __name__ == "__main__":
    main()
