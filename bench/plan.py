"""`mrprep plan` against the truth: tokens and duplicates of six corpora from a sample, over seeds.

    python bench/plan.py [SHARE] [SEEDS]

Builds each corpus once with llama2_32k, then estimates it from SHARE (0.05) of its text under SEEDS (20) seeds.
"""

import json
import sys
import tempfile
from pathlib import Path

from tree import SHARED, run

from mrprep.config import command_line_sources, load_pipeline
from mrprep.estimate.plans import corpus

CORPORA = ("mixfolder", "en_gutenberg", "en_reuters", "en_python_doc", "zh_classics", "zh_laws")
MODEL = SHARED / "corpora/tokenizers/llama2_32k.model"


def truth(name: str, folder: Path) -> tuple[int, float]:
    """Return the tokens that a build writes, and the share of documents that dedupe takes out."""
    out = folder / name
    run("build", SHARED / "corpora" / name, "--tokenizer", MODEL, "--out", out)
    ledger = json.loads((out / "manifest.json").read_text())["ledger"]
    passed = ledger["documents"]["kept"] + ledger["documents"]["duplicates"]
    return ledger["written"]["tokens"] + ledger["written"]["eod"], ledger["documents"]["duplicates"] / passed


def main(share: float, seeds: int) -> None:
    print(f"{'corpus':<15}{'tokens':>12}{'worst':>8}{'within 5%':>11}{'duplicates':>12}{'in range':>10}  widest range")
    with tempfile.TemporaryDirectory() as folder:
        for name in CORPORA:
            tokens, duplicates = truth(name, Path(folder))
            pipeline = load_pipeline("default", {"tokenize": {"model": MODEL}})
            sources = command_line_sources([SHARED / "corpora" / name], pipeline.input)
            pipeline = pipeline.model_copy(update={"source": sources})
            found = [corpus(pipeline, seed, share, [1]) for seed in range(seeds)]
            errors = [abs(each.text.tokens.mid * (1 - duplicates) / tokens - 1) for each in found]
            held = sum(each.duplicates.low <= duplicates <= each.duplicates.high for each in found)
            near = sum(error <= 0.05 for error in errors)
            widest = max((each.duplicates for each in found), key=lambda each: each.high - each.low)
            print(
                f"{name:<15}{tokens:>12,}{max(errors):>8.1%}{near:>8}/{seeds}{duplicates:>12.2%}{held:>7}/{seeds}"
                f"  {widest.low:.2%} to {widest.high:.2%}",
                flush=True,
            )


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 0.05, int(sys.argv[2]) if len(sys.argv) > 2 else 20)
