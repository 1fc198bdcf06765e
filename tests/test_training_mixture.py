"""Several builds in one run: which rows come when, what must agree, and rows that are damaged. MindSpore in process."""

import json
import re
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from training_build import write_build

from mrprep.cli.app import run as mrprep
from mrprep.errors import MrprepError
from mrprep.training import checkpoint, metrics
from mrprep.training.mixture import read_mixture, valid_mixture
from mrprep.training.rows import batches, describe_damage
from mrprep.training.run import train
from mrprep.training.settings import LoopOptions

pytestmark = pytest.mark.mindspore

SEQ, VOCAB = 12, 300


def _numbered(first, count):
    """Rows of which each holds nothing but its number."""
    return np.repeat(np.arange(first, first + count, dtype=np.int32)[:, None], SEQ + 1, axis=1)


def _flat(path, ids, shards=2, **options):
    return write_build(path, {"input_ids": ids}, shards, **{"vocab_size": VOCAB, **options})


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Builds of rows 1 to 90 and 101 to 140, the second with other pages."""
    folder = tmp_path_factory.mktemp("two")
    return [_flat(folder / "a", _numbered(1, 90)), _flat(folder / "b", _numbered(101, 40), 3, page=1 << 16)]


def _seen(mixture, ranks, start, stop):
    """First ids of the rows of each step, over all ranks in the order of the global batch."""
    from mrprep.training import data

    steps = {step: [] for step in range(start, stop)}
    for rank in range(ranks):
        share = data.Share(seed=6, micro_batch=4 // ranks, accumulate=2, rank=rank, ranks=ranks)
        for step, micro_batches in data.steps(mixture, share, start, stop):
            steps[step].append(np.concatenate([columns[0].asnumpy()[:, 0] for columns in micro_batches]))
    return {step: np.stack(parts, axis=1).ravel().tolist() for step, parts in steps.items()}


def test_the_same_rows_at_any_number_of_ranks_and_from_any_step(two):
    mixture = read_mixture(two, [0.4, 0.6])
    assert (mixture.taken, mixture.epoch_rows) == ((27, 40), 67)
    whole = _seen(mixture, 1, 0, 20)
    assert _seen(mixture, 2, 0, 20) == _seen(mixture, 4, 0, 20) == whole
    assert _seen(mixture, 2, 11, 20) == {step: whole[step] for step in range(11, 20)}
    for epoch in range(2):
        rows = list(chain.from_iterable(whole[step] for step in range(8 * epoch, 8 * epoch + 8)))
        assert len(set(rows)) == 64  # 3 of 67 sit out
        assert 24 <= sum(row <= 90 for row in rows) <= 27
    wanted = mixture.deal(6, 1, 8, 0, 1, 2, 1)
    assert whole[10] == [row + 1 if row < 90 else row - 90 + 101 for row in wanted]


def test_without_weights_every_row_of_all_is_in_an_epoch(two):
    rows = list(chain.from_iterable(_seen(read_mixture(two), 1, 0, 16).values()))
    assert len(set(rows)) == len(rows) == 128  # 2 of 130 sit out
    assert set(rows) <= {*range(1, 91), *range(101, 141)}


def test_other_weights_or_builds_are_other_data(two):
    names = {read_mixture(two, mix).sha256 for mix in (None, [1, 1], [2, 1])} | {read_mixture(two[::-1]).sha256}
    assert len(names) == 4
    assert read_mixture(two, [1, 1]).sha256 == read_mixture(two, [3, 3]).sha256


def test_builds_that_differ_are_refused_with_both_named(two, tmp_path):
    other = _flat(tmp_path / "c", _numbered(1, 9), 1, vocab_size=500)
    with pytest.raises(MrprepError, match=r"a has a vocabulary of 300, .*c 500: .*--tokenizer"):
        read_mixture([two[0], other])
    short = _flat(tmp_path / "d", _numbered(1, 9)[:, :7], 1)
    with pytest.raises(MrprepError, match=r"rows of so many tokens: 12, .*d 6"):
        read_mixture([*two, short])
    again = _flat(tmp_path / "e", _numbered(1, 9), 1)
    manifest = json.loads((again / "manifest.json").read_text())
    manifest["tokenizer"]["sha256"] = "ff"
    (again / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(MrprepError, match=r"a tokenizer with SHA-256 None, .*e ff"):
        read_mixture([two[0], again])


def test_a_build_named_twice_is_refused(two, tmp_path):
    (tmp_path / "again").symlink_to(two[0])
    for again in (two[0], tmp_path / "again"):
        with pytest.raises(MrprepError, match="is named twice, and its rows would come twice an epoch"):
            read_mixture([*two, again])


@pytest.mark.parametrize("mix", ["0.7", "1,0", "a,b", "1,nan", "1,2,3"])
def test_weights_that_are_none_are_a_usage_error(two, tmp_path, mix, capsys):
    assert mrprep(["train", *map(str, two), "--mix", mix, "--out", str(tmp_path / "run")]) == 2
    assert "--mix" in capsys.readouterr().err


def test_validation_looks_at_the_builds_in_their_shares(two):
    mixture = read_mixture(two, [0.4, 0.6])
    assert valid_mixture(two, mixture, 10) is None  # they have no valid split


@pytest.mark.parametrize(("wrong", "layout"), [(VOCAB, "flat"), (-1, "flat"), (70_000, "mcore")])
def test_an_id_beyond_the_vocabulary_is_a_sentence_with_shard_and_row(tmp_path, wrong, layout):
    ids = _numbered(1, 90)
    ids[77, SEQ] = wrong  # the last place: in mcore only a label
    rows = {"input_ids": ids}
    if layout == "mcore":
        same = np.ones((90, SEQ), np.int32)
        rows = {"input_ids": ids[:, :-1], "labels": ids[:, 1:], "loss_mask": same.astype(np.float32)}
        rows |= {"position_ids": same, "actual_seq_len": same}
    mixture = read_mixture([write_build(tmp_path / "b", rows, 2, vocab_size=VOCAB)])
    read = batches(mixture, np.array([5, 3, 2, 76, 77, 78]), 2)
    assert next(read)[0][:, 0].tolist() == [6, 4]
    next(read)
    with pytest.raises(MrprepError, match=rf"b/train/train-00001\.mindrecord row 32 holds id {wrong}, .*has 300"):
        next(read)


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Two builds of real text with one tokenizer: a document a line, 40 lines each."""
    folder = tmp_path_factory.mktemp("texts")
    draws = np.random.default_rng(0)
    words = ["".join(draws.choice(list("abcdefgh"), 4)) for _ in range(60)]
    model = []
    for name in ("a", "b"):
        lines = [" ".join([name, str(k), *draws.choice(words, 12)]) for k in range(40)]
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")
        source = f'[[source]]\nname = "{name}"\npath = "{name}.txt"\ndocuments = "line"\n'
        stages = 'stages = ["clean", "tokenize", "pack", "shard"]\n'
        (folder / f"{name}.toml").write_text(f"{stages}{source}[pack]\nseq = 32\n")
        out = ["--out", str(folder / f"{name}.build"), *(model or ["--vocab-size", "340"])]
        assert mrprep(["build", "--pipeline", str(folder / f"{name}.toml"), *out]) == 0
        model = ["--tokenizer", str(folder / "a.build/tokenizer/tokenizer.model")]
    return [folder / "a.build", folder / "b.build"]


