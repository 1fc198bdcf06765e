"""The program: its commands, and what becomes of an error."""

import errno
import os
import signal
import sys
import threading
import traceback
from pathlib import Path
from types import FrameType
from typing import NoReturn

import typer
from typer.exceptions import TyperException

from mrprep import __version__
from mrprep.cli import (
    audit,
    build,
    clean,
    dedupe,
    doctor,
    evaluate,
    export,
    generate,
    import_,
    plan,
    remove,
    report,
    show,
    tokenizer,
    train,
    verify,
    vocab,
    weights,
    why,
)
from mrprep.engine.room import free_in, is_full
from mrprep.errors import BugError, MrprepError
from mrprep.printable import printable

_ADVICE = {
    errno.ENOSPC: "free some, and the same command goes on from here",
    errno.EDQUOT: "free some, and the same command goes on from here",
    errno.EFBIG: "raise the limit on file sizes, and the same command goes on from here",
    errno.EACCES: "give yourself the right to it, or name another place",
    errno.EPERM: "give yourself the right to it, or name another place",
    errno.EROFS: "name another place",
    errno.ENOTDIR: "name a place whose parent is a folder",
    errno.EEXIST: "something stands there; name another place",
    errno.ENAMETOOLONG: "give a shorter name",
    errno.ELOOP: "name a place without that link",
}
"""What to do about an error of the system that is not ours."""

_INTERRUPTED, _TERMINATED = 130, 143
"""Exit codes after Ctrl-C and SIGTERM."""
_terminated = threading.Event()
"""Whether SIGTERM came. It interrupts as Ctrl-C does: Ray lets no other exception of a signal through."""
_AT_ONCE = ("export", "vocab", "weights")
"""Commands whose output appears whole, by one rename: of one that was stopped nothing is kept."""

app = typer.Typer(
    name="mrprep",
    help="From a folder of raw text to packed, sharded MindSpore MindRecord, and a trainer that reads it.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
app.command("build")(build.build)
app.command("audit")(audit.audit)
app.command("plan")(plan.plan)
app.command("train")(train.train)
app.command("report")(report.report)
app.command("eval")(evaluate.evaluate)
app.command("generate")(generate.generate)
app.command("clean")(clean.clean)
app.command("doctor")(doctor.doctor)
app.command("why")(why.why)
app.command("show")(show.show)
app.command("verify")(verify.verify)
app.command("remove")(remove.remove)
app.add_typer(dedupe.app, name="dedupe")
app.add_typer(tokenizer.app, name="tokenizer")
app.add_typer(export.app, name="export")
app.add_typer(import_.app, name="import")
app.add_typer(weights.app, name="weights")
app.add_typer(vocab.app, name="vocab")


@app.callback(invoke_without_command=True)
def _version(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    if version:
        typer.echo(f"mrprep {__version__}")
        raise typer.Exit


def main() -> NoReturn:
    """Run the command line; exit with 0, 1 (a user's mistake), 2 (usage), 3 (a bug), 4 (audit failed), 130 or 143."""
    signal.signal(signal.SIGTERM, _terminate)
    sys.exit(run(sys.argv[1:]))


def _terminate(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001
    _terminated.set()
    raise KeyboardInterrupt


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code."""
    try:
        result = app(arguments, standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        return _stopped(arguments)
    except BaseException as error:
        return _code(error)
    if result == _INTERRUPTED:  # typer makes a number of Ctrl-C
        return _stopped(arguments)
    return result if isinstance(result, int) else 0


def _stopped(arguments: list[str]) -> int:
    kept = "nothing was written" if arguments[0] in _AT_ONCE else "the same command goes on from here"
    return _fail(f"stopped; {kept}", _TERMINATED if _terminated.is_set() else _INTERRUPTED)


def _code(error: BaseException) -> int:
    """Say what went wrong and return the exit code for it."""
    match error:
        case SystemExit():
            raise error
        case TyperException():
            return _fail(f"{error.format_message()} (mrprep --help tells more)", error.exit_code)
        case MrprepError():
            return _fail(str(error), error.exit_code)
        case BrokenPipeError():
            return 1
        case OSError() if _number(error) in _ADVICE:
            where = f" ({printable(str(error.filename))})" if error.filename else ""
            if error.filename and is_full(error):
                where += f", {free_in(Path(os.fsdecode(error.filename)))}"
            return _fail(f"{os.strerror(_number(error))}{where}: {_ADVICE[_number(error)]}", 1)
    traceback.print_exception(error)
    return _fail("this is a bug in mrprep, please report it with the lines above", BugError.exit_code)


def _number(error: OSError) -> int:
    return errno.ENOSPC if is_full(error) else error.errno or 0


def _fail(message: str, code: int) -> int:
    print(f"mrprep: {message}", file=sys.stderr)
    return code
