"""Which rows have a label: marks of unlabelled rows in y, and targets of all rows without them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

__all__ = ["are_labelled", "have_values"]


def are_labelled(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Labels (rows,), and which of them are no -1, None or NaN.

    The labels that are there keep their type: words among marks are words again, and whole numbers
    that a missing one has made floats are whole numbers.

    >>> y, labelled = are_labelled(np.array(["no", None, "yes"], dtype=object))
    >>> y[labelled], labelled
    (array(['no', 'yes'], dtype='<U3'), array([ True, False,  True]))
    """
    if hasattr(y, "to_numpy") and not isinstance(y, np.ndarray):
        y = y.to_numpy()  # a column of a frame, whose missing values are pd.NA or null
    y = column_or_1d(np.asarray(y), warn=True)
    if y.dtype.kind in "fiu":
        return _whole(y, (y != -1) & ~_missing(y))
    if y.dtype != object:
        return y, np.ones(len(y), dtype=bool)
    labelled = np.array([not _marks(value) for value in y], dtype=bool)
    kinds = {type(value) for value in y[labelled]}
    if kinds and (kinds == {str} or all(issubclass(kind, (int, np.integer)) for kind in kinds)):
        known = np.array(y[labelled].tolist())
        filled = np.zeros(len(y), dtype=known.dtype)
        filled[labelled] = known
        return filled, labelled
    if kinds and all(issubclass(kind, (int, float, np.number)) for kind in kinds):
        filled = np.zeros(len(y))
        filled[labelled] = y[labelled].astype(np.float64)
        return _whole(filled, labelled)
    return y, labelled


def _whole(y: np.ndarray, labelled: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers again, where only a missing value has made them floats."""
    if y.dtype.kind != "f" or labelled.all():
        return y, labelled
    filled = np.where(labelled, y, 0.0)
    with np.errstate(invalid="ignore"):
        integers = filled.astype(np.int64)
    return (integers if np.array_equal(integers, filled) else filled), labelled


def _missing(y: np.ndarray) -> np.ndarray:
    return np.isnan(y) if y.dtype.kind == "f" else np.zeros(len(y), dtype=bool)


def _marks(value: Any) -> bool:
    """Whether a value says that a row has no label."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, (float, np.floating)):
        return bool(np.isnan(value)) or value == -1
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value == -1


def have_values(y: Any) -> np.ndarray:
    """Which rows have all their values, for y (rows,) or (rows, outputs) with NaN elsewhere."""
    values = np.asarray(y)
    if values.dtype.kind not in "fiub":
        values = values.astype(np.float64)
    missing = np.isnan(values)
    return ~(missing.any(axis=tuple(range(1, missing.ndim))))