def test_an_incident_names_the_build_of_each_row(texts, tmp_path):
    from mrprep.training import incident

    mixture = read_mixture(texts)
    seq = mixture.like.seq
    rows = [mixture.parts[0].rows + 3, 2, mixture.parts[0].rows]
    scored = [
        incident.Scored(0, row, np.full(seq, loss, np.float32), np.ones(seq, np.float32))
        for row, loss in zip(rows, (1.0, 3.0, 2.0), strict=True)
    ]
    path = incident.write(tmp_path, {"step": 7, "reason": "a test"}, scored, mixture)
    told = json.loads((path / "incident.json").read_text())["rows"]
    assert [(row["build"], row["row"], row["loss"]) for row in told] == [
        (str(texts[0]), "train-00000:2", 3.0),
        (str(texts[1]), "train-00000:0", 2.0),
        (str(texts[1]), "train-00000:3", 1.0),
    ]
    for row in told:
        letter = Path(row["build"]).name[0]
        assert row["documents"]
        for document in row["documents"]:
            assert document["place"].startswith(f"{letter}.txt:")
    assert f"train-00000:3  of {texts[1]}  rank 0" in (path / "incident.txt").read_text()


def test_damage_names_the_documents_of_the_row(texts):
    shards = read_mixture(texts).parts[1]
    assert re.search(r"row 2 holds id 999, .* \(documents of the row: b\.txt:\d+", describe_damage(shards, 2, 999))


@pytest.mark.slow
def test_a_run_on_two_builds_goes_on_exactly(two, tmp_path):
    """Losses after a resume equal those of the undisturbed run, and the report of shares is said."""
    said = []

    def go(out):
        options = LoopOptions(micro_batch=4, save_every=3)
        return train(*two, out=out, mix=[0.4, 0.6], steps=9, options=options, say=said.append)

    alone = go(tmp_path / "run")
    assert [line for line in said if line.startswith("of ")] == [
        f"of {two[0]} 27 of 90 rows an epoch (40.3%)",
        f"of {two[1]} 40 of 40 rows an epoch (59.7%)",
    ]
    weights, losses = (alone.checkpoint / "model.safetensors").read_bytes(), metrics.read(alone.run / "metrics.jsonl")
    (alone.checkpoint / "state.json").unlink()
    again = go(tmp_path / "run")
    assert "going on after step 6" in said
    assert (again.checkpoint / "model.safetensors").read_bytes() == weights
    assert [m["loss"] for m in metrics.read(again.run / "metrics.jsonl")] == [m["loss"] for m in losses]
    with pytest.raises(MrprepError, match="other data"):
        train(*two, out=alone.run, mix=[0.5, 0.5], steps=9, options=LoopOptions(micro_batch=4), say=said.append)
    assert re.fullmatch(r"[0-9a-f]{64}", checkpoint.latest(alone.run / "checkpoints")[1].manifest_sha256)
