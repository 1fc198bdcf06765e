"""Every flag that a sentence of advice names is one of the command that it is for, and takes the value named."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args, get_origin

import pytest
from typer.main import get_command

from mrprep.cli.app import app

PACKAGE = Path(__file__).resolve().parent.parent / "mrprep"
COMMANDS = get_command(app).commands
MEANT = {
    "audit": ("build", "audit"),
    "estimate": ("train", "plan"),
    "doctor": ("train", "build"),
    "training/verdict.py": ("train",),
    "training/guard.py": ("train",),
    "training/incident.py": ("train",),
    "stages/audit.py": ("build", "audit"),
    "building.py": ("build",),
}
"""Where advice is written -> the commands whose flags it may name when it names no command."""
OTHERS = {"--master_port": "of msrun", "--shm-size": "of docker"}
FLAG = re.compile(r"(--[a-z][\w-]*)(?:[ =]([\w.]+))?")
COMMAND = re.compile(r"mrprep (\w+)")


def sentences(path: Path) -> Iterator[str]:
    """Yield every string of a module that holds a flag, but for docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and not {id(node)} & (told | parts):
            text = node.value
        else:
            continue
        if "--" in text:
            yield text


def advised() -> Iterator[tuple[str, str, str | None, tuple[str, ...]]]:
    """Yield sentence, flag, the word after it, and the commands that it may be for."""
    for place, meant in MEANT.items():
        files = [PACKAGE / place] if place.endswith(".py") else sorted((PACKAGE / place).glob("*.py"))
        for text in (text for file in files if file.exists() for text in sentences(file)):
            for found in FLAG.finditer(text):
                named = [name for name in COMMAND.findall(text[: found.start()]) if name in COMMANDS]
                if found[1] not in OTHERS:
                    yield text, found[1], found[2], tuple(named[-1:]) or meant


ADVISED = sorted({(flag, word or "", meant, text) for text, flag, word, meant in advised()})


def wrong(flag: str, word: str, command: str) -> str:
    """Return what is wrong with a flag, and the word after it, on a command."""
    option = next((o for o in COMMANDS[command].params if flag in (*o.opts, *o.secondary_opts)), None)
    if option is None:
        return f"mrprep {command} has no {flag}"
    value = re.fullmatch(r"\d+|O\d", word)
    if option.is_flag:
        return f"mrprep {command} {flag} takes no {word}" if value else ""
    kind = option.type_descriptor.annotation
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    if choices and word not in choices:
        return f"mrprep {command} {flag} is one of {choices}, not {word}"
    if value and None not in (option.min, option.max) and not option.min <= int(word) <= option.max:
        return f"mrprep {command} {flag} is no {word}"
    return ""


@pytest.mark.parametrize(("flag", "word", "meant", "text"), ADVISED, ids=[f"{a[0]} {a[1]}" for a in ADVISED])
def test_an_advised_flag_is_there(flag: str, word: str, meant: tuple[str, ...], text: str) -> None:
    faults = [wrong(flag, word, command) for command in meant]
    assert not all(faults), f"{faults} in: {text}"


def test_advice_is_found_and_a_wrong_flag_would_be() -> None:
    assert {("--recompute", ""), ("--zero", "1"), ("--amp", "O2"), ("--packing", "bestfit")} <= {a[:2] for a in ADVISED}
    assert wrong("--recomputed", "", "train") == "mrprep train has no --recomputed"
    assert wrong("--recompute", "1", "train") == "mrprep train --recompute takes no 1"
    assert wrong("--amp", "O7", "train").endswith("not O7")
    assert wrong("--zero", "3", "train") == "mrprep train --zero is no 3"
    assert not wrong("--amp", "O2", "train")


def test_what_plan_advises_for_training_is_there_on_both_commands() -> None:
    for flag, word, meant, text in ADVISED:
        if meant == MEANT["estimate"] and flag not in ("--scan", "--jobs"):
            assert not any(wrong(flag, word, command) for command in meant), text
