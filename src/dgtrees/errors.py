"""The library's own exceptions.

Wrong arguments raise `ValueError` or `TypeError` as everywhere in Python; the classes here are
for files and for state that a caller may want to catch apart from programming mistakes.
"""

from __future__ import annotations

__all__ = ["DGTreesError", "DataError", "ModelFileError", "StateError"]


class DGTreesError(Exception):
    """Base of every error that dgtrees raises about files and state."""


class DataError(DGTreesError):
    """A data file cannot be read as it is, is not the file it should be, or cannot be written."""


class ModelFileError(DGTreesError):
    """A model file is damaged, of another kind, of an unknown version, or cannot be written."""


class StateError(DGTreesError):
    """A model cannot do what is asked of it in the state it is in."""
