"""Columns of frames and arrays as NumPy arrays; neither pandas nor polars nor Arrow is imported.

Numbers are float64 (or bool), dates datetime64[s], everything else objects. What is known to be
names of categories, and needs no judgement any more, is `Labels`.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from dgtrees.tables.row_labels import without_row_labels
from dgtrees.tables.text_values import is_missing

__all__ = ["MISSING", "Labels", "arrow_values", "as_labels", "columns_of", "is_frame", "is_numeric"]

MISSING = "(missing)"
"""How a missing category is written: it is a value like any other."""

_NUMBERS = re.compile(r"((u?int|float|decimal)\d*|double|halffloat)(\[pyarrow\])?$")
_BOOLEANS = re.compile(r"bool(ean)?(\[pyarrow\])?$")
_CATEGORIES = re.compile(r"categor|enum|dictionary")
_DATES = re.compile(r"(datetime|timestamp|date)\d*(\W|$)")


class Labels(np.ndarray):
    """An array of text that is known to hold names of categories, digits or not."""


def is_frame(X: Any) -> bool:
    """Whether X is a DataFrame (pandas, polars, Arrow): named columns of their own types."""
    return hasattr(X, "columns") and hasattr(X, "__getitem__") and hasattr(X, "shape")


def is_numeric(values: np.ndarray) -> bool:
    """Whether an array is of a numeric type; objects that are numbers are not."""
    return values.dtype.kind in "fiub"


def columns_of(X: Any) -> list[tuple[str, np.ndarray]]:
    """Names and values of every column of a DataFrame or a two-dimensional array."""
    if hasattr(X, "column_names"):  # an Arrow table, whose .columns are the values
        X = without_row_labels(X)
        return [(str(n), arrow_values(X.column(n))) for n in X.column_names]
    if is_frame(X):
        return [(str(name), _values(X[name])) for name in X.columns]
    X = np.asarray(X)
    return [(f"x{j}", X[:, j]) for j in range(X.shape[1])]


def as_labels(values: np.ndarray) -> np.ndarray:
    """Categories as text; whole floats lose their '.0', which a gap in the column put there."""
    if isinstance(values, Labels):
        return values
    return np.array([_label(value) for value in values.tolist()], dtype=object).view(Labels)


def _label(value: Any) -> str:
    if type(value) is str:
        return value
    if is_missing(value):
        return MISSING
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _values(series: Any) -> np.ndarray:
    """Values of one frame column."""
    dtype = str(getattr(series, "dtype", "")).lower()
    if _DATES.match(dtype):
        return _dates(series)
    if _BOOLEANS.match(dtype):
        return _booleans(np.asarray(series, dtype=object))
    if _NUMBERS.match(dtype):
        # pandas' nullable numbers know their missing value by another name than NaN.
        if hasattr(series, "to_numpy") and hasattr(series, "isna"):
            return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(series, dtype=np.float64)
    values = np.asarray(series, dtype=object)
    # Numbers that are declared to be categories are names, not amounts.
    return as_labels(values) if _CATEGORIES.match(dtype) else values


def _dates(series: Any) -> np.ndarray:
    try:
        return np.asarray(series.to_numpy(dtype="datetime64[s]"))
    except TypeError:  # polars' to_numpy knows no dtype
        return np.asarray(series).astype("datetime64[s]")
    except ValueError:  # days of Arrow in pandas are objects
        return np.array([None if is_missing(v) else v for v in series], dtype="datetime64[s]")


def arrow_values(column: Any) -> np.ndarray:
    """Values of a column of an Arrow table."""
    dtype = str(column.type).lower()
    if _DATES.match(dtype):
        return np.asarray(column.to_numpy().astype("datetime64[s]"))
    if dtype == "bool":
        return _booleans(np.array(column.to_pylist(), dtype=object))
    if dtype == "null" or _NUMBERS.match(dtype.split("(")[0]):
        return np.asarray(column.cast("double").to_numpy())
    if not dtype.startswith("dictionary"):
        return np.fromiter(column.to_pylist(), dtype=object, count=len(column))
    whole = column.combine_chunks()
    chunks = whole.chunks if hasattr(whole, "chunks") else [whole]
    parts = []
    for chunk in chunks:
        values = np.array([*chunk.dictionary.to_pylist(), None], dtype=object)
        parts.append(values[chunk.indices.fill_null(-1).to_numpy()])
    return as_labels(np.concatenate(parts) if parts else np.empty(0, dtype=object))


def _booleans(values: np.ndarray) -> np.ndarray:
    """Booleans stay booleans: 0 and 1 for a column of numbers, "True" and "False" for categories.

    Which of the two a column is may have been decided by a table where gaps or a text file had
    made something else of it.
    """
    return values if any(map(is_missing, values.tolist())) else values.astype(bool)
