"""Paths that the tests share."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real corpora, tokenizers and cases, beside the project; never copied into it."""
    if not (SHARED / "corpora").is_dir():
        assert "CI" not in os.environ, f"CI must have the corpora at {SHARED}"
        pytest.skip(f"needs the corpora at {SHARED}")
    return SHARED
