"""Small builds for the tests of the audit and for bench/audit_power.py, and copies of them with one fault planted."""

import gzip
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import orjson
import pyarrow.parquet as pq

from mrprep.audit.finding import Finding
from mrprep.audit.trace import texts
from mrprep.builddir.digest import digest
from mrprep.builddir.layout import MANIFEST
from mrprep.builddir.manifest import open_build
from mrprep.building.build import build
from mrprep.config import command_line_sources, load_pipeline
from mrprep.mindrecord.read import read_batches
from mrprep.mindrecord.schema import schema
from mrprep.mindrecord.write import write_rows
from mrprep.minhash.search import near_duplicates
from mrprep.request import RunOptions
from mrprep.stages.audit import audit_build

TRAIN = "train/train-00001.mindrecord"


def make(out: Path, corpus: Path, pipeline: str = "default", **overrides: dict[str, object]) -> Path:
    """Build a corpus; overrides: table -> key -> value."""
    chosen = load_pipeline(pipeline, overrides)
    chosen = chosen.model_copy(update={"source": command_line_sources([corpus], chosen.input)})
    build(chosen, out, RunOptions(jobs=1), lambda _: None)
    return out


def audit(path: Path, *, sample: int = 400, seed: int = 0) -> dict[str, Finding]:
    """Return the findings by check."""
    findings = audit_build(open_build(path), sample=sample, seed=seed)
    assert len({finding.check for finding in findings}) == len(findings)
    return {finding.check: finding for finding in findings}


def bad(findings: dict[str, Finding]) -> set[str]:
    """Return the checks that warn or fail."""
    return {name for name, finding in findings.items() if finding.level in {"warning", "failure"}}


def twin(healthy: Path, out: Path) -> Path:
    shutil.copytree(healthy, out)
    return out


def vouch(path: Path, **changes: object) -> None:
    """Write the manifest anew, so that checksums fit what was planted and only a look at the rows can tell."""
    manifest = orjson.loads((path / MANIFEST).read_bytes()) | changes
    manifest["files"] = {name: digest(path / name) for name in manifest["files"]}
    (path / MANIFEST).write_bytes(orjson.dumps(manifest))


def replant(path: Path, change: Callable[[np.ndarray], np.ndarray], shard: str = TRAIN) -> None:
    """Rewrite the rows of a flat shard, int32[n, S+1], and vouch for it."""
    file = path / shard
    rows = np.concatenate([batch["input_ids"] for batch in read_batches([file], ["input_ids"])])
    file.unlink()
    file.with_name(file.name + ".db").unlink()
    changed = change(rows.copy())
    write_rows(file, schema("flat", rows.shape[1] - 1, 0, len(rows)), [{"input_ids": changed}])
    vouch(path)


Documents = list[str]
SEQ = 128
SPECIAL = "<|endoftext|>"
FOOTER = (
    " All rights reserved. No part of this page may be copied, shown or sold without the written consent of the"
    " publisher, who makes no promise that what stands here is true, whole or of any use to any reader at all."
)


def real_documents(shared: Path) -> Documents:
    """Return some 1,250 real texts in English and Chinese, 1,500 characters at most, no two nearly the same."""
    corpora = shared / "corpora"
    news = gzip.decompress((corpora / "en_reuters" / "reuters.jsonl.gz").read_bytes()).splitlines()[:5000:5]
    chapters = pq.read_table(next((corpora / "zh_classics").glob("*.parquet")), columns=["text"])["text"]
    documents = [orjson.loads(line)["text"] for line in news] + [t[:1500] for t in chapters.to_pylist()[:1500:5]]
    alike = set(near_duplicates(documents, 0.5).pairs[:, 1].tolist())
    return [text for number, text in enumerate(documents) if number not in alike]


def build_documents(out: Path, documents: Documents, shared: Path, **more: Documents) -> Path:
    """Build texts as they are, in eight shards; ``more``: file name -> further texts."""
    folder = out.with_name(out.name + ".in")
    folder.mkdir()
    for name, held in {"real": documents, **more}.items():
        (folder / name).mkdir()
        (folder / name / "a.jsonl").write_bytes(b"\n".join(orjson.dumps({"text": text}) for text in held))
    model = shared / "corpora" / "tokenizers" / "internlm2.model"
    tables = {"tokenize": {"model": model}, "pack": {"seq": SEQ}, "shard": {"shards": 8, "valid": 0.03}}
    return make(out, folder, "raw", **tables)


def valid_documents(path: Path) -> Documents:
    """Return the texts that the valid split of a build holds."""
    build = open_build(path)
    (shard,) = build.manifest["splits"]["valid"]["shards"]
    docs = np.unique(np.asarray(pq.read_table(build.file(shard["provenance"]), columns=["doc"])["doc"]))
    return [text for _, text in texts(build, docs)]


def some(documents: Documents, share: float, change: Callable[[str], str]) -> Documents:
    """Return texts of which a share, spread evenly, is changed."""
    step = round(1 / share)
    return [change(text) if number % step == 0 else text for number, text in enumerate(documents)]


def as_latin(text: str) -> str:
    """Return GB18030 read as Latin-1, or for text in ASCII the same of another text."""
    return ("云想衣裳花想容，春风拂槛露华浓。" * 8 if text.isascii() else text).encode("gb18030").decode("latin-1")


def as_gb18030(text: str) -> str:
    """Return UTF-8 read as GB18030."""
    return ("云想衣裳花想容，春风拂槛露华浓。" * 8 if text.isascii() else text).encode().decode("gb18030", "ignore")


def with_special(text: str) -> str:
    return text[:100] + SPECIAL + text[100:]


def of_shards_alone(path: Path, out: Path) -> Path:
    """Return a folder with the shards of a build and nothing else."""
    for split in ("train", "valid"):
        shutil.copytree(path / split, out / split)
    return out
