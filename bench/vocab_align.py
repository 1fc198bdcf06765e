"""`mrprep vocab align` on a real model: what 2,000 added Chinese pieces cost on old text, and gain on Chinese.

    python bench/vocab_align.py [FOLDER] [STEPS]

Trains `tiny` for STEPS (400) on 40 English books and 30 Chinese laws under a vocabulary of 6,000 pieces, adds 2,000
pieces of a vocabulary of Chinese laws in the middle (so that most ids change), moves the weights by all three ways to
begin a new row (``pieces``, ``mean``, and random numbers as a new model has them), and takes the losses on other books
and other laws. What is in FOLDER already is not made again.
"""

import gzip
import json
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file
from sentencepiece import sentencepiece_model_pb2
from tree import SHARED, run

ADDED = 2000
HAN = re.compile("[\u4e00-\u9fff]+")
EVALUATED = 200


def corpora(folder: Path) -> None:
    """Write what is trained on (old), and what is looked at: other books (books), other laws (laws)."""
    books = sorted((SHARED / "corpora/en_gutenberg").glob("*/*.md"))
    with gzip.open(SHARED / "corpora/zh_laws/laws.jsonl.gz", "rt") as lines:
        laws = [text for text in (json.loads(line)["text"] for line in lines) if len(text) > 2000]
    for name in ("old", "books", "laws"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for number, book in enumerate(books[:48]):
        where = folder / ("old" if number < 40 else "books") / f"{number:02}.txt"
        where.write_text(book.read_text("utf-8", "replace")[5000:85000])
    for where, texts in ((folder / "old", laws[:30]), (folder / "laws", laws[30:280])):
        lines = (json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts)
        (where / "zh.jsonl").write_text("".join(lines))


def extend(old: Path, chinese: Path, out: Path) -> None:
    """Write the old model with the first pieces of Chinese characters of the other that it has not."""
    model, other = (sentencepiece_model_pb2.ModelProto.FromString(path.read_bytes()) for path in (old, chinese))
    there = {piece.piece for piece in model.pieces}
    new = [p.piece for p in other.pieces if HAN.fullmatch(p.piece) and p.piece not in there][:ADDED]
    lowest = min(piece.score for piece in model.pieces)
    pieces = list(model.pieces)
    middle = len(pieces) // 2
    kind = sentencepiece_model_pb2.ModelProto.SentencePiece
    added = [kind(piece=piece, score=lowest - 1 - i) for i, piece in enumerate(new)]
    del model.pieces[:]
    model.pieces.extend([*pieces[:middle], *added, *pieces[middle:]])
    out.write_bytes(model.SerializeToString())


def randomised(source: Path, out: Path, new_ids: list[int]) -> None:
    """Write weights whose new rows are drawn as a new model's are."""
    out.mkdir()
    for file in source.iterdir():
        if file.suffix != ".safetensors":
            (out / file.name).write_bytes(file.read_bytes())
    arrays = load_file(source / "model.safetensors")
    for name in ("model.embed_tokens.weight", "lm_head.weight"):
        if name in arrays:
            draw = np.random.default_rng(1).normal(0, 0.02, (len(new_ids), arrays[name].shape[1]))
            arrays[name][new_ids] = draw.astype(np.float32)
    save_file(arrays, out / "model.safetensors", {"format": "pt"})


def loss(weights: Path, build: Path) -> float:
    said = run("eval", weights, build, "--split", "train", "--rows", EVALUATED)
    return float(re.search(r"loss ([0-9.]+)", said)[1])  # type: ignore[index]


def main(folder: Path, steps: int) -> None:
    old, new, chinese = folder / "old.build/tokenizer/tokenizer.model", folder / "new.model", folder / "zh.model"
    if not (folder / "laws").is_dir():
        corpora(folder)
    build = ("--pipeline", "raw", "--seq", 256)
    if not old.is_file():
        run("build", folder / "old", *build, "--vocab-size", 6000, "--valid", 0.02, "--out", folder / "old.build")
    if not (folder / "old.run").is_dir():
        run(
            "train", folder / "old.build", "--model", "tiny", "--steps", steps, "--micro-batch", 8, "--lr", 0.003,
            "--out", folder / "old.run",
        )  # fmt: skip
    if not new.is_file():
        run("tokenizer", "train", folder / "laws", "--pipeline", "raw", "--vocab-size", 6000, "--out", chinese)
        extend(old, chinese, new)
    builds = {}
    for corpus, tokenizer in (("books", old), ("books", new), ("laws", new)):
        builds[corpus, tokenizer] = folder / f"{corpus}.{tokenizer.stem}.build"
        if not builds[corpus, tokenizer].is_dir():
            run("build", folder / corpus, *build, "--valid", 0, "--tokenizer", tokenizer,
                "--out", builds[corpus, tokenizer])  # fmt: skip
    weights = {}
    for how in ("pieces", "mean"):
        weights[how] = folder / f"aligned.{how}"
        if not weights[how].is_dir():
            run("vocab", "align", "--from", old, "--to", new, "--weights", folder / "old.run", "--new", how,
                "--multiple", 64, "--out", weights[how])  # fmt: skip
    weights["random"] = folder / "aligned.random"
    if not weights["random"].is_dir():
        middle = sum(1 for _ in sentencepiece_model_pb2.ModelProto.FromString(old.read_bytes()).pieces) // 2
        randomised(weights["mean"], weights["random"], list(range(middle, middle + ADDED)))
    before = loss(folder / "old.run", builds["books", old])
    print(f"{'new rows':<10}{'old text':>10}{'':>10}{'Chinese':>10}")
    print(f"{'(before)':<10}{before:>10.4f}")
    for how, where in weights.items():
        english, laws = loss(where, builds["books", new]), loss(where, builds["laws", new])
        print(f"{how:<10}{english:>10.4f}{english / before - 1:>+10.2%}{laws:>10.4f}")


if __name__ == "__main__":
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp())
    main(place, int(sys.argv[2]) if len(sys.argv) > 2 else 400)
