"""`mrprep remove`: documents out of a finished build; only the shards that held them are written again."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mrprep.books import shard_entry, shard_line
from mrprep.builddir import layout
from mrprep.builddir.change import settle
from mrprep.builddir.digest import digest
from mrprep.builddir.lock import locked
from mrprep.builddir.manifest import Build
from mrprep.builddir.mapped import zeros
from mrprep.builddir.tables import CLUSTERS
from mrprep.building.attempt import Say
from mrprep.building.change import changed, whole
from mrprep.duplicates.verdicts import KEPT
from mrprep.engine.executor import Pool
from mrprep.engine.work import Work
from mrprep.errors import MrprepError
from mrprep.growing.books import generation, next_number
from mrprep.growing.cleaned import CleanUnit, clean_unit
from mrprep.growing.listed import Listed, documents_of, shards_with
from mrprep.growing.removal_books import Emptied, Repacked, without
from mrprep.growing.removal_reports import Quotes, without_quotes
from mrprep.growing.repack import RepackUnit, repack_unit
from mrprep.growing.verdicts import REMOVED_ON_REQUEST
from mrprep.order import I64
from mrprep.printable import printable
from mrprep.provenance.name import ADVICE, on_request
from mrprep.provenance.tables import table_of
from mrprep.request import RunOptions, clear
from mrprep.stages import pack

VERSION = 2
_SHOWN = 5
"""Names of a list that an error quotes."""


@dataclass(frozen=True, slots=True)
class Removed:
    """What a removal does, or would do."""

    build: Build
    listed: Listed
    shards: Mapping[str, str | None]
    """Shard that held some of it -> the one that takes its place, None where nothing is left; of a dry run, itself."""
    total: int
    """Shards before."""


def remove(out: Path, names: Sequence[str], options: RunOptions, say: Say, *, dry_run: bool) -> Removed:
    """Remove the documents that some names mean from the build at ``out``.

    The build is the old one, whole, until its manifest is replaced by a rename; then it is the new one, whole.

    Args:
        out: of the build.
        names: as `provenance.meaning` knows them.
        options: how it is run; ``strict``: every name must mean a document.
        say: is given lines for the user.
        dry_run: look only.

    Raises:
        MrprepError: what stands at ``out`` does not allow it, train would be empty, or no name, or (strict) not every
            name, means a document or one that was removed before.
        BugError: the ledger does not add up; the build stays as it was.
    """
    home = layout.work_of(out)
    with locked(home):
        settle(out)
        if not (home / layout.INPUTS).is_file() or not (home / "phases").is_dir():
            clear(home)  # what was killed while it tidied up; inputs and phases are an addition's to go on with
        build = whole(out, None if dry_run else say)
        listed = documents_of(build, names)
        _refuse_missing(build, listed, strict=options.strict)
        affected = shards_with(build, listed.rows)
        shards = [build.manifest["splits"][split]["shards"][place] for split, place in affected]
        total = sum(len(facts["shards"]) for facts in build.manifest["splits"].values())
        if dry_run or not listed.ids.size:
            return Removed(build, listed, {shard["file"]: shard["file"] for shard in shards}, total)
        if (home / "phases").exists():
            say(f"unfinished work in {printable(str(home))} may hold what is to go: it is dropped")
        clear(home)
        root = {"build": digest(out / layout.MANIFEST)["sha256"], "ids": [str(value) for value in listed.ids]}
        pool = Pool(options.workers)
        try:
            work = Work(home.absolute() / "phases", pool, say, root, began=options.began)
            made = _removed(build, listed, affected, options, work)
        finally:
            pool.close()
            clear(home)
    return Removed(made, listed, made.manifest["changes"][-1]["shards"], total)


def _refuse_missing(build: Build, listed: Listed, *, strict: bool) -> None:
    missing = listed.missing + (listed.others if strict else ())
    if not missing or not (strict or not (listed.ids.size or listed.already)):
        return
    count = len(missing)
    some = "; ".join(missing[:_SHOWN]) + ("; …" if count > _SHOWN else "")
    how = " (--strict)" if strict else ", as no line means a document"
    raise MrprepError(
        f"{count:,} listed {'name means' if count == 1 else 'names mean'} no document of "
        f"{printable(str(build.path))}{on_request(build)}: {some}: nothing was removed{how}: {ADVICE}"
    )


def _removed(
    build: Build, listed: Listed, affected: Sequence[tuple[str, int]], options: RunOptions, work: Work
) -> Build:
    quotes = Quotes.of(build)
    numbers, cleaned = _cleaned(build, listed, quotes, work)
    facts = [Emptied(number, _json(path / "facts.json")) for number, path in zip(numbers, cleaned, strict=True)]
    repacked, places = _repacked(build, listed, affected, work)
    verdict = _verdict(build, work.path / "verdict.npy")
    manifest = without(build, listed, facts, repacked, verdict)
    if "train" not in manifest["splits"]:
        raise MrprepError(f"{printable(str(build.path))} would have no row left to train on: delete the build instead")
    gone: set[str] = set()
    for split, place in affected:
        shard = build.manifest["splits"][split]["shards"][place]
        gone |= {shard["file"], f"{shard['file']}.db", shard["provenance"]}
    manifest["text"], files = _text(build, dict(zip(numbers, cleaned, strict=True)), gone)
    places |= files
    places |= _dedupe_tables(build, listed, verdict, work.path)
    for remembered in (layout.REMOVED, layout.REMOVED_NAMES):
        places[remembered] = _remembered(build, remembered, cleaned, work.path)
    said = {number for each in facts for number in each.facts["quoted"]}
    manifest["examples"], reports = without_quotes(build, quotes, said, work.path)
    return changed(build, manifest, {**places, **reports}, options, work, gone)


def _verdict(build: Build, path: Path) -> I64:
    """Map a copy of the verdicts of all rows for writing."""
    if build.holds(layout.VERDICT):
        shutil.copyfile(build.file(layout.VERDICT), path)
        return np.load(path, mmap_mode="r+")  # type: ignore[no-any-return]
    verdict = zeros(path, np.int64, sum(part["rows"] for part in build.manifest["text"]["parts"]))
    verdict[:] = KEPT
    return verdict


def _dedupe_tables(build: Build, listed: Listed, verdict: I64, folder: Path) -> dict[str, Path]:
    """Write the verdicts, and the table of removed duplicates, without the rows that go."""
    verdict[listed.rows] = REMOVED_ON_REQUEST
    places = {layout.VERDICT: folder / "verdict.npy"}
    if isinstance(verdict, np.memmap):
        verdict.flush()
    if build.holds(layout.CLUSTERS):
        places[layout.CLUSTERS] = folder / "clusters.parquet"
        gone = pa.array(listed.rows)
        with (
            pq.ParquetFile(build.file(layout.CLUSTERS)) as file,
            pq.ParquetWriter(places[layout.CLUSTERS], CLUSTERS, compression="zstd", compression_level=1) as writer,
        ):
            for batch in file.iter_batches(use_threads=False):
                stays = pc.invert(pc.is_in(batch["doc"], gone))
                writer.write_table(pa.Table.from_batches([batch.filter(stays)], CLUSTERS))
    return places


def _remembered(build: Build, name: str, cleaned: Sequence[Path], folder: Path) -> Path:
    """Write the hashes of all texts, or names, that were ever removed from a build: in order, each once."""
    path = folder / Path(name).name
    before = [np.load(build.file(name))] if build.holds(name) else []
    hashes = np.concatenate([*before, *(np.load(each / path.name) for each in cleaned)])
    np.save(path, np.unique(hashes, axis=0))
    return path


def _cleaned(build: Build, listed: Listed, quotes: Quotes, work: Work) -> tuple[list[int], list[Path]]:
    """Return the numbers of the parts of the text that something goes from, and what was written of each."""
    parts = build.manifest["text"]["parts"]
    units = {}
    for number, part in enumerate(parts):
        mine = listed.rows[slice(*np.searchsorted(listed.rows, (part["base"], part["base"] + part["rows"])))]
        dropped = build.file(build.manifest["text"]["dropped"][number])
        left_out = np.isin(np.asarray(table_of(dropped, columns=["id"])["id"]), listed.ids).any()
        sketch = [layout.SKETCH.format(number, name) for name in ("documents", "bands")]
        hits = layout.HITS.format(number)
        if mine.size or left_out:
            units[number] = CleanUnit(
                text=build.file(part["file"]).resolve(),
                dropped=dropped.resolve(),
                hits=build.file(hits).resolve() if build.holds(hits) else None,
                sketch=tuple(build.file(name).resolve() for name in sketch if build.holds(name)),
                rows=mine - part["base"],
                ids=listed.ids,
                excerpts=quotes.excerpts,
            )
    sizes = [unit.text.stat().st_size for unit in units.values()]
    done = work("clean", list(units.values()), clean_unit, settings={"version": VERSION}, weights=sizes)
    return list(units), done


def _text(build: Build, cleaned: Mapping[int, Path], gone: set[str]) -> tuple[dict[str, Any], dict[str, Path]]:
    """Return the list of parts with the new names of those that were cleaned, and the files; add to ``gone``."""
    parts = [dict(part) for part in build.manifest["text"]["parts"]]
    dropped = list(build.manifest["text"]["dropped"])
    places: dict[str, Path] = {}
    for number, path in cleaned.items():
        for name, canonical in (("text", layout.TEXT), ("dropped", layout.DROPPED)):
            file = path / f"{name}.parquet"
            if file.is_file():
                fresh = layout.successor(canonical.format(number), generation(build))
                gone.add(parts[number]["file"] if name == "text" else dropped[number])
                places[fresh] = file
                if name == "text":
                    parts[number]["file"] = fresh
                else:
                    dropped[number] = fresh
        others = {layout.SKETCH.format(number, name): path / f"{name}.npy" for name in ("documents", "bands")}
        others[layout.HITS.format(number)] = path / "hits.parquet"
        places |= {name: file for name, file in others.items() if file.is_file()}
    return {"parts": parts, "dropped": dropped}, places


def _repacked(
    build: Build, listed: Listed, affected: Sequence[tuple[str, int]], work: Work
) -> tuple[list[Repacked], dict[str, Path]]:
    """Write the affected shards again; return what became of each, and the files."""
    manifest = build.manifest
    numbers: dict[str, int] = {}
    tokenizer, pad = manifest["tokenizer"], manifest["tokenizer"]["pad_id"]
    units = []
    for split, place in affected:
        shard = manifest["splits"][split]["shards"][place]
        numbers[split] = numbers.get(split, next_number(build, split) - 1) + 1
        units.append(
            RepackUnit(
                file=build.file(shard["file"]).resolve(),
                provenance=build.file(shard["provenance"]).resolve(),
                split="valid" if split == "valid" else "train",
                number=numbers[split],
                tokens=shard["tokens"],
                rows=listed.rows,
                pack=pack.Options(**manifest["pipeline"]["pack"]),
                header=shard["header"],
                page=shard["page"],
                eod=tokenizer["eod_id"],
                pad=tokenizer["eod_id"] if pad is None else pad,
                bos=manifest["pipeline"]["tokenize"]["add_bos"],
                seed=int(manifest["seed"]),
            )
        )
    weights = [unit.tokens for unit in units]
    done = work("repack", units, repack_unit, settings={"version": VERSION}, weights=weights)
    found, places = [], {}
    for (split, place), unit, path in zip(affected, units, done, strict=True):
        entry, ledger = _entry(unit, path)
        found.append(Repacked(split, place, entry, ledger, np.load(path / "removed.npy")))
        if entry is not None:
            for ending in ("", ".db"):
                places[entry["file"] + ending] = path / (Path(entry["file"]).name + ending)
            places[entry["provenance"]] = path / "provenance.parquet"
    return found, places


def _entry(unit: RepackUnit, path: Path) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Return what the manifest and its ledger say of a shard that was written; None of one without documents."""
    if not (path / "counts.json").is_file():
        return None, {}
    counted = _json(path / "counts.json")
    return shard_entry(unit.split, unit.number, counted), shard_line(counted, unit.pack)


def _json(path: Path) -> Any:
    return orjson.loads(path.read_bytes())
