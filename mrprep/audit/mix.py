"""What the text is by source: bytes a token, scripts, languages."""

from collections.abc import Iterator, Mapping

import numpy as np

from mrprep.audit.block import Block, Example
from mrprep.audit.drift import main_documents
from mrprep.audit.finding import EXAMPLES, Finding, grade
from mrprep.extras import advice, has
from mrprep.filtering.classes import Kind, count_classes
from mrprep.filtering.langid import language_of
from mrprep.printable import printable

_SCRIPTS: Mapping[str, tuple[Kind, ...]] = {
    "Latin": (Kind.LATIN, Kind.ACCENTED),
    "Han": (Kind.HAN, Kind.RARE_HAN),
    "kana": (Kind.KANA,),
    "Hangul": (Kind.HANGUL,),
    "Greek, Cyrillic and others": (Kind.ALPHABET,),
    "right to left": (Kind.RIGHT_TO_LEFT,),
    "Indic": (Kind.INDIC,),
    "Thai, Tibetan and others": (Kind.STACKED,),
}
_CHARACTERS = 1 << 20
"""Characters of text whose kinds are counted at a time."""
SOURCES = 64
"""Sources, or folders of one, that are told apart; those that come later are taken together."""
OTHERS = "other sources"
_ENOUGH = 4096
"""Tokens of a source, before its bytes a token say anything."""
_MINOR = 0.05
_ROWS = 400
"""Rows whose language is asked for; 1 ms each."""
_ENOUGH_TEXT = 80
"""Characters of a stretch, before its language can be told."""


def source_of(names: Mapping[str, object], source: str) -> str:
    """Return the name under which a source is counted, given those counted so far."""
    name = printable(source, 60) or "all"
    return name if name in names or len(names) < SOURCES else OTHERS


class Mix:
    """Bytes a token and scripts, by source.

    Args:
        bytes_per_token: at or under which it is a warning and a failure.
    """

    def __init__(self, bytes_per_token: tuple[float, float]) -> None:
        self._limits = bytes_per_token
        self._bytes: dict[str, int] = {}
        self._tokens: dict[str, int] = {}
        self._kinds: dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]] = {}
        self._examples: dict[str, list[Example]] = {}

    def see(self, block: Block) -> None:
        """Take in a block."""
        names, codes = block.groups()
        for code, source in enumerate(names):
            name = source_of(self._tokens, source)
            mine = np.flatnonzero(codes == code)
            self._tokens[name] = self._tokens.get(name, 0) + int(block.stretches.length[mine].sum())
            self._count(name, [block.decoded[stretch] for stretch in mine.tolist()])
            shown = self._examples.setdefault(name, [])
            shown += [block.example(stretch) for stretch in mine[: EXAMPLES - len(shown)].tolist()]

    def _count(self, name: str, texts: list[str]) -> None:
        joined = "\n".join(texts)
        self._bytes[name] = self._bytes.get(name, 0) + len(joined.encode("utf-8", "replace")) - len(texts) + 1
        total = self._kinds.setdefault(name, np.zeros(len(Kind), np.int64))
        for start in range(0, len(joined), _CHARACTERS):
            codes = np.frombuffer(joined[start : start + _CHARACTERS].encode("utf-32-le", "replace"), np.uint32)
            total += count_classes(codes, np.array([codes.size]))[: len(Kind), 0]

    @property
    def bytes_per_token(self) -> dict[str, float]:
        """By source, most tokens first."""
        order = sorted(self._tokens, key=lambda name: -self._tokens[name])
        return {name: self._bytes[name] / self._tokens[name] for name in order if self._tokens[name]}

    @property
    def scripts(self) -> dict[str, dict[str, float]]:
        """Source -> script -> share of its letters, without those that it has none of."""
        return {name: _shares(self._letters(self._kinds[name])) for name in self.bytes_per_token}

    @property
    def all_scripts(self) -> dict[str, float]:
        """Script -> share of the letters of all sources."""
        return _shares(self._letters(np.sum(list(self._kinds.values()), axis=0))) if self._kinds else {}

    def _letters(self, kinds: np.ndarray[tuple[int], np.dtype[np.int64]]) -> dict[str, int]:
        return {script: int(kinds[list(of)].sum()) for script, of in _SCRIPTS.items()}

    def findings(self) -> Iterator[Finding]:
        """Yield two judgements."""
        enough = {name: ratio for name, ratio in self.bytes_per_token.items() if self._tokens[name] >= _ENOUGH}
        worst = min(enough, key=lambda name: enough[name], default="")
        ratio = enough.get(worst, 0.0)
        level = grade(-ratio, -self._limits[0], -self._limits[1]) if worst else "ok"
        said = ", ".join(f"{name} {value:.2f}" for name, value in list(self.bytes_per_token.items())[:8])
        yield Finding(
            "bytes-per-token",
            level,
            ratio,
            self._limits[0],
            f"bytes of text a token, by source: {said}",
            "" if level == "ok" else f"the vocabulary does not fit {worst}: train one on this text, or leave it out",
            () if level == "ok" else tuple(self._examples[worst]),
        )
        total = self.all_scripts
        yield Finding(
            "script-mix",
            "ok",
            max(total.values(), default=0.0),
            0,
            f"letters by script: {', '.join(f'{name} {share:.1%}' for name, share in total.items()) or 'none'}",
        )


