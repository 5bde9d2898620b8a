"""Encoder: from a table's columns to the numbers a tree splits on. NumPy only.

Numbers: missing values become the column's median, and a column that had any gets an indicator
column beside it. Categories: one column for each frequent value and one for all others, if rare
values were seen in training; a value never seen goes with the others, or to all zeros.

Standardisation is learnt here too but never applied at prediction: `ObliqueTree` folds centre and
scale into its weights. For a table of numbers without gaps, `expand` is therefore the identity,
and a fitted model needs nothing but its tree.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from dgtrees.schema import choice, flag, items, number, record, shown, text
from dgtrees.tables.row_labels import without_row_labels

__all__ = [
    "Column",
    "Encoder",
    "columns_of",
    "is_frame",
    "label_weights",
    "weighted_median",
]

NUMBER, CATEGORY = "number", "category"
COLUMN = record(
    {
        "name": text(),
        "kind": choice(NUMBER, CATEGORY),
        "median": number(),
        "indicator": flag,
        "categories": items(text()),
        "other": flag,
    }
)
"""What a column is in a model file."""
_NUMBERS = re.compile(r"((u?int|float|decimal)\d*|double|halffloat)(\[pyarrow\])?$")
_BOOLEANS = re.compile(r"bool(ean)?(\[pyarrow\])?$")
_CATEGORIES = re.compile(r"categor|enum|dictionary")
_DATES = re.compile(r"(datetime|timestamp|timedelta|duration|date|time|period)\d*(\W|$)")

MISSING = "(missing)"
"""How a missing category is written: it is a value like any other."""


@dataclass(frozen=True)
class Column:
    """How one input column becomes numbers."""

    name: str
    kind: str = NUMBER
    median: float = 0.0
    indicator: bool = False
    categories: tuple[str, ...] = ()
    other: bool = False

    @property
    def width(self) -> int:
        """Encoded columns it takes."""
        if self.kind == NUMBER:
            return 1 + self.indicator
        return len(self.categories) + self.other

    def names(self) -> list[str]:
        """Names of its encoded columns, as rules and pictures show them."""
        if self.kind == NUMBER:
            return [self.name] + ([f"{self.name} is missing"] if self.indicator else [])
        values = [f"{self.name}={value}" for value in self.categories]
        return values + ([f"{self.name}=(other)"] if self.other else [])


def is_frame(X: Any) -> bool:
    """Whether X is a DataFrame (pandas, polars, Arrow): named columns of their own types."""
    return hasattr(X, "columns") and hasattr(X, "__getitem__") and hasattr(X, "shape")


def columns_of(X: Any) -> list[tuple[str, np.ndarray]]:
    """Names and values of every column of a DataFrame or a two-dimensional array."""
    if hasattr(X, "column_names"):  # an Arrow table, whose .columns are the values
        X = without_row_labels(X)
        return [(str(n), _arrow_values(X.column(n), str(n))) for n in X.column_names]
    if is_frame(X):
        return [(str(name), _values(X[name], str(name))) for name in X.columns]
    X = np.asarray(X)
    return [(f"x{j}", X[:, j]) for j in range(X.shape[1])]


def _values(series: Any, name: str) -> np.ndarray:
    """Values of one frame column: float64 for numbers, objects for everything else."""
    dtype = str(getattr(series, "dtype", "")).lower()
    if _DATES.match(dtype):
        raise _dates_refused(name, dtype)
    if _BOOLEANS.match(dtype):
        return _booleans(np.asarray(series, dtype=object))
    if _NUMBERS.match(dtype):
        # pandas' nullable numbers know their missing value by another name than NaN.
        if hasattr(series, "to_numpy") and hasattr(series, "isna"):
            return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(series, dtype=np.float64)
    values = np.asarray(series, dtype=object)
    # Numbers that are declared to be categories are names, not amounts.
    return _as_labels(values) if _CATEGORIES.match(dtype) else values


def _arrow_values(column: Any, name: str) -> np.ndarray:
    """`_values` for a column of an Arrow table; pyarrow itself is not imported here."""
    dtype = str(column.type).lower()
    if _DATES.match(dtype):
        raise _dates_refused(name, dtype)
    if dtype == "bool":
        return _booleans(np.array(column.to_pylist(), dtype=object))
    if dtype == "null" or _NUMBERS.match(dtype.split("(")[0]):
        return np.asarray(column.cast("double").to_numpy())
    if not dtype.startswith("dictionary"):
        return np.array(column.to_pylist(), dtype=object)
    whole = column.combine_chunks()
    chunks = whole.chunks if hasattr(whole, "chunks") else [whole]
    parts = []
    for chunk in chunks:
        values = np.array([*chunk.dictionary.to_pylist(), None], dtype=object)
        parts.append(values[chunk.indices.fill_null(-1).to_numpy()])
    return _as_labels(np.concatenate(parts)) if parts else np.empty(0, dtype=object)


def _booleans(values: np.ndarray) -> np.ndarray:
    """Booleans stay booleans: 0 and 1 for a column of numbers, "True" and "False" for categories.

    Which of the two a column is may have been decided by a table where gaps or a text file had
    made something else of it.
    """
    return values if any(map(_is_missing, values.tolist())) else values.astype(bool)


def _dates_refused(name: str, what: str) -> TypeError:
    return TypeError(
        f"column {name!r} holds dates ({what}), which have no scale of their own: "
        "turn it into numbers (a year, days since an event) or drop it"
    )


def _is_number(values: np.ndarray) -> bool:
    """Whether a column of unknown content holds numbers (and gaps) only."""
    if values.dtype != object:
        return values.dtype.kind in "fiub"
    present = [value for value in values.tolist() if not _is_missing(value)]
    numbers = (Real, Decimal, np.bool_)
    return bool(present) and all(isinstance(value, numbers) for value in present)


def _is_missing(value: Any) -> bool:
    """None, NaN, and the missing markers of pandas, none of which equals itself for sure."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA refuses to be true or false
        return True
    except ValueError:  # an array in a cell: whatever it is, it is there
        return False


