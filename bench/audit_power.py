"""How surely an audit of 400 rows finds what affects 5 % of the rows: python bench/audit_power.py [--seeds 20].

Real English and Chinese text in rows of 128 tokens, eight shards. In a copy of the build every twentieth row gets a
fault, another twentieth another one, and so on. Each seed audits the copy and the healthy twin.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tree import SHARED

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import audit_builds as builds

from mrprep.builddir.manifest import open_build
from mrprep.tokenizers.sentencepiece import open_sentencepiece

Change = Callable[[np.ndarray, np.random.Generator], np.ndarray]
EVERY = 20


def faults(path: Path) -> dict[str, Change]:
    """Return the check that should find it -> what is done to a row, int32[S+1]."""
    tokenizer = open_sentencepiece(path / "tokenizer" / "tokenizer.model")

    def written(text: str) -> Change:
        ids = tokenizer.encode_batch([text])[0]

        def change(row: np.ndarray, rng: np.random.Generator) -> np.ndarray:
            at = int(rng.integers(0, max(1, row.size - ids.size)))
            row[at : at + ids.size] = ids[: row.size - at]
            return row

        return change

    garbled = [builds.as_latin("春眠不觉晓，处处闻啼鸟。" * 3), builds.as_gb18030("春眠不觉晓，处处闻啼鸟。" * 6)]
    return {
        "monotone-rows": lambda row, _: np.full_like(row, 1000),
        "id-range": lambda row, _: np.where(np.arange(row.size) == 7, tokenizer.vocab_size, row),
        "control-ids": lambda row, _: np.where(np.arange(row.size) == 64, tokenizer.eod_id, row),
        "mojibake": lambda row, rng: written(garbled[int(rng.integers(2))])(row, rng),
        "odd-characters": written("\u200b"),
        "html": written("<div class='a'>x</div>" * 10),
        "literal-specials": written(builds.SPECIAL),
        "filling-ngrams": written(builds.FOOTER),
    }


def plant(path: Path) -> dict[str, int]:
    """Plant all faults in all shards of train; return how many rows each has got."""
    changes, rng = faults(path), np.random.default_rng(0)
    planted: Counter[str] = Counter()

    def change(rows: np.ndarray) -> np.ndarray:
        whole = rows.copy()
        for number, (check, of_row) in enumerate(changes.items()):
            for row in range(number, len(rows), EVERY):
                rows[row] = of_row(rows[row], rng)
                planted[check] += 1
        for row in range(len(changes), len(rows) - 1, EVERY):
            rows[row] = whole[row + 1]
            planted["repeated-text"] += 1
        return rows

    for shard in open_build(path).manifest["splits"]["train"]["shards"]:
        builds.replant(path, change, shard["file"])
    return dict(planted)


def main() -> None:
    """Print how often each fault was found, and the false alarms on the healthy twin."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seeds", type=int, default=20)
    seeds = arguments.parse_args().seeds
    with tempfile.TemporaryDirectory() as folder:
        healthy = builds.build_documents(Path(folder) / "healthy", builds.real_documents(SHARED), SHARED)
        faulty = builds.twin(healthy, Path(folder) / "faulty")
        planted = plant(faulty)
        rows = open_build(healthy).manifest["splits"]["train"]["rows"]
        found, alarms = Counter[str](), Counter[str]()
        for seed in range(seeds):
            found.update(builds.bad(builds.audit(faulty, seed=seed)))
            alarms.update(builds.bad(builds.audit(healthy, seed=seed)))
            print(f"seed {seed}: false alarms {dict(alarms)}", file=sys.stderr, flush=True)
    for check, count in planted.items():
        print(f"{check:<18} in {count / rows:.1%} of {rows:,} rows, found in {found[check]} of {seeds} seeds")
    print(f"false alarms on the healthy twin: {dict(alarms) or 'none'} in {seeds} seeds")


if __name__ == "__main__":
    main()
