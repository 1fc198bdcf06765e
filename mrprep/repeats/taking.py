"""Takes paragraphs out of the documents of a part that are copies beyond those that may stay."""

from mrprep.document import Document
from mrprep.printable import printable
from mrprep.repeats.examples import Example
from mrprep.repeats.paragraphs import joined, keys_of, split
from mrprep.repeats.surplus import Surplus


class Repeats:
    """Goes through the documents of a part in their order, and keeps count."""

    def __init__(self, surplus: Surplus, min_bytes: int) -> None:
        self._may_stay, self._frequent = dict(surplus.may_stay), surplus.frequent
        self._min_bytes = min_bytes
        self.examples: dict[int, Example] = {}
        """By key, those of the most frequent paragraphs that went."""

    def take(self, document: Document) -> tuple[str, int]:
        """Return the text without its surplus copies, and how many those are; the same text if none."""
        if not self._may_stay:
            return document.text, 0
        paragraphs, between = split(document.text)
        keys = keys_of(paragraphs, self._min_bytes)
        gone = {at for at, key in enumerate(keys) if key in self._may_stay and self._is_surplus(key)}
        if not gone:
            return document.text, 0
        for at in gone:
            self._note(document, keys[at], paragraphs[at])
        return joined([None if at in gone else text for at, text in enumerate(paragraphs)], between), len(gone)

    def _is_surplus(self, key: int) -> bool:
        self._may_stay[key] -= 1
        return self._may_stay[key] < 0

    def _note(self, document: Document, key: int | None, text: str) -> None:
        if key in self._frequent and key not in self.examples:
            place = f"{printable(document.place.path, 4096)}:{document.place.line}"
            self.examples[key] = Example(key, self._frequent[key], place, printable(text.strip()))
