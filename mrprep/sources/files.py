"""Opens the file of a span."""

import io
import os
import stat

from mrprep.sources.found import UnreadableError
from mrprep.sources.spans import Span


def open_file(span: Span) -> io.FileIO:
    """Return the open file, unbuffered; one that has become a pipe since it was listed does not block.

    Raises:
        UnreadableError: it is no regular file.
        OSError: it cannot be opened.
    """
    handle = os.open(os.path.join(span.root, span.path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise UnreadableError("is not a regular file any more")
    return io.FileIO(handle)
