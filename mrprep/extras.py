"""Packages that only some options need: whether they are there, and what to say when they are not."""

from importlib.util import find_spec

PACKAGES = {
    "langid": "py3langid",
    "ftfy": "ftfy",
    "html": "trafilatura",
    "hf": "tokenizers",
    "tiktoken": "tiktoken",
    "interop": "torch",
    "ray": "ray",
    "remote": "fsspec",
}
"""Extra of mrprep -> the package it brings."""


def has(extra: str) -> bool:
    """Tell whether the package of an extra is installed."""
    return find_spec(PACKAGES[extra]) is not None


def advice(extra: str) -> str:
    """Return the clause that says how to install an extra."""
    return f"needs {PACKAGES[extra]}: pip install 'mrprep[{extra}]'"
