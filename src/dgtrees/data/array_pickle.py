"""Pickles of NumPy arrays, read without the power a pickle has: to call any function of Python."""

from __future__ import annotations

import pickle
from typing import BinaryIO

import numpy as np

from dgtrees.errors import DataError

__all__ = ["load_arrays"]


def load_arrays(stream: BinaryIO, source: str) -> list[np.ndarray]:
    """The arrays of a pickled tuple or list; anything else in the pickle is refused.

    Examples
    --------
    >>> import io
    >>> load_arrays(io.BytesIO(pickle.dumps((np.arange(3), np.zeros(1)))), "example")
    [array([0, 1, 2]), array([0.])]
    """
    try:
        content = _ArraysOnly(stream).load()
    except Exception as error:  # bytes at random make the machine fail in every way it has
        if isinstance(error, (DataError, OSError, EOFError)):
            raise
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(
            f"{source} must be a pickle of NumPy arrays, but {reason}: delete it and fetch it again"
        ) from error
    if not isinstance(content, (tuple, list)) or not all(
        isinstance(item, np.ndarray) for item in content
    ):
        raise DataError(
            f"{source} must be a pickle of a tuple of NumPy arrays, got {type(content).__name__}: "
            "delete it and fetch it again"
        )
    return list(content)


class _ArraysOnly(pickle.Unpickler):
    """A pickle may name any function of Python to be called; this one may only build arrays."""

    _allowed = frozenset(
        {
            ("numpy", "dtype"),
            ("numpy", "ndarray"),
            ("_codecs", "encode"),
            *(
                (f"numpy.{core}.{module}", name)
                for core in ("core", "_core")
                for module, name in (
                    ("multiarray", "_reconstruct"),
                    ("multiarray", "scalar"),
                    ("numeric", "_frombuffer"),
                )
            ),
        }
    )

    def __init__(self, stream: BinaryIO) -> None:
        # Python 2 wrote the bytes of arrays as text.
        super().__init__(stream, encoding="latin1")

    def find_class(self, module: str, name: str) -> object:
        if (module, name) not in self._allowed:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        # NumPy 2 moved numpy.core; the old name still works but warns.
        return super().find_class(module.replace("numpy.core.", "numpy._core."), name)
