"""What the documents say is true: their commands run, their pipeline loads, no option is without a word."""

import doctest
import inspect
import os
import re
import subprocess
import sys
import typing
from pathlib import Path

import pytest

from mrprep.cli.app import app
from mrprep.config import load_pipeline

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "README.zh.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMANDS = [
    *app.registered_commands,
    *(c for group in app.registered_groups for c in group.typer_instance.registered_commands),
]
LONG = {"audit.md", "growing.md", "interop.md"}
"""Pages whose commands take over ten seconds of two cores each."""


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def commands(page: Path) -> list[str]:
    """Return the commands of a page without their comments."""
    lines = [line for block in blocks(page, "sh") for line in block.splitlines()]
    return [re.sub(r"\s+#.*|^#.*", "", line).rstrip() for line in lines]


def test_the_chinese_readme_has_the_commands_of_the_english_one() -> None:
    assert commands(PAGES[1]) == commands(PAGES[0])


@pytest.mark.mindspore
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.slow] if page.name in LONG else [], id=page.name)
        for page in PAGES
        if page != PAGES[1] and blocks(page, "sh")
    ],
)
def test_commands_run_as_they_stand(page: Path, tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for block in blocks(page, "sh"):
        script = "set -e\n" + block.replace("/tmp/", f"{tmp_path}/")
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=ROOT,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name)
def test_examples_print_what_stands_there(page: Path) -> None:
    text = "\n".join(blocks(page, "python"))
    example = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    assert example.examples
    assert doctest.DocTestRunner().run(example).failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pipelines_in_the_documents_load(page: Path, tmp_path: Path) -> None:
    for number, block in enumerate(blocks(page, "toml")):
        file = tmp_path / f"{number}.toml"
        file.write_text(block, "utf-8")
        assert load_pipeline(str(file), {}).stages


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.callback.__name__)
def test_every_command_and_option_has_help(command: typing.Any) -> None:
    assert inspect.getdoc(command.callback)
    for name, hint in typing.get_type_hints(command.callback, include_extras=True).items():
        if name != "return":
            assert any(getattr(extra, "help", None) for extra in hint.__metadata__), name


@pytest.mark.parametrize("page", PAGES[:2], ids=lambda page: page.name)
def test_the_readme_names_every_option_of_build(page: Path) -> None:
    text = page.read_text("utf-8")
    build = next(c.callback for c in COMMANDS if c.callback.__name__ == "build")
    for name in set(inspect.signature(build).parameters) - {"inputs"}:
        assert f"--{name.replace('_', '-')}" in text, name


def test_both_readmes_show_the_same_commands() -> None:
    english, chinese = (
        [line.partition("#")[0].strip() for block in blocks(page, "sh") for line in block.splitlines()]
        for page in PAGES[:2]
    )
    assert english == chinese
