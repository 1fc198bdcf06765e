"""Paths that the tests share."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
_LONGEST = ("test_docs.py", "test_training_run.py", "test_build_resume.py", "test_cli.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest modules, so that no worker has one of them to itself in the end."""
    items.sort(key=lambda item: item.path.name not in _LONGEST)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real corpora, tokenizers and cases, beside the project; never copied into it."""
    if not (SHARED / "corpora").is_dir():
        assert "CI" not in os.environ, f"CI must have the corpora at {SHARED}"
        pytest.skip(f"needs the corpora at {SHARED}")
    return SHARED
