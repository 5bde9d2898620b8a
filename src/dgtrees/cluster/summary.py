"""TableSummary: what an `Encoder` has to know of a table that nobody holds as a whole.

Summaries are added to batch by batch and merged worker by worker. Gaps and categories are exact;
medians are those of a sample of rows (all rows of a small table).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dgtrees.tables.encoder import Column, Encoder, label_weights, weighted_median

__all__ = ["TableSummary", "sampled_share"]

_SAMPLED_VALUES = 1 << 22


def sampled_share(rows: int, columns: int) -> float:
    """Share of the rows to take medians from: all of them, where that is no great number."""
    return min(1.0, _SAMPLED_VALUES / max(1, rows * columns))


@dataclass
class _ColumnSummary:
    name: str
    number: bool
    missing: bool = False
    any_value: float = 0.0
    values: list[np.ndarray] = field(default_factory=list)
    weights: list[np.ndarray] = field(default_factory=list)
    labels: dict[str, float] = field(default_factory=dict)

    def add(self, values: np.ndarray, weight: np.ndarray, sampled: np.ndarray) -> None:
        if not self.number:
            self._count(label_weights(values, weight))
            return
        present = ~np.isnan(values)
        self.missing |= not present.all()
        if present.any():
            self.any_value = float(values[present][0])
        self.values.append(values[present & sampled])
        self.weights.append(weight[present & sampled])

    def merge(self, other: _ColumnSummary) -> None:
        self._count(other.labels)
        self.missing |= other.missing
        self.any_value = self.any_value or other.any_value
        self.values += other.values
        self.weights += other.weights

    def _count(self, labels: dict[str, float]) -> None:
        for label, weight in labels.items():
            self.labels[label] = self.labels.get(label, 0.0) + weight

    def column(self, encoder: Encoder) -> Column:
        if not self.number:
            return encoder.category_column(self.name, self.labels)
        values, weight = np.concatenate(self.values), np.concatenate(self.weights)
        # A column that is almost always missing may have no value in the sample.
        median = weighted_median(values, weight) if len(values) else self.any_value
        return Column(self.name, median=median, indicator=self.missing)


class TableSummary:
    """See the module docstring.

    Examples
    --------
    >>> parts = [("x", np.array([1.0, np.nan]))], [("x", np.array([3.0, 9.0]))]
    >>> one, two = TableSummary(), TableSummary()
    >>> one.add(parts[0], np.ones(2), np.ones(2, dtype=bool))
    >>> two.add(parts[1], np.ones(2), np.ones(2, dtype=bool))
    >>> one.merge(two)
    >>> column = one.encoder().columns[0]
    >>> column.kind, column.median, column.indicator
    ('number', 3.0, True)
    """

    def __init__(self) -> None:
        self.columns: list[_ColumnSummary] = []

    def add(
        self, columns: Sequence[tuple[str, np.ndarray]], weight: np.ndarray, sampled: np.ndarray
    ) -> None:
        """Take in a batch; `sampled` marks the rows that medians are taken from."""
        if not self.columns:
            self.columns = [_ColumnSummary(name, v.dtype != object) for name, v in columns]
        used = weight > 0
        for column, (_, values) in zip(self.columns, columns, strict=True):
            column.add(values[used], weight[used], sampled[used])

    def merge(self, other: TableSummary) -> None:
        """Take in a summary of other rows."""
        if not self.columns:
            self.columns = other.columns
            return
        if not other.columns:
            return
        for mine, yours in zip(self.columns, other.columns, strict=True):
            mine.merge(yours)

    def encoder(self) -> Encoder:
        """The encoder of all rows taken in."""
        encoder = Encoder()
        encoder.columns = [column.column(encoder) for column in self.columns]
        return encoder
