"""What a person wants to know of a finished build, on a screen, and the same as plain values."""

from collections.abc import Iterator, Mapping
from math import ceil
from typing import Any

import orjson

from mrprep.builddir.layout import DUPLICATES, RUN
from mrprep.builddir.manifest import Build
from mrprep.evaluation.words import HAN
from mrprep.plan import UNREAD
from mrprep.printable import file_name, printable

_LISTED = 8
_CLUSTERS = 3
_REPLACED = 3


def summary(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``report/summary.json`` holds; no times, so that equal builds have equal reports."""
    ledger, counts = manifest["ledger"], manifest["counts"]
    return {
        "files": manifest["inputs"]["files"],
        "bytes": manifest["inputs"]["bytes"],
        "records": ledger["read"]["records"],
        "cuts": ledger["read"]["cuts"],
        "encodings": manifest["inputs"].get("encodings", {}),
        "replaced": manifest["inputs"].get("replaced", []),
        "bad_records": counts["read"]["left_out"].get("read", {}),
        "documents": ledger["documents"],
        "dropped": {stage: why for stage, why in counts["read"]["left_out"].items() if stage != "read"},
        "examples": manifest["examples"],
        "edits": counts["read"]["edits"],
        "shortened": counts["read"].get("shortened", {}),
        "evaluation": counts.get("evaluation", {}),
        "unscored": counts["read"]["rows"] - counts["read"]["scored"] if _goes_by_score(manifest) else 0,
        "duplicates": counts["duplicates"],
        **(_token_summary(manifest) if manifest["splits"] else {"written": counts["written"]}),
        "not_read": {"problems": manifest["inputs"]["problems"], "skipped": manifest["inputs"]["skipped"]},
        "notes": manifest["notes"],
    }


def _goes_by_score(manifest: Mapping[str, Any]) -> bool:
    pipeline: Mapping[str, Any] = manifest["pipeline"]
    return "dedupe" in pipeline["stages"] and pipeline["dedupe"]["keep"] == "best"


def _token_summary(manifest: Mapping[str, Any]) -> dict[str, Any]:
    written, splits = manifest["ledger"]["written"]["tokens"], manifest["splits"]
    rows = sum(split["rows"] for split in splits.values())
    padding = sum(split["padding"] for split in splits.values())
    return {
        "tokens": sum(split["tokens"] for split in splits.values()),
        "withheld_tokens": manifest["ledger"]["withheld"]["tokens"],
        "whole_documents": manifest["counts"]["tokens"]["encoded"],
        "packing": manifest["packing"],
        "bytes_per_token": round(manifest["counts"]["tokens"]["bytes"] / max(1, written), 3),
        "by_source": manifest["counts"]["tokens"]["by_source"],
        "vocabulary": manifest["tokenizer"]["vocab_size"],
        "splits": {
            name: {"shards": len(split["shards"]), "rows": split["rows"], "padding": split["padding"]}
            for name, split in splits.items()
        },
        "padding_share": round(padding / max(1, rows * manifest["seq"]), 6),
    }


def text_summary(build: Build) -> str:
    """Return the summary of a build for a terminal."""
    said = summary(build.manifest)
    run = orjson.loads(build.file(RUN).read_bytes())
    found = orjson.loads(build.file(DUPLICATES).read_bytes()) if build.holds(DUPLICATES) else None
    return "\n".join(
        [
            *_documents(said, found),
            *(_rows(said, build) if "splits" in said else _written(said, build)),
            *_not_read(said),
            *_phases(run, said["bytes"]),
            *_end(build, said),
        ]
    )


def _documents(said: Mapping[str, Any], found: Mapping[str, Any] | None) -> Iterator[str]:
    books = said["documents"]
    yield f"read        {said['records']:,} records, {said['files']:,} files, {_size(said['bytes'])}"
    yield from _decoded(said)
    if said["bad_records"]:
        yield f"bad records {_counts(said['bad_records'])}"
    for stage, reasons in said["dropped"].items():
        yield f"{stage:<11} dropped {sum(reasons.values()):,}: {_counts(reasons)}"
    yield from _evaluation(said["evaluation"])
    for stage, what in (("boilerplate", "lines"), ("paragraphs", "repeats")):
        if cut := said["shortened"].get(stage):
            yield (
                f"{stage:<11} {cut['stretches']:,} {what} taken out of {cut['documents']:,} documents, "
                f"{cut['characters']:,} characters"
            )
    if said["unscored"]:
        yield f"no score    {said['unscored']:,} documents: among duplicates they give way to those that have one"
    if books["duplicates"]:
        kinds = {
            name: said["duplicates"][name]
            for name in ("exact", "near", "chain", "contained")
            if said["duplicates"].get(name)
        }
        yield f"duplicates  {books['duplicates']:,}: {_counts(kinds)}"
        if found:
            yield from _duplicates(found, said.get("tokens", 0))
    if removed := books.get("removed_on_request"):
        yield f"removed     {removed:,} on request"
    if books["sampled_out"] or books["empty"]:
        yield f"left out    {books['sampled_out']:,} by the weight of their source, {books['empty']:,} without tokens"
    pieces = f" in {books['kept']:,} pieces" if said["cuts"] else ""
    yield f"kept        {said.get('whole_documents', books['kept']):,} documents{pieces}"


def _decoded(said: Mapping[str, Any]) -> Iterator[str]:
    """Say what encodings were found, unless all is UTF-8 for sure, and what could not be decoded."""
    found = said["encodings"]
    if any(name != "utf-8" or facts["least_confidence"] < 1 for name, facts in found.items()):
        shown = (
            f"{name} {facts['files']:,}"
            + (f" (least sure {facts['least_confidence']:.2f})" if facts["least_confidence"] < 1 else "")
            for name, facts in sorted(found.items(), key=lambda item: (-item[1]["files"], item[0]))
        )
        yield f"encodings   of files: {', '.join(shown)}"
    if files := said["replaced"]:
        shown = (f"{_name(item)} {item['bytes']:,}" for item in files[:_REPLACED])
        more = f", … {len(files) - _REPLACED:,} more in report/summary.json" if len(files) > _REPLACED else ""
        yield (
            f"REPLACED    {sum(item['bytes'] for item in files):,} bytes that cannot be decoded became U+FFFD, "
            f"in {len(files):,} file{'s' if len(files) > 1 else ''}: {', '.join(shown)}{more}"
        )


def _evaluation(told: Mapping[str, int]) -> Iterator[str]:
    """Say how many evaluation texts documents were searched for, and how many are too short for that."""
    if not told:
        return
    whole = f", {told['whole']:,} of them whole" if told["whole"] else ""
    missed = ""
    if told["not_looked_for"]:
        characters = ceil(told["shortest"] / HAN)
        short = f"shorter than {told['shortest']} words ({characters} Chinese characters)"
        missed = f"; {told['not_looked_for']:,} were not: {short}"
    yield f"            {told['texts'] - told['not_looked_for']:,} evaluation texts were looked for{whole}{missed}"
    if empty := told.get("empty"):
        yield f"            {empty:,} evaluation file{'s hold' if empty > 1 else ' holds'} no text"


def _duplicates(found: Mapping[str, Any], tokens: int) -> Iterator[str]:
    """Say where the duplicates were; tokens saved are as many as the text that stays has for its length."""
    sources = found["sources"].values()
    where = {
        "within a source": sum(source["within"] for source in sources),
        "between sources": sum(sum(source["between"].values()) for source in sources),
        "held by earlier builds": sum(sum(source["held"].values()) for source in sources),
    }
    saved = tokens * found["removed_units"] / max(1, found["units"] - found["removed_units"])
    share = f"{found['removed_units'] / max(1, found['units']):.1%} of the text"
    yield f"            {', '.join(f'{count:,} {place}' for place, count in where.items() if count)}; {share}" + (
        f", some {saved:,.0f} tokens saved" if tokens else ""
    )
    places = (
        f"{each['removed']:,} for {f'{name} ' if (name := each['against']) else ''}{_name(each)}:{each['line']}"
        for each in found["largest"][:_CLUSTERS]
    )
    yield f"            largest clusters: {', '.join(places)}"


def _rows(said: Mapping[str, Any], build: Build) -> Iterator[str]:
    yield (
        f"tokens      {said['tokens']:,}, {said['bytes_per_token']:.2f} bytes a token, "
        f"vocabulary {said['vocabulary']:,}"
    )
    if said["withheld_tokens"]:
        yield f"withheld    {said['withheld_tokens']:,} tokens: repeats of documents that are in valid"
    if len(said["by_source"]) > 1:
        total = max(1, sum(source["tokens"] for source in said["by_source"].values()))
        shares = (f"{printable(name, 40)} {facts['tokens'] / total:.1%}" for name, facts in said["by_source"].items())
        yield f"            {', '.join(shares)}"
    for name, split in said["splits"].items():
        shards = f"{split['shards']} shard" + ("s" if split["shards"] > 1 else "")
        yield f"{name:<11} {split['rows']:,} rows of {build.manifest['seq']:,} in {shards}"
    if said["padding_share"]:
        much = said["padding_share"] > 0.05 and said["packing"] == "bestfit"
        warning = ": more than 5 %, consider --packing concat" if much else ""
        yield f"padding     {said['padding_share']:.2%}{warning}"


def _written(said: Mapping[str, Any], build: Build) -> Iterator[str]:
    files = build.manifest["documents"]
    shown = files[0] if len(files) == 1 else f"{files[0]} to {files[-1]}"
    yield f"written     {_size(said['written']['bytes'])} of text in {shown}"


def _not_read(said: Mapping[str, Any]) -> Iterator[str]:
    problems, skipped = said["not_read"]["problems"], said["not_read"]["skipped"]
    problems = [*problems, *({**item, "problem": item["reason"]} for item in skipped if item["kind"] in UNREAD)]
    skipped = [item for item in skipped if item["kind"] not in UNREAD]
    if problems:
        yield f"NOT READ    {len(problems):,} files, or what of them comes after the fault:"
    for problem in problems[:_LISTED]:
        yield f"            {_name(problem)}: {problem['problem']}"
    if len(problems) > _LISTED:
        yield f"            … {len(problems) - _LISTED:,} more in report/summary.json"
    kinds: dict[str, int] = {}
    for item in skipped:
        kinds[item["kind"]] = kinds.get(item["kind"], 0) + 1
    if kinds:
        shown = ", ".join(f"{_name(item)} ({item['reason']})" for item in skipped[:3])
        yield f"left aside  {_counts(kinds)}: {shown}{', …' if len(skipped) > 3 else ''}"


def _name(item: Mapping[str, Any]) -> str:
    return file_name(item["source"], item["path"])


def _phases(run: Mapping[str, Any], size: int) -> Iterator[str]:
    seconds = sum(phase["seconds"] for phase in run["phases"])
    yield f"time        {seconds:.1f} s, {size / 1e6 / max(seconds, 1e-9):.1f} MB/s"
    shown: dict[str, float] = {}
    for phase in run["phases"]:
        name = phase["phase"].partition(".")[0]
        shown[name] = shown.get(name, 0) + phase["seconds"]
    parts = (f"{name} {spent:.1f} s ({size / 1e6 / spent:.0f} MB/s)" for name, spent in shown.items() if spent >= 0.05)
    yield f"            {', '.join(parts)}"


def _end(build: Build, said: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"note        {note}" for note in said["notes"])
    yield f"done        {printable(str(build.path))}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(
        f"{name} {count:,}" for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )


def _size(size: int) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:,.0f} {unit}" if unit == "B" else f"{size:,.1f} {unit}"
        size /= 1000  # type: ignore[assignment]
    return f"{size:,.1f} TB"
