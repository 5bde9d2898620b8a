"""Oblique directions worth a split: the slope of what is left to learn, near some row.

A direction is a ridge regression of the residual on a random part of the columns, over rows close
to a random row: a quarter of them, say, or all. Its projection is binned and searched for splits
beside the columns themselves, so that a node is oblique only where that gains more.
"""

from __future__ import annotations

import numpy as np

from dgtrees.learn._projections import bin_projections, project

__all__ = ["DIRECTION_BINS", "Projections", "local_slope"]

DIRECTION_BINS = 63

_MOST_ROWS = 2000
"""Rows that directions are learnt from."""

_HALVINGS = 5.0
"""The closest rows are between all and 2^-5 of them, evenly in the logarithm."""

_LEAST_COLUMNS = 0.2
_RIDGE = 0.01
_TAIL = 0.005
"""Share of the rows beyond the first and the last of the bins, each."""


def local_slope(
    rows: np.ndarray, residual: np.ndarray, columns: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Slope (columns,) of the residual near a random row, in a random part of the columns.

    Parameters
    ----------
    rows : ndarray of shape (rows, d)
        Standardised.
    residual : ndarray of shape (rows,)
    columns : ndarray of int
        Those that may have a slope.
    """
    n, d = rows.shape
    share = rng.uniform(_LEAST_COLUMNS, 1.0)
    count = min(len(columns), max(2, int(np.ceil(share * len(columns)))))
    columns = rng.choice(columns, count, replace=False)
    part = rows[:, columns]
    close = max(int(n * 2.0 ** -rng.uniform(0.0, _HALVINGS)), min(n, 3 * d + 20))
    if close < n:
        away = part - part[rng.integers(n)]
        distance = np.einsum("nd,nd->n", away, away)
        near = np.argpartition(distance, close - 1)[:close]
        part, residual = part[near], residual[near]
    part = part - part.mean(axis=0)
    scatter = part.T @ part
    scatter[np.diag_indices(count)] += _RIDGE * len(part)
    slope = np.zeros(d)
    slope[columns] = np.linalg.solve(scatter, part.T @ (residual - residual.mean()))
    return slope


class Projections:
    """Directions in use, and the columns of bins that hold the rows' projections on them.

    Parameters
    ----------
    X : float64 ndarray of shape (rows, d)
        All rows, as trees get them.
    standard : ndarray of shape (rows, d)
        The same, standardised and without extreme values: directions are learnt from these.
    scale : ndarray of shape (d,)
        Spread of every column.
    train : ndarray of int
        Rows to learn from.
    columns : ndarray of int
        Columns that may be in a direction.
    bins : uint8 ndarray of shape (rows, d + count)
        Its last columns are written to.
    """

    def __init__(
        self,
        X: np.ndarray,
        standard: np.ndarray,
        scale: np.ndarray,
        train: np.ndarray,
        columns: np.ndarray,
        bins: np.ndarray,
    ) -> None:
        self._X, self._standard, self._scale = X, standard, scale
        self._train, self._columns, self._bins = train, columns, bins
        count = bins.shape[1] - X.shape[1]
        self.directions = np.zeros((count, X.shape[1]))
        self._ends = np.empty((count, 2, DIRECTION_BINS))
        self._values = np.empty(len(X))

    def renew(self, residual: np.ndarray, rng: np.random.Generator) -> None:
        """Learn new directions from a residual (rows, outputs)."""
        sample = self._train
        if len(sample) > _MOST_ROWS:
            sample = rng.choice(sample, _MOST_ROWS, replace=False)
        rows, left = self._standard[sample], residual[sample]
        for number in range(len(self.directions)):
            mixed = left @ rng.normal(size=left.shape[1]) if left.shape[1] > 1 else left[:, 0]
            slope = local_slope(rows, mixed, self._columns, rng)
            length = np.linalg.norm(slope)
            self._use(number, slope / length if length > 0 else slope, sample)

    def _use(self, number: int, slope: np.ndarray, sample: np.ndarray) -> None:
        direction = self.directions[number]
        direction[:] = slope / self._scale
        project(self._X, direction, self._values)
        low, high = np.quantile(self._values[sample], (_TAIL, 1.0 - _TAIL))
        step = (high - low) / DIRECTION_BINS
        column, ends = self._X.shape[1] + number, self._ends[number]
        if not step > 0:
            step = 1.0
        bin_projections(
            self._values, low, step, DIRECTION_BINS, column, self._bins, ends[0], ends[1]
        )

    def threshold(self, number: int, last: int) -> float:
        """What tells projections in bins up to `last` from those beyond."""
        lowest, highest = self._ends[number]
        above, below = lowest[last + 1 :].min(), highest[: last + 1].max()
        middle = below + 0.5 * (above - below)
        return float(middle if middle > below else above)
