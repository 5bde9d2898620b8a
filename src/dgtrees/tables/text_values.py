"""What one value of text means: a gap, a number, true or false. Plain Python, for prediction.

Whole columns are read by Arrow (`columns`, `kinds`), by the same rules.
"""

from __future__ import annotations

import re
from decimal import Decimal
from numbers import Real

import numpy as np

__all__ = ["MISSING_MARKS", "NUMBER", "is_missing", "parse_number", "to_numbers", "without_blanks"]

MISSING_MARKS = (
    "", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NAN", "NULL", "null", "None",
)  # fmt: skip
"""What stands for a missing value in text."""

NUMBER = r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$"
_NUMBER = re.compile(NUMBER, re.ASCII)
_MARKS = frozenset(MISSING_MARKS)
_TRUTH = {"true": 1.0, "false": 0.0}


def is_missing(value: object) -> bool:
    """None, NaN, and the missing markers of pandas, none of which equals itself for sure."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA refuses to be true or false
        return True
    except ValueError:  # an array in a cell: whatever it is, it is there
        return False


def without_blanks(text: str) -> str | None:
    """Text without blanks around it; None where it stands for a missing value.

    >>> without_blanks(" Oslo "), without_blanks("NA")
    ('Oslo', None)
    """
    text = text.strip()
    return None if text in _MARKS else text


def parse_number(value: object) -> float:
    """A number, text of one, true or false; NaN for a gap.

    >>> parse_number(" 1e3 "), parse_number("true"), parse_number("?")
    (1000.0, 1.0, nan)
    """
    if is_missing(value):
        return np.nan
    if isinstance(value, (Real, Decimal, np.bool_)):
        return float(value)
    text = without_blanks(value) if isinstance(value, str) else str(value)
    if text is None:
        return np.nan
    if _NUMBER.match(text):
        return float(text)
    if text.lower() in _TRUTH:
        return _TRUTH[text.lower()]
    raise ValueError(f"must be a number, got {value!r}")


def to_numbers(values: np.ndarray, name: str) -> np.ndarray:
    """A column of numbers, or of text of such, as float64; infinity is refused."""
    if values.dtype.kind in "fiub":
        numbers = values.astype(np.float64)
    else:
        numbers = np.array([_number_in(name, value) for value in values.tolist()], dtype=np.float64)
    if np.isinf(numbers).any():
        row = int(np.flatnonzero(np.isinf(numbers))[0])
        raise ValueError(
            f"column {name!r} must be finite, got {numbers[row]} in row {row}: "
            "replace it by a number or by a missing value"
        )
    return numbers


def _number_in(name: str, value: object) -> float:
    try:
        return parse_number(value)
    except ValueError as error:
        raise ValueError(
            f"column {name!r} must hold numbers, got {value!r}: it was a number column in fit"
        ) from error
