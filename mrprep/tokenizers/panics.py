"""Panics of packages in Rust, which Python gets as a BaseException that no ``except Exception`` catches."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Raise a ValueError in place of a panic (``pyo3_runtime.PanicException``, which cannot be imported)."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise ValueError(str(error)) from None
