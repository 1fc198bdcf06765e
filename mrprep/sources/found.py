"""What reading a span finds out on the way, for the note that ends it."""

from dataclasses import dataclass

from mrprep.document import FileNote
from mrprep.sources.span import Span


@dataclass(slots=True)
class Found:
    """Filled by the layers of a reader; the one thing they share."""

    encoding: str = "utf-8"
    confidence: float = 1.0
    replaced: int = 0
    problem: str = ""

    def note(self, span: Span) -> FileNote:
        """Return the note of a span that has been read."""
        return FileNote(span.source, span.path, self.encoding, self.confidence, self.replaced, self.problem)
