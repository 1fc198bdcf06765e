"""The command line on small inputs: what a user sees, and the exit code that goes with it."""

import gzip
import json
import random
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from builds import build, mrprep, phases

pytestmark = pytest.mark.mindspore

CORPUS = Path(__file__).resolve().parent.parent / "samples" / "corpus"
NOUNS = [
    "river",
    "harbour",
    "market",
    "winter",
    "letter",
    "garden",
    "window",
    "teacher",
    "engine",
    "village",
    "captain",
    "morning",
    "forest",
    "bridge",
    "kitchen",
    "station",
    "doctor",
    "picture",
    "island",
    "farmer",
    "soldier",
    "church",
    "summer",
    "journey",
    "question",
    "answer",
    "mother",
    "brother",
    "evening",
    "shadow",
    "table",
    "horse",
    "corner",
    "story",
    "voice",
    "stone",
    "field",
    "paper",
    "silver",
    "water",
]
VERBS = [
    "carried",
    "followed",
    "remembered",
    "watched",
    "reached",
    "opened",
    "crossed",
    "described",
    "answered",
    "covered",
    "finished",
    "noticed",
    "repaired",
    "passed",
    "visited",
    "painted",
    "measured",
    "entered",
    "promised",
    "counted",
]
PLACES = [
    "near",
    "behind",
    "above",
    "beside",
    "beyond",
    "before",
    "after",
    "under",
    "across",
    "around",
    "against",
    "without",
]
KINDS = [
    "old",
    "quiet",
    "heavy",
    "narrow",
    "small",
    "bright",
    "empty",
    "strange",
    "distant",
    "broken",
    "yellow",
    "careful",
    "famous",
    "wooden",
]