def _as_numbers(values: np.ndarray, name: str) -> np.ndarray:
    if values.dtype == object:
        values = np.array([np.nan if _is_missing(v) else v for v in values.tolist()], dtype=object)
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError) as error:
        bad = next(v for v in values.tolist() if not isinstance(v, (Real, Decimal)))
        raise ValueError(
            f"column {name!r} must hold numbers, got {bad!r}: it was a number column in fit"
        ) from error
    if np.isinf(numbers).any():
        row = int(np.flatnonzero(np.isinf(numbers))[0])
        raise ValueError(
            f"column {name!r} must be finite, got {numbers[row]} in row {row}: "
            "replace it by a number or by a missing value"
        )
    return numbers


def _as_labels(values: np.ndarray) -> np.ndarray:
    """Categories as text; whole floats lose their '.0', which a gap in the column put there."""

    def label(value: Any) -> str:
        if _is_missing(value):
            return MISSING
        if isinstance(value, (float, np.floating)) and float(value).is_integer():
            return str(int(value))
        return str(value)

    return np.array([label(value) for value in values.tolist()], dtype=object)


def label_weights(labels: np.ndarray, weight: np.ndarray) -> dict[str, float]:
    """Different labels, and what their rows weigh together."""
    # Not np.unique: it would copy every value at the length of the longest.
    cells = labels.tolist()
    distinct = sorted(set(cells))
    number = {label: i for i, label in enumerate(distinct)}
    group = np.fromiter((number[cell] for cell in cells), dtype=np.intp, count=len(cells))
    total = np.bincount(group, weights=weight, minlength=len(distinct))
    return dict(zip(distinct, total.tolist(), strict=True))


