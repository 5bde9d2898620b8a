"""The library's own exceptions.

Wrong arguments raise `ValueError` or `TypeError` as everywhere in Python; the classes here are
for files and for state that a caller may want to catch apart from programming mistakes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = [
    "ColumnWarning",
    "DGTreesError",
    "DataError",
    "ModelFileError",
    "Problems",
    "StateError",
    "UnusableColumnError",
]

_MOST_SHOWN = 20


class DGTreesError(Exception):
    """Base of every error that dgtrees raises about files and state."""


class DataError(DGTreesError):
    """A data file cannot be read as it is, is not the file it should be, or cannot be written."""


class ModelFileError(DGTreesError):
    """A model file is damaged, of another kind, of an unknown version, or cannot be written."""


class ColumnWarning(UserWarning):
    """A column of a table is used, or left out, in a way that its owner should know of."""


class StateError(DGTreesError):
    """A model cannot do what is asked of it in the state it is in."""


class UnusableColumnError(DataError, ValueError):
    """A column of a table that nothing can be learnt from as it is."""

    def __init__(self, message: str, column: str = "") -> None:
        super().__init__(message)
        self.column = column


class Problems:
    """What is wrong with one thing, collected so that a user hears of all of it at once.

    >>> problems = Problems()
    >>> for size in (-1, 3, -2):
    ...     with problems.collect():
    ...         if size < 0:
    ...             raise ValueError(f"size must be at least 0, got {size}")
    >>> try:
    ...     problems.settle()
    ... except ValueError as error:
    ...     print(error, error.__notes__)
    size must be at least 0, got -1 ['size must be at least 0, got -2']
    """

    def __init__(self) -> None:
        self.found: list[Exception] = []

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Keep an error of the block for later, and go on after it."""
        try:
            yield
        except (DGTreesError, ValueError) as error:
            self.found.append(error)

    def require(self, rule: bool, message: str) -> None:
        """Keep a `ValueError` if a rule does not hold."""
        if not rule:
            self.found.append(ValueError(message))

    def settle(self, step: str = "") -> None:
        """Raise the first error with the others, and the next step for all of them, as notes.

        An only error gets the next step at its end.
        """
        if not self.found:
            return
        first, *others = self.found
        if step and not others:
            raise type(first)(f"{first}: {step}")
        for other in others[:_MOST_SHOWN]:
            for line in (str(other), *getattr(other, "__notes__", ())):
                first.add_note(line)
        if len(others) > _MOST_SHOWN:
            first.add_note(f"and {len(others) - _MOST_SHOWN:,} more problems like these")
        if step:
            first.add_note(step)
        raise first
