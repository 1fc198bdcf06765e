"""Deduplicate one jsonl with datatrove's MinHash at its defaults; run by bench/dedupe.py with datatrove's own Python.

    python3.11 -m venv /tmp/datatrove && /tmp/datatrove/bin/pip install 'datatrove[io,processing]==0.10.1' spacy jieba
    DATATROVE=/tmp/datatrove/bin/python python -m bench.dedupe datatrove

Prints as JSON the CPU seconds, and for each cluster the ids of its members, the one that stays first.
"""

import collections
import gzip
import json
import os
import sys
from pathlib import Path

from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup.minhash import (
    MinhashDedupBuckets,
    MinhashDedupCluster,
    MinhashDedupFilter,
    MinhashDedupSignature,
)
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter


def records(folder: Path) -> list[dict[str, object]]:
    files = sorted(folder.glob("*.jsonl.gz"))
    return [json.loads(line) for file in files for line in gzip.open(file, "rt", encoding="utf-8")]


def run(source: str, language: str, root: Path) -> dict[str, object]:
    names = {name: str(root / name) for name in ("sigs", "buckets", "clusters", "gone", "kept")}
    steps = [
        ([JsonlReader(source), MinhashDedupSignature(names["sigs"], language=language)], 1),
        ([MinhashDedupBuckets(names["sigs"], names["buckets"])], 14),
        ([MinhashDedupCluster(names["buckets"], names["clusters"], save_cluster_id=True)], 1),
        (
            [
                JsonlReader(source),
                MinhashDedupFilter(names["clusters"], JsonlWriter(names["gone"]), load_cluster_ids=True),
                JsonlWriter(names["kept"]),
            ],
            1,
        ),
    ]
    started = sum(os.times()[:4])
    for number, (pipeline, tasks) in enumerate(steps):
        LocalPipelineExecutor(pipeline, tasks=tasks, workers=1, logging_dir=str(root / f"log{number}")).run()
    spent = sum(os.times()[:4]) - started
    clusters: dict[object, list[object]] = collections.defaultdict(list)
    for name in ("kept", "gone"):
        for record in records(Path(names[name])):
            cluster = record["metadata"].get("minhash_cluster_id", -1)  # type: ignore[attr-defined]
            if cluster != -1:
                clusters[cluster].append(record["id"])
    return {"seconds": spent, "clusters": list(clusters.values()), "removed": len(records(Path(names["gone"])))}


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], sys.argv[2], Path(sys.argv[3]))))
