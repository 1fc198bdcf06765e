"""The house: imports go one way, nothing heavy at start-up, MindSpore only in its two rooms."""

import ast
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "mrprep"
MODULES = sorted(PACKAGE.rglob("*.py"))

LAYERS = [
    {"errors", "printable", "options", "document", "order", "runs", "extras", "pages"},
    {"engine", "sources", "mindrecord", "builddir"},
    {
        "cleaning",
        "filtering",
        "minhash",
        "sharding",
        "tokenizers",
        "provenance",
        "audit",
        "duplicates",
        "repeats",
        "evaluation",
    },
    {"stages"},
    {
        "config",
        "plan",
        "request",
        "books",
        "summary",
        "examples",
        "places",
        "finish",
        "building",
        "growing",
        "comparison",
        "dryrun",
        "preview",
        "training",
        "interop",
        "conversion",
        "report",
        "doctor",
        "estimate",
    },
    {"cli"},
]
"""A room may import from its own layer and those above it in this list."""


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path, *, top_only: bool) -> Iterator[str]:
    tree = ast.parse(path.read_text())
    for node in tree.body if top_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def layer(name: str) -> int | None:
    return next((i for i, rooms in enumerate(LAYERS) if name in rooms), None)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_go_one_way(path: Path) -> None:
    here = layer(room(name_of(path)))
    if here is None:
        assert room(name_of(path)) in {"", "__main__"}, "a room that the list of layers does not know"
        return
    for module in imported(path, top_only=False):
        there = layer(room(module)) if module.startswith("mrprep.") else None
        assert there is None or there <= here, f"{name_of(path)} imports {module}"


def test_there_is_no_cycle() -> None:
    names = {name_of(path) for path in MODULES}
    graph = {
        name_of(path): {m for m in imported(path, top_only=False) if m in names and m != name_of(path)}
        for path in MODULES
    }
    done: set[str] = set()
    while ready := {name for name, needs in graph.items() if name not in done and needs <= done}:
        done |= ready
    rest = {name: sorted(needs - done) for name, needs in graph.items() if name not in done}
    assert not rest


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_mindspore_is_imported_only_in_its_rooms_and_inside_functions(path: Path) -> None:
    everywhere = {m for m in imported(path, top_only=False) if m.split(".")[0] == "mindspore"}
    if room(name_of(path)) in {"mindrecord", "training"}:
        return
    assert not everywhere


def run_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_neither_the_command_line_nor_a_worker_loads_mindspore() -> None:
    modules = ["cli.app", "building.build", "stages.read", "stages.tokenize", "training.run"]
    for module in (f"mrprep.{name}" for name in modules):
        assert run_python(f"import sys, {module}; print('mindspore' in sys.modules)").strip() == "False", module


def test_help_answers_at_once() -> None:
    """By CPU time, which other tests at work beside this one do not lengthen."""
    took = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "mrprep", "--help"], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(took) < 0.3
    loaded = run_python("import sys, mrprep.cli.app; print(*sys.modules)").split()
    assert not {"numpy", "pyarrow", "pydantic", "sentencepiece"} & set(loaded)