def prose(seed: int, length: int = 60) -> str:
    """Return some ``length`` words of English in an order of their own: no two seeds are near duplicates."""
    pick = random.Random(seed).choice
    return " ".join(
        f"It was the {pick(KINDS)} {pick(NOUNS)} of the {pick(NOUNS)} that "
        f"{pick(VERBS)} a {pick(NOUNS)} {pick(PLACES)} it."
        for _ in range(max(1, length // 12))
    )


def lines(path: Path, texts: list[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return path


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sample") / "out"
    build(CORPUS, out, "--seq", 128, "--vocab-size", 1000)
    return out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["build", "nowhere"], 1, "nowhere does not exist"),
        (["build", "."], 1, "no file with a supported ending"),
        (["build"], 2, "INPUT"),
        (["build", "x", "--sqe", "3"], 2, "--sqe"),
        (["build", "x", "--seq", "0"], 2, "--seq"),
        (["build", "x", "--shard-size", "big"], 2, "64MB"),
        (["build", "x", "--pipeline", "defualt"], 1, "did you mean 'default'"),
        (["build", "x", "--pipeline", "no.toml"], 1, "no.toml"),
        (["build", "x", "--tokenizer", "no.model"], 1, "no.model"),
        (["audit", "x"], 1, "not a finished build"),
        (["audit"], 2, "no build lies in this directory"),
        (["train", "x"], 1, "not a finished build"),
        (["verify", "x"], 1, "not a finished build"),
        (["why", "x", "y"], 1, "not a finished build"),
        (["show", "x", "y:1"], 1, "not a finished build"),
        (["frobnicate"], 2, "frobnicate"),
        (["train", "x", "--lr", "nan"], 2, "--lr"),
        (["build", "x", "--shards", "2", "--shard-size", "1MB"], 2, "--shard-size"),
        (["build", "x", "--tokenizer", "a.model", "--vocab-size", "500"], 2, "--vocab-size"),
        (["build", "x", "--seed", "99999999999999999999999"], 2, "--seed"),
        (["tokenizer", "show", "no.model"], 1, "no.model"),
    ],
)
def test_a_mistake_is_a_sentence_with_its_code(arguments: list[str], code: int, said: str, tmp_path: Path) -> None:
    if arguments[1:2] == ["x"] and arguments[0] == "build":
        lines(tmp_path / "x" / "a.jsonl", [prose(1)])
    done = mrprep(*arguments, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_every_mistake_in_a_pipeline_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text('sead = 1\n[dedupe]\ntreshold = 0.5\n[pack]\nseq = "long"\n')
    done = mrprep("build", CORPUS, "--pipeline", tmp_path / "p.toml", "--out", tmp_path / "out")
    assert done.returncode == 1
    for said in ("sead", "did you mean 'seed'", "dedupe.treshold", "did you mean 'threshold'", "pack.seq"):
        assert said in done.stderr


def test_without_names_the_build_is_called_after_its_input_and_found_again(tmp_path: Path) -> None:
    lines(tmp_path / "my text" / "a.jsonl", [prose(i) for i in range(20)])
    made = mrprep("build", "my text", "--seq", 32, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "my text.build" / "manifest.json").exists()
    assert "my text.build" in made.stdout
    assert mrprep("verify", cwd=tmp_path).returncode == 0
    shutil.copytree(tmp_path / "my text.build", tmp_path / "second")
    several = mrprep("verify", cwd=tmp_path)
    assert several.returncode == 2
    assert "my text.build, second" in several.stderr


def test_a_dry_run_says_what_would_be_read_and_writes_nothing(tmp_path: Path) -> None:
    lines(tmp_path / "in" / "a.jsonl", [prose(1)])
    (tmp_path / "in" / "b.csv").write_text("x")
    for number in range(12):
        (tmp_path / "in" / f"c{number}.docx").touch()
    (tmp_path / "in" / "z.txt").symlink_to("nowhere")
    done = mrprep("build", "in", "--dry-run", cwd=tmp_path)
    assert done.returncode == 0
    assert "left aside: z.txt (is a link to nowhere)" in done.stdout  # first what was meant to be read
    assert "1 files" in done.stdout
    assert "b.csv" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_bad_input_is_counted_and_strict_stops_at_the_first(tmp_path: Path) -> None:
    texts = [prose(i) for i in range(10)]
    file = lines(tmp_path / "in" / "a.jsonl", texts)
    file.write_text(file.read_text().replace('"}\n{', '"}\n{broken\n{', 1))
    (tmp_path / "in" / "bad.jsonl.gz").write_bytes(gzip.compress(json.dumps({"text": prose(77)}).encode() * 9)[:100])
    out = tmp_path / "out"
    done = mrprep("build", tmp_path / "in", "--out", out, "--seq", 32)
    assert done.returncode == 0, done.stderr
    assert "bad records bad-json 1" in done.stdout
    assert "NOT READ" in done.stdout
    assert "bad.jsonl.gz: " in done.stdout
    summary = json.loads((out / "report/summary.json").read_text())
    assert summary["records"] == 11
    assert summary["documents"]["kept"] == 10
    for target in (out, tmp_path / "fresh"):
        strict = mrprep("build", tmp_path / "in", "--out", target, "--seq", 32, "--strict")
        assert strict.returncode == 1
        assert "a.jsonl:2" in strict.stderr


def test_weights_of_sources_repeat_and_sample_the_survivors(tmp_path: Path) -> None:
    for name, first in (("twice", 0), ("half", 1000), ("once", 2000)):
        lines(tmp_path / name / "a.jsonl", [prose(first + i) for i in range(400 if name == "half" else 40)])
    (tmp_path / "p.toml").write_text(
        "".join(
            f'[[source]]\nname = "{n}"\npath = "{n}"\nweight = {w}\n'
            for n, w in (("twice", 2), ("half", 0.5), ("once", 1))
        )
    )
    out = tmp_path / "out"
    done = mrprep("build", "--pipeline", tmp_path / "p.toml", "--out", out, "--seq", 64)
    assert done.returncode == 0, done.stderr
    manifest = json.loads((out / "manifest.json").read_text())
    by_source = {name: source["documents"] for name, source in manifest["counts"]["tokens"]["by_source"].items()}
    assert (by_source["twice"], by_source["once"]) == (80, 40)
    assert 150 < by_source["half"] < 250
    assert manifest["ledger"]["documents"]["sampled_out"] == 400 - by_source["half"]
    assert "twice" in done.stdout
    valid = [pq.read_table(path) for path in sorted((out / "provenance").glob("valid-*"))]
    assert valid
    assert all(copy == 0 for table in valid for copy in table["copy"].to_pylist())


@pytest.mark.parametrize(("documents", "count"), [("file", 1), ("line", 5), ("blank-line", 3)])
def test_what_a_document_of_a_text_file_is(documents: str, count: int, tmp_path: Path) -> None:
    first, *rest = [prose(i) for i in range(5)]
    (tmp_path / "notes").write_text(f"{first}\n\n{rest[0]}\n{rest[1]}\n\n\n{rest[2]}\n{rest[3]}\n")
    (tmp_path / "p.toml").write_text(f'[input]\ndocuments = "{documents}"\nformat = "txt"\n[shard]\nvalid = 0\n')
    manifest = build(tmp_path / "notes", tmp_path / "out", "--pipeline", tmp_path / "p.toml", "--seq", 16)
    assert manifest["ledger"]["documents"]["kept"] == count


def test_several_text_fields_are_joined(tmp_path: Path) -> None:
    record = {"title": prose(1, 10), "meta": {"body": prose(2)}}
    (tmp_path / "a.jsonl").write_text(json.dumps(record) + "\n")
    build(tmp_path / "a.jsonl", tmp_path / "out", "--text-field", "title", "--text-field", "meta.body", "--seq", 16)
    text = pq.read_table(tmp_path / "out/text/part-00000.parquet")["text"][0].as_py()
    assert text == f"{record['title']}\n\n{record['meta']['body']}"


@pytest.mark.slow
def test_pipelines_differ(tmp_path: Path) -> None:
    good, menu = [prose(i, 300) for i in range(30)], "\n".join(["Home", "About us", "Contact", "Login", "Search"] * 9)
    dotted = "\n".join(f"{prose(900 + i, 12)} " + "! # $ % & / " * 4 for i in range(12))
    texts = [*good, good[0], menu, prose(500, 30), dotted]
    source = lines(tmp_path / "in" / "a.jsonl", texts)
    kept = {}
    for name in ("default", "zh-web", "en-web", "books", "raw"):
        out = tmp_path / name
        build(source, out, "--pipeline", name, "--seq", 64, "--vocab-size", 500)
        rows = pq.read_table(out / "text/part-00000.parquet")["text"].to_pylist()
        kept[name] = (len(rows), json.loads((out / "manifest.json").read_text())["ledger"]["documents"]["kept"])
    assert kept["raw"] == (34, 34)
    assert kept["default"][1] < 34
    assert len(set(kept.values())) >= 4, kept


def test_why_tells_every_fate(sample: Path, tmp_path: Path) -> None:
    def why(name: str) -> str:
        done = mrprep("why", sample, name)
        assert done.returncode == 0, done.stderr
        return done.stdout

    near = why("dirt/near.jsonl:2")
    assert "duplicate (near, Jaccard 0.8" in near
    assert "clean/tools.parquet:7" in near
    assert "\n          - " in near or "\n          + " in near
    assert "the texts are equal" in why("dirt/dough.txt")
    assert "dropped: repeated-lines" in why("dirt/repeated.txt") or "dropped:" in why("dirt/repeated.txt")
    assert "not a document: bad-json" in why("dirt/broken.jsonl:2")
    kept = why("samples/corpus/clean/en/ferry.md".removeprefix("samples/corpus/").replace("en/ferry.md", "zh/江边.txt"))
    assert "train/train-00000" in kept or "valid/valid-00000" in kept
    identity = kept.split()[1]
    assert why(identity) == kept
    assert mrprep("why", sample, "dirt/broken.jsonl").returncode == 1
    assert mrprep("why", sample, "no/such.txt").returncode == 1


def test_show_leads_from_a_row_to_lines_and_why_leads_back(sample: Path) -> None:
    shown = mrprep("show", sample, "train-00000:3").stdout
    place = shown.splitlines()[2].split("  ")[2].split(",")[0]
    assert "train/train-00000.mindrecord:3 " in mrprep("why", sample, place).stdout
    outside = mrprep("show", sample, "train-00000:99999")
    assert outside.returncode == 1
    assert "has rows 0 to" in outside.stderr
    assert mrprep("show", sample, "nope:0").returncode == 1


def test_verify_finds_a_flipped_byte_a_missing_index_and_a_cooked_ledger(sample: Path, tmp_path: Path) -> None:
    assert mrprep("verify", sample).returncode == 0
    copy = tmp_path / "copy"
    shutil.copytree(sample, copy)
    shard = copy / "train/train-00000.mindrecord"
    data = bytearray(shard.read_bytes())
    data[-100] ^= 1
    shard.write_bytes(data)
    (copy / "valid/valid-00000.mindrecord.db").unlink()
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["ledger"]["documents"]["kept"] += 1
    (copy / "manifest.json").write_text(json.dumps(manifest))
    found = mrprep("verify", copy)
    assert found.returncode == 1
    for said in ("train/train-00000.mindrecord: its content changed", "valid-00000.mindrecord.db: missing", "ledger:"):
        assert said in found.stdout


def test_hostile_names_and_texts_do_not_reach_the_terminal(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    lines(folder / "bad\x1b[31mname\n.jsonl", [prose(i) for i in range(9)])
    (folder / "\x1b]0;title\x07.csv").write_text("x")
    (folder / "b.jsonl").write_text('{"te\\u001b[2Jxt": 1}\n')
    done = mrprep("build", folder, "--out", tmp_path / "out", "--seq", 32)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert "\x1b" not in mrprep("why", tmp_path / "out", "b.jsonl:1").stdout


def test_a_corpus_of_one_short_document_gives_one_row(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("A single short text of some words.")
    manifest = build(tmp_path / "one.txt", tmp_path / "out")
    assert manifest["splits"]["train"]["rows"] == 1
    assert "valid" not in manifest["splits"]
    assert phases(tmp_path / "out")["shard"] == (1, 0)


def test_nothing_left_after_the_filters_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "blank.txt").write_text(" \n\n ")
    done = mrprep("build", tmp_path / "blank.txt", "--out", tmp_path / "out")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["blank.txt"]


def test_an_encoding_that_is_told_holds_for_every_file(tmp_path: Path) -> None:
    text = "联通的信号很好，" * 3
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_bytes("联通".encode("gb18030"))
    (tmp_path / "in" / "b.txt").write_bytes(text.encode("gb18030"))
    build(tmp_path / "in", tmp_path / "out", "--encoding", "gb18030", "--seq", 16, "--pipeline", "raw")
    assert pq.read_table(tmp_path / "out/text/part-00000.parquet")["text"].to_pylist() == ["联通", text]
    wrong = mrprep("build", tmp_path / "in", "--out", tmp_path / "o2", "--encoding", "gb99")
    assert wrong.returncode == 2
    assert "--encoding" in wrong.stderr


def test_the_report_shows_what_each_rule_took_out(sample: Path) -> None:
    shown = json.loads((sample / "report/summary.json").read_text())["examples"]
    assert shown["read"]["bad-json"][0]["place"] == "dirt/broken.jsonl:2"
    (repeated,) = [
        e for of_reason in shown["filter"].values() for e in of_reason if e["place"] == "dirt/repeated.txt:1"
    ]
    assert repeated["detail"]
    assert repeated["excerpt"]
