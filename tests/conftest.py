"""Paths that the tests share."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real corpora, tokenizers and cases, beside the project; never copied into it."""
    assert (SHARED / "corpora").is_dir(), f"{SHARED} holds the corpora and cases that the tests use"
    return SHARED
