"""A small build for the tests of the trainer: shards written with MindSpore itself, and a manifest."""

import json
from pathlib import Path

import numpy as np

from mrprep.builddir.digest import digest

FLAT = {"input_ids": "int32"}
MCORE = {
    "input_ids": "int32",
    "labels": "int32",
    "loss_mask": "float32",
    "position_ids": "int32",
    "actual_seq_len": "int32",
}


def write_build(
    path: Path,
    rows: dict[str, np.ndarray],
    shards: int,
    *,
    vocab_size: int,
    pad_id: int | None = 0,
    page: int = 1 << 18,
) -> Path:
    """Write rows, name -> array [n, places], into that many shards of the train split."""
    from mindspore.mindrecord import FileWriter

    layout = FLAT if set(rows) == {"input_ids"} else MCORE
    (path / "train").mkdir(parents=True)
    listed = []
    for number, indices in enumerate(np.array_split(np.arange(len(rows["input_ids"])), shards)):
        name = f"train/train-{number:05d}.mindrecord"
        writer = FileWriter(str(path / name), shard_num=1)
        writer.set_header_size(1 << 16)
        writer.set_page_size(page)
        writer.add_schema({k: {"type": v, "shape": [rows[k].shape[1]]} for k, v in layout.items()}, "rows")
        writer.write_raw_data([{k: rows[k][i] for k in layout} for i in indices])
        writer.commit()
        listed.append({"file": name, "rows": len(indices)})
    seq = rows["input_ids"].shape[1] - (layout is FLAT)
    write_manifest(path, listed, seq, "flat" if layout is FLAT else "mcore", vocab_size, pad_id)
    return path


def write_manifest(path: Path, shards: list[dict], seq: int, layout: str, vocab_size: int, pad_id: int | None) -> None:
    """Write the manifest of shards (file, rows) that lie in ``path``."""
    listed = [{"provenance": shard["file"], "tokens": 0, "padding": 0, **shard} for shard in shards]
    manifest = {
        "mrprep": 1,
        "version": "0",
        "seq": seq,
        "layout": layout,
        "packing": "concat",
        "seed": 0,
        "tokenizer": {"file": listed[0]["file"], "vocab_size": vocab_size, "eod_id": 2, "bos_id": 1, "pad_id": pad_id},
        "splits": {"train": _totals(listed)},
        "text": {"parts": [], "dropped": []},
        **{key: {} for key in ("pipeline", "inputs", "ledger", "counts")},
        "notes": [],
        "files": {str(file.relative_to(path)): digest(file) for file in sorted(path.rglob("*.mindrecord*"))},
    }
    (path / "manifest.json").write_text(json.dumps(manifest))


def _totals(shards: list[dict]) -> dict:
    return {"shards": shards, **{name: sum(s[name] for s in shards) for name in ("rows", "tokens", "padding")}}