class Languages:
    """Languages of the main documents of rows, by source; needs the extra langid.

    Args:
        minor: share of rows in languages under 5 % each from which on it is a note.
    """

    def __init__(self, minor: float) -> None:
        self._minor = minor
        self._rows = 0
        self._found: dict[str, dict[str, int]] = {}
        self._examples: dict[str, list[Example]] = {}

    def see(self, block: Block) -> None:
        """Take in a block."""
        if self._rows >= _ROWS or not has("langid"):
            return
        main = main_documents(block)
        chosen = np.flatnonzero(block.stretches.doc == main[block.stretches.row])
        names, codes = block.groups()
        for stretch in chosen[: _ROWS - self._rows].tolist():
            text = block.decoded[stretch]
            if len(text.encode()) >= _ENOUGH_TEXT:
                self._count(names[codes[stretch]], language_of(text), block.example(stretch))

    def _count(self, source: str, language: str, example: Example) -> None:
        self._rows += 1
        counts = self._found.setdefault(source_of(self._found, source), {})
        counts[language] = counts.get(language, 0) + 1
        shown = self._examples.setdefault(language, [])
        if len(shown) < EXAMPLES:
            shown.append(example)

    @property
    def shares(self) -> dict[str, dict[str, float]]:
        """Source -> language -> share of its rows."""
        return {name: _shares(counts) for name, counts in self._found.items()}

    def findings(self) -> Iterator[Finding]:
        """Yield the judgement."""
        if not has("langid"):
            yield Finding("language-mix", "ok", 0, self._minor, f"languages are not told apart: it {advice('langid')}")
            return
        total: dict[str, int] = {}
        for counts in self._found.values():
            for language, count in counts.items():
                total[language] = total.get(language, 0) + count
        shares = _shares(total)
        minor = {language: share for language, share in shares.items() if share < _MINOR}
        value = sum(minor.values())
        note = value >= self._minor
        said = ", ".join(f"{language} {share:.1%}" for language, share in shares.items() if share >= _MINOR) or "none"
        shown = [example for language in minor for example in self._examples[language][:1]]
        yield Finding(
            "language-mix",
            "note" if note else "ok",
            value,
            self._minor,
            f"languages of {self._rows} rows: {said}, others {value:.1%}",
            "many languages with little text each: keep those that are wanted with languages = [...] in [filter]"
            if note
            else "",
            tuple(shown[:EXAMPLES]) if note else (),
        )


def _shares(counts: Mapping[str, int]) -> dict[str, float]:
    """Return shares, the largest first, without zeros."""
    total = max(1, sum(counts.values()))
    return {name: n / total for name, n in sorted(counts.items(), key=lambda item: -item[1]) if n}
