"""Reads a span in a process of its own, so that a library that crashes over a file costs the rest of that file.

For units whose reading began before and did not end, as when their worker died: 0.3 s a span and a message a
document. The items are those of ``read``, up to the crash.
"""

import multiprocessing
import signal
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any

from mrprep.document import Document, FileNote, ReadItem
from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.sources import read as reading
from mrprep.sources.span import Span

_CRASHES = {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP}


def read(span: Span) -> Iterator[ReadItem]:
    """Yield what ``read.read`` yields; where that crashes, the note that ends it says so.

    Raises:
        MrprepError: the process was ended from outside, as the system does when memory runs out.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_send, args=(span, sender), daemon=True)
    child.start()
    sender.close()
    try:
        yield from _received(receiver)
    except EOFError:
        child.join()
        yield FileNote(span.source, span.path, "", 0.0, 0, _last_words(span, child.exitcode or 0))
    finally:
        receiver.close()
        child.kill()
        child.join()


def _send(span: Span, sender: "Connection[Any, Any]") -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        for item in reading.read(span):
            sender.send((item.place, item.text, item.score) if isinstance(item, Document) else item)
    except BrokenPipeError:
        return
    except Exception as error:
        sender.send(error)


def _received(receiver: "Connection[Any, Any]") -> Iterator[ReadItem]:
    """Yield the items up to the note that is the last.

    Raises:
        EOFError: the sender died before.
    """
    while True:
        item = receiver.recv()
        if isinstance(item, Exception):
            raise item
        received: ReadItem = item
        if isinstance(item, tuple):
            place, text, score = item
            received = Document(place, text, score=score)
        yield received
        if isinstance(received, FileNote):
            return


def _last_words(span: Span, exit_code: int) -> str:
    if -exit_code not in _CRASHES:
        raise MrprepError(
            f"reading {printable(span.path)} was ended from outside (exit status {exit_code}; out of memory?): give "
            "the machine more memory or fewer --jobs, and run the same command again"
        )
    return f"makes the library that reads it crash ({signal.Signals(-exit_code).name}): what follows there is lost"
