"""Writes what is made of ``samples/corpus``: the packed files and the planted dirt.

The single texts under ``corpus/clean/en`` and ``corpus/clean/zh`` are written by hand; everything else comes
from ``samples/text`` by this script, with the same bytes every time (Parquet: for the same pyarrow).

    python samples/make.py            # writes samples/corpus
    python samples/make.py FOLDER     # writes the same files there
"""

import sys
from pathlib import Path

from bundle import read_bundle
from dirt import dirt
from pack import texts_jsonl, texts_jsonl_gz, texts_parquet, titled_jsonl

CORPUS = Path(__file__).resolve().parent / "corpus"
_PACKED = {
    "letters-en.jsonl": titled_jsonl,
    "letters-zh.jsonl": texts_jsonl,
    "kitchen.jsonl.gz": texts_jsonl_gz,
    "stories.jsonl.gz": texts_jsonl_gz,
    "tools.parquet": texts_parquet,
    "tales.parquet": texts_parquet,
}


def made() -> dict[str, bytes]:
    """Return the made files by their path under the corpus."""
    clean = CORPUS / "clean"
    by_hand = {
        path.relative_to(clean).as_posix(): path.read_bytes()
        for folder in ("en", "zh")
        for path in sorted((clean / folder).iterdir())
    }
    files = {f"clean/{name}": pack(read_bundle(name.partition(".")[0])) for name, pack in _PACKED.items()}
    return files | {f"dirt/{name}": content for name, content in dirt(by_hand).items()}


def main() -> None:
    """Write the made files under the folder named, or under the corpus."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else CORPUS
    for name, content in made().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


if __name__ == "__main__":
    main()
