"""Encoder: from a table's columns to the numbers a tree splits on.

Numbers: missing values become the column's median, and a column that had any gets an indicator
column beside it; columns of long tails may be bent (`bending`), and a column's distance from a
centre may stand beside it, where training wants it.
Categories: one column for each frequent value and one for all others, if rare values were seen in
training; a value never seen goes with the others, or to all zeros. Where there are more frequent
values than columns, means of the target tell the rest apart. Dates: year, month, weekday and hour,
as far as they vary. What a column is, `kinds` decides.

Standardisation is learnt elsewhere and never applied at prediction: `ObliqueTree` folds centre and
scale into its weights. For a table of numbers without gaps, of which none is bent, `expand` is
therefore the identity, and a fitted model needs nothing but its tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from dgtrees.schema import items
from dgtrees.tables.bending import bend
from dgtrees.tables.encoding import (
    CATEGORY,
    COLUMN,
    DATE,
    NUMBER,
    UNUSED,
    Column,
    label_weights,
    learn_number,
    weighted_median,
)
from dgtrees.tables.frames import MISSING, columns_of, is_frame
from dgtrees.tables.target_statistics import Targets, assign_folds, held_out_means

__all__ = [
    "CATEGORY",
    "COLUMN",
    "DATE",
    "MISSING",
    "NUMBER",
    "Column",
    "Encoder",
    "Targets",
    "columns_of",
    "is_frame",
    "label_weights",
    "weighted_median",
]

Columns = Sequence[tuple[str, np.ndarray]]


@dataclass
class Encoder:
    """Learns how to turn columns into numbers; see the module docstring.

    Parameters
    ----------
    min_frequency : float, default 10
        Categories whose rows weigh less than this together share the column "(other)".
    max_categories : int, default 64
        At most so many categories per column keep a column of their own.
    drop : sequence of str
        Columns to leave out.
    kinds : mapping
        "number", "category" or "date" for columns where the guess would be wrong.
    on_unusable : {"warn", "raise", "drop"}
        What to do with identifiers, free text and other columns that nothing can be learnt from:
        leave them out with a warning, or refuse the table. Numbers that seem to count or name rows
        are used, with a warning; "drop" leaves them out, too.

    Attributes
    ----------
    columns : list of Column
    notes : list of str
        What `fit` noticed: columns left out, constant ones, row counters, pooled categories.

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
    drop: Sequence[str] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    on_unusable: str = "warn"
    notes: list[str] = field(default_factory=list)

    def unfitted(self) -> Encoder:
        """An encoder of the same settings that has learnt nothing."""
        return replace(self, columns=[], notes=[])

    # Learning

    def fit(
        self, columns: Columns, weight: np.ndarray | None = None, targets: Targets | None = None
    ) -> Encoder:
        """Learn kinds, medians and categories from the rows of positive weight.

        Without `targets`, categories beyond `max_categories` share one column.
        """
        # Arrow takes a while to load, and only learning from frames needs it.
        from dgtrees.tables.column_learning import ColumnLearner

        rows = len(columns[0][1]) if columns else 0
        weight = np.ones(rows) if weight is None else np.asarray(weight, dtype=np.float64)
        learner = ColumnLearner(self, [name for name, _ in columns])
        self.notes = learner.notes
        return self._take(learner.learn(columns, weight, targets))

    def fit_expand(self, columns: Columns, weight: np.ndarray, targets: Targets) -> np.ndarray:
        """`fit`, and the rows to train with: their target statistics know nothing of themselves."""
        encoded = self.fit(columns, weight, targets).expand(columns)
        pooled = [j for j, column in enumerate(self.columns) if column.outputs]
        if not pooled:
            return encoded
        codes = {j: self.columns[j].codes(columns[j][1]) for j in pooled}
        seen = np.delete(encoded, [at for j in pooled for at in self._statistics(j)], axis=1)
        folds = assign_folds(np.column_stack([seen, *codes.values()]), targets.values)
        for j in pooled:
            groups = len(self.columns[j].labels)
            means = held_out_means(codes[j], groups, targets.values, weight, folds)
            encoded[:, self._statistics(j)] = means
        return encoded

    def fit_numbers(
        self, X: np.ndarray, weight: np.ndarray, names: Sequence[str], framed: bool = False
    ) -> Encoder:
        """`fit` for an array of floats, without a Python object per value.

        Numbers of a frame (`framed`) are looked at for row counters; those of an array are taken
        as they are.
        """
        names = [str(name) for name in names]
        if framed or self.drop or self.kinds:
            return self.fit([(name, X[:, j]) for j, name in enumerate(names)], weight)
        used = weight > 0
        weight = weight[used]
        return self._take([learn_number(name, X[used, j], weight) for j, name in enumerate(names)])

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

    def _take(self, columns: list[Column]) -> Encoder:
        self.columns = columns
        for name in ("plain", "reach"):
            vars(self).pop(name, None)
        return self

    def _statistics(self, j: int) -> range:
        """Encoded columns that hold the statistics of column `j`."""
        end = sum(column.width for column in self.columns[: j + 1])
        return range(end - len(self.columns[j].outputs), end)

    # Encoded rows

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
        """Whether a row of numbers without gaps, none of them far off, is its own encoding."""
        bent = any(column.bent for column in self.columns)
        return self.numeric and self.width == len(self.columns) and not bent

    @cached_property
    def reach(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Lowest and highest number of every column that is used as it is; None if all are."""
        if not any(column.reach for column in self.columns):
            return None
        largest = float(np.finfo(np.float64).max)
        ends = [column.reach or (-largest, largest) for column in self.columns]
        return np.array([low for low, _ in ends]), np.array([high for _, high in ends])

    def leaves(self, X: np.ndarray) -> bool:
        """Whether it leaves rows of finite numbers or NaN as they are."""
        if not self.plain:
            return False
        if self.reach is None:
            return not np.isnan(X).any()
        return bool((self.reach[0] <= X).all() and (self.reach[1] >= X).all())

    @property
    def medians(self) -> np.ndarray:
        """Medians of the encoded columns that are plain numbers, NaN for all others."""
        found = []
        for column in self.columns:
            first = [column.median] if column.kind == NUMBER and not column.bent else []
            found += first + [np.nan] * (column.width - len(first))
        return np.array(found)

    def bending(self, center: np.ndarray, spread: np.ndarray, beside: bool = False) -> Encoder:
        """The encoder that bends its encoded columns so; a spread of 0 leaves one as it is.

        Bent numbers take the column's place, or one of their own `beside` it.
        """
        changed = list(self.columns)
        for j, at in self._numbers(np.where(spread > 0, spread, np.nan)):
            bent = float(center[at]), float(spread[at])
            changed[j] = replace(changed[j], bent=bent, beside=beside)
        return replace(self, columns=changed)

    def with_distances(self, center: np.ndarray) -> Encoder:
        """The encoder that puts distances of its encoded numbers from a centre beside them.

        `center` is NaN where there is to be none.
        """
        changed = list(self.columns)
        for j, at in self._numbers(center):
            changed[j] = replace(changed[j], from_center=(float(center[at]),))
        return replace(self, columns=changed)

    def renamed(self, names: list[str]) -> Encoder:
        """The encoder of the same columns by other names."""
        pairs = zip(self.columns, names, strict=True)
        return replace(self, columns=[replace(column, name=name) for column, name in pairs])

    def reaching(self, low: np.ndarray, high: np.ndarray) -> Encoder:
        """The encoder that takes what lies outside of a range of encoded numbers for its end."""
        pairs = {j: (float(low[at]), float(high[at])) for j, at in self._numbers(high)}
        changed = [replace(c, reach=pairs.get(j, c.reach)) for j, c in enumerate(self.columns)]
        return replace(self, columns=changed)

    def _numbers(self, encoded: np.ndarray) -> list[tuple[int, int]]:
        """Columns of numbers and where they are encoded, but for those with NaN there."""
        first = np.cumsum([0, *(column.width for column in self.columns)]).tolist()
        numbers = [j for j, column in enumerate(self.columns) if column.kind == NUMBER]
        return [(j, first[j]) for j in numbers if not np.isnan(encoded[first[j]])]

    def expand_row(self, x: np.ndarray) -> np.ndarray:
        """`expand_numbers` for one row of floats (columns,)."""
        for column in self.columns:
            if column.kind not in (NUMBER, UNUSED):
                held = "categories" if column.kind == CATEGORY else "dates"
                raise TypeError(
                    f"single rows must be all numbers, and column {column.name!r} holds {held}: "
                    "use predict, which takes DataFrames"
                )
        return self.expand_numbers(x[None])[0]

    def expand(self, columns: Columns) -> np.ndarray:
        """Encoded rows (rows, width) in float64, not standardised."""
        pairs = zip(self.columns, columns, strict=True)
        blocks = [column.expand(values) for column, (_, values) in pairs]
        rows = len(columns[0][1]) if columns else 0
        return np.hstack(blocks) if blocks else np.empty((rows, 0))

    def expand_numbers(self, X: np.ndarray) -> np.ndarray:
        """`expand` for an array of floats; X itself, uncopied, where there is nothing to do."""
        if self.leaves(X):
            return X
        if self.numeric and not any(column.indicator for column in self.columns):
            return self._expand_all(X)
        return np.hstack([c.expand_numbers(X[:, j]) for j, c in enumerate(self.columns)])

    def _expand_all(self, X: np.ndarray) -> np.ndarray:
        """`expand_numbers` of columns without indicators, all at once."""
        medians = np.array([column.median for column in self.columns])
        filled = np.where(np.isnan(X), medians, X.astype(np.float64))
        filled = filled if self.reach is None else np.clip(filled, *self.reach)
        long = [j for j, column in enumerate(self.columns) if column.bent]
        far = [j for j, column in enumerate(self.columns) if column.from_center]
        if not long and not far:
            return filled
        last = np.cumsum([column.width for column in self.columns]) - 1
        # Where a bent number takes the place of its column, it overwrites it.
        room = np.empty((len(filled), self.width))
        room[:, last - [c.beside or bool(c.from_center) for c in self.columns]] = filled
        if long:
            center, spread = np.array([self.columns[j].bent for j in long]).T
            room[:, last[long]] = bend(filled[:, long], center, spread)
        if far:
            center = np.array([self.columns[j].from_center[0] for j in far])
            room[:, last[far]] = np.abs(filled[:, far] - center)
        return room

    # Files

    def to_json(self) -> list[dict[str, Any]]:
        """Columns as plain JSON values, for the model file."""
        return [column.to_json() for column in self.columns]

    @classmethod
    def from_json(cls, columns: list[dict[str, Any]]) -> Encoder:
        """The encoder that `to_json` described; refuses what it cannot have described."""
        items(COLUMN)(columns, "encoder")
        return cls(columns=[Column.from_json(column) for column in columns])