def weighted_median(values: np.ndarray, weight: np.ndarray) -> float:
    """The value with half of the weight on either side, or the middle of two such."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weight[order])
    half = below[-1] / 2.0
    low = int(np.searchsorted(below, half, side="left"))
    high = int(np.searchsorted(below, half, side="right"))
    # Halves before adding: two huge values must not overflow.
    return float(values[order[low]] / 2.0 + values[order[min(high, len(values) - 1)]] / 2.0)


@dataclass
class Encoder:
    """Learns how to turn columns into numbers; see the module docstring.

    Parameters
    ----------
    min_frequency : float, default 10
        Categories whose rows weigh less than this together share the column "(other)".
    max_categories : int, default 64
        At most so many categories a column keep a column of their own.

    Examples
    --------
    >>> import numpy as np
    >>> encoder = Encoder(min_frequency=1)
    >>> X = np.array([[1.0, "a"], [None, "b"], [3.0, "a"]], dtype=object)
    >>> encoder.fit(columns_of(X)).feature_names
    ['x0', 'x0 is missing', 'x1=a', 'x1=b']
    >>> encoder.expand(columns_of(X))
    array([[1., 0., 1., 0.],
           [2., 1., 0., 1.],
           [3., 0., 1., 0.]])
    """

    min_frequency: float = 10
    max_categories: int = 64
    columns: list[Column] = field(default_factory=list)

    def fit(
        self, columns: Sequence[tuple[str, np.ndarray]], weight: np.ndarray | None = None
    ) -> Encoder:
        """Learn medians and categories from the rows of positive weight."""
        rows = len(columns[0][1]) if columns else 0
        weight = np.ones(rows) if weight is None else np.asarray(weight, dtype=np.float64)
        used = weight > 0
        weight = weight[used]
        return self._take([self._learn(name, v[used], weight) for name, v in columns])

    def fit_numbers(self, X: np.ndarray, weight: np.ndarray, names: Sequence[str]) -> Encoder:
        """`fit` for an array of floats, without a Python object per value."""
        used = weight > 0
        weight = weight[used]
        return self._take(
            [_learn_number(str(name), X[used, j], weight) for j, name in enumerate(names)]
        )

    def _take(self, columns: list[Column]) -> Encoder:
        self.columns = columns
        vars(self).pop("plain", None)
        return self

    def _learn(self, name: str, values: np.ndarray, weight: np.ndarray) -> Column:
        if _is_number(values):
            return _learn_number(name, _as_numbers(values, name), weight)
        for value in values.tolist():
            if isinstance(value, (date, timedelta, np.datetime64)):
                raise _dates_refused(name, type(value).__name__)
            if isinstance(value, (list, tuple, dict, set, np.ndarray)):
                raise TypeError(
                    f"column {name!r} must hold one number or one name a row, got {value!r}: "
                    "spread it over several columns"
                )
        return self.category_column(name, label_weights(_as_labels(values), weight))

    def category_column(self, name: str, weight: Mapping[str, float]) -> Column:
        """The column for categories whose rows weigh so much each."""
        # Most frequent first; equal counts in alphabetical order.
        ranked = sorted(weight, key=lambda label: (-weight[label], label))
        kept = [label for label in ranked if weight[label] >= self.min_frequency]
        kept = kept[: self.max_categories]
        if not kept:  # a small table: every value is rare, and still says something
            kept = ranked[: self.max_categories]
        other = len(kept) < len(ranked)
        return Column(name, CATEGORY, categories=tuple(sorted(kept)), other=other)

    @property
    def width(self) -> int:
        """Number of encoded columns."""
        return sum(column.width for column in self.columns)

    @property
    def feature_names(self) -> list[str]:
        """Names of the encoded columns."""
        return [name for column in self.columns for name in column.names()]

    @property
    def source(self) -> np.ndarray:
        """For every encoded column, the number of the input column it comes from."""
        widths = [column.width for column in self.columns]
        return np.repeat(np.arange(len(self.columns)), widths)

    @property
    def numeric(self) -> bool:
        """Whether all columns are numbers."""
        return all(column.kind == NUMBER for column in self.columns)

    @cached_property
    def plain(self) -> bool:
        """Whether a row of numbers without gaps is its own encoding."""
        return self.numeric and self.width == len(self.columns)

    def expand_row(self, x: np.ndarray) -> np.ndarray:
        """`expand_numbers` for one row of floats (columns,)."""
        if not self.numeric:
            column = next(column for column in self.columns if column.kind != NUMBER)
            raise TypeError(
                f"single rows must be all numbers, and column {column.name!r} holds categories: "
                "use predict, which takes DataFrames"
            )
        return self.expand_numbers(x[None])[0]

    def expand(self, columns: Sequence[tuple[str, np.ndarray]]) -> np.ndarray:
        """Encoded rows (rows, width) in float64, not standardised."""
        blocks = []
        for column, (_, values) in zip(self.columns, columns, strict=True):
            if column.kind == NUMBER:
                blocks.append(_expand_number(column, _as_numbers(values, column.name)))
            else:
                labels = _as_labels(values)
                known = [labels == category for category in column.categories]
                if column.other:
                    known.append(~np.logical_or.reduce(known))
                blocks.append(np.stack(known, axis=1).astype(np.float64))
        rows = len(columns[0][1]) if columns else 0
        return np.hstack(blocks) if blocks else np.empty((rows, 0))

    def expand_numbers(self, X: np.ndarray) -> np.ndarray:
        """`expand` for an array of floats; X itself, uncopied, where there is nothing to do."""
        missing = np.isnan(X)
        if not missing.any() and self.width == X.shape[1]:
            return X
        return np.hstack([_expand_number(c, X[:, j]) for j, c in enumerate(self.columns)])

    def to_json(self) -> list[dict[str, Any]]:
        """Columns as plain JSON values, for the model file."""
        return [
            {
                "name": column.name,
                "kind": column.kind,
                "median": column.median,
                "indicator": column.indicator,
                "categories": list(column.categories),
                "other": column.other,
            }
            for column in self.columns
        ]

    @classmethod
    def from_json(cls, columns: list[dict[str, Any]]) -> Encoder:
        """The encoder that `to_json` described; refuses what it cannot have described."""
        items(COLUMN)(columns, "encoder")
        for c in columns:
            known = c["categories"]
            if c["kind"] == NUMBER:
                fits = not (known or c["other"])
            else:
                fits = known and known == sorted(set(known)) and not (c["indicator"] or c["median"])
            if not fits:
                raise ValueError(
                    f"a column must have what a {c['kind']} has, and its categories in order, "
                    f"got {shown(c)}"
                )
        return cls(columns=[Column(**c | {"categories": tuple(c["categories"])}) for c in columns])


def _learn_number(name: str, values: np.ndarray, weight: np.ndarray) -> Column:
    present = ~np.isnan(values)
    median = weighted_median(values[present], weight[present]) if present.any() else 0.0
    return Column(name, median=median, indicator=not present.all())


def _expand_number(column: Column, numbers: np.ndarray) -> np.ndarray:
    missing = np.isnan(numbers)
    # Widened first: a row of float32 gets the same median as one of float64.
    filled = np.where(missing, column.median, numbers.astype(np.float64))
    return np.stack([filled, missing], axis=1) if column.indicator else filled[:, None]
