"""Map stages of a user's own: functions of a module, named ``module:function`` in the stages of a pipeline.

A function takes a Document and returns it, another text in its place, or a Dropped. The module is a file in the folder
of the pipeline file (or its ``code``), which imports nothing beside it, or an installed package; the current directory
is never looked into. A pipeline file alone runs no code: ``--allow-code``, or ``allow_code=True``, has to say so.
"""

import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, TracebackType

from mrprep.document import Document, Dropped, MapItem
from mrprep.errors import MrprepError
from mrprep.printable import printable

NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
"""Of such a stage."""
FAILED = "error"
"""Reason of the documents over which a function failed."""


@dataclass(frozen=True, slots=True)
class OwnStage:
    """A stage that was found, as workers load it."""

    name: str
    """``module:function``."""
    file: str | None
    """Where the module lies, if that is beside the pipeline file; else it is an installed one."""
    version: str
    """``VERSION`` of the module, or the SHA-256 of its file."""


def is_own(name: str) -> bool:
    """Return whether a stage is a user's own, by its name."""
    return NAME.fullmatch(name) is not None


def found(stages: Sequence[str], folder: Path, *, allowed: bool) -> tuple[OwnStage, ...]:
    """Load the user's own among the stages of a pipeline.

    Args:
        stages: names.
        folder: where their modules are looked for first.
        allowed: whether the user said that they may run.

    Raises:
        MrprepError: they may not; or there is no such module or function, or loading it fails.
    """
    own = [name for name in stages if is_own(name)]
    if own and not allowed:
        raise MrprepError(
            f"the pipeline runs code of its own ({', '.join(own)}): read it, and give --allow-code "
            "(from Python, allow_code=True) if it may run"
        )
    return tuple(_found(name, folder) for name in own)


def settings(own: Sequence[OwnStage]) -> dict[str, dict[str, str]]:
    """Return what of them decides bytes."""
    return {"own": {stage.name: stage.version for stage in own}} if own else {}


def passed(stage: OwnStage, documents: Iterable[Document]) -> Iterator[MapItem]:
    """Yield what the function makes of each document; of those over which it fails, a Dropped that says where."""
    function = _function(stage.name, stage.file)
    for document in documents:
        try:
            item = _checked(function(document), document)
        except (Exception, SystemExit) as error:
            yield Dropped(document, FAILED, _told(error, function.__code__.co_filename))
        else:
            yield _noted(item, document, stage.name)


def _checked(item: object, document: Document) -> MapItem:
    """Return what a function gave back, if it is what it should be."""
    if isinstance(item, Dropped):
        if not (isinstance(item.reason, str) and item.reason and isinstance(item.detail, str)):
            raise TypeError("it gave a Dropped whose reason is no word")
        return Dropped(document, item.reason, item.detail)
    if not isinstance(item, Document):
        raise TypeError(f"it gave {type(item).__name__}, not a Document or a Dropped")
    if item.place != document.place:
        raise TypeError("it gave a Document of another place")
    item.text.encode()
    return item


def _noted(item: MapItem, document: Document, stage: str) -> MapItem:
    """Return the item, with an edit by the stage if it has another text."""
    if isinstance(item, Dropped) or item.text == document.text:
        return item
    return replace(item, edits={**document.edits, stage: 1})


def _told(error: BaseException, file: str) -> str:
    """Return ``module.py:line: Error: message``, the line the last in the module."""
    line, at = 0, error.__traceback__
    while isinstance(at, TracebackType):
        line = at.tb_lineno if at.tb_frame.f_code.co_filename == file else line
        at = at.tb_next
    where = f"{Path(file).name}:{line}" if line else Path(file).name
    return printable(f"{where}: {type(error).__name__}: {error}")


def _found(name: str, folder: Path) -> OwnStage:
    module, _, function = name.partition(":")
    beside = folder.absolute() / (module.replace(".", "/") + ".py")
    file = str(beside) if beside.is_file() else None
    if file is None and not _is_installed(module):
        raise MrprepError(
            f"stage {name}: there is no {printable(str(beside))}, and no package {module} is installed: write the one, "
            "or install the other"
        )
    try:
        loaded = _module(module, file)
        _function(name, file)
    except (Exception, SystemExit) as error:
        where = _told(error, file or module)
        raise MrprepError(f"stage {name} cannot be loaded: {where}: mend it") from None
    version = getattr(loaded, "VERSION", None)
    if version is None:
        version = hashlib.sha256(Path(str(loaded.__file__)).read_bytes()).hexdigest()
    return OwnStage(f"{module}:{function}", file, str(version))


def _is_installed(module: str) -> bool:
    """Return whether a module is one of an installed package; what lies in the current directory is none."""
    head = module.partition(".")[0]
    here = os.path.realpath(".")
    spec = PathFinder.find_spec(head, [path for path in sys.path if os.path.realpath(path or ".") != here])
    first = find_spec(head)
    return spec is not None and first is not None and spec.origin == first.origin


@lru_cache
def _module(name: str, file: str | None) -> ModuleType:
    if file is None:
        return import_module(name)
    spec = spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _function(name: str, file: str | None) -> Callable[[Document], object]:
    module, _, function = name.partition(":")
    found_ = getattr(_module(module, file), function)
    if not hasattr(found_, "__code__"):
        raise TypeError(f"{function} is no function")
    return found_  # type: ignore[no-any-return]
