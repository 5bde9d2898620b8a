"""Oblique directions worth a split: the slope of what is left to learn, near some row.

A direction is a ridge regression of the residual on a random part of the columns, over rows close
to a random row: a quarter of them, say, or all. Its projection is binned and searched for splits
beside the columns themselves, so that a node is oblique only where that gains more.
"""

from __future__ import annotations

import numpy as np

from dgtrees.learn._projections import bin_projections

__all__ = ["DIRECTION_BINS", "Projections", "local_slopes"]

DIRECTION_BINS = 63

_MOST_ROWS = 2000
"""Rows that directions are learnt from."""

_EDGE_ROWS = 500
"""Rows that the ends of bins are learnt from."""

_HALVINGS = 5.0
"""The closest rows are between all and 2^-5 of them, evenly in the logarithm."""

_LEAST_COLUMNS = 0.2
_MOST_COLUMNS = 512
"""Columns of one direction: solving for its slopes takes their cube."""

_RIDGE = 0.01
_TAIL = 0.005
"""Share of the rows beyond the first and the last of the bins, each."""


def local_slopes(
    rows: np.ndarray, residuals: np.ndarray, columns: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Slopes (count, d) of residuals near random rows, each in a random part of the columns.

    Parameters
    ----------
    rows : ndarray of shape (rows, d)
        Standardised.
    residuals : ndarray of shape (rows, count)
    columns : ndarray of int
        Those that may have a slope.
    """
    (n, d), count = rows.shape, residuals.shape[1]
    shares = rng.uniform(_LEAST_COLUMNS, 1.0, size=count) * len(columns)
    most = min(len(columns), _MOST_COLUMNS)
    sizes = np.minimum(most, np.maximum(2, np.ceil(shares).astype(int)))
    order = rng.random((count, len(columns))).argsort(axis=1)
    close = np.maximum(n * 2.0 ** -rng.uniform(0.0, _HALVINGS, size=count), min(n, 3 * d + 20))
    centers = rng.integers(n, size=count)
    chosen = [columns[order[k, : sizes[k]]] for k in range(count)]
    mask = np.zeros((count, d))
    for k in range(count):
        mask[k, chosen[k]] = 1.0
    # Distances to the centers, but for a constant each.
    distances = mask @ (rows * rows).T - 2.0 * (mask * rows[centers]) @ rows.T
    slopes = np.zeros((count, d))
    for k in range(count):
        part, residual, size = rows, residuals[:, k], int(close[k])
        if size < n:
            near = np.argpartition(distances[k], size - 1)[:size]
            part, residual = part[near], residual[near]
        part = part[:, chosen[k]]
        part = part - np.full(len(part), 1.0 / len(part)) @ part
        slopes[k, chosen[k]] = _ridge_slopes(part, residual - residual.mean())
    return slopes


def _ridge_slopes(part: np.ndarray, residual: np.ndarray) -> np.ndarray:
    """Of centred rows, by the smaller of the two systems of equations that give the same."""
    wide = part.shape[1] > len(part)
    scatter = part @ part.T if wide else part.T @ part
    scatter.flat[:: len(scatter) + 1] += _RIDGE * len(part)
    if wide:
        return np.asarray(part.T @ np.linalg.solve(scatter, residual))
    return np.linalg.solve(scatter, part.T @ residual)


class Projections:
    """Directions in use, and the columns of bins that hold the rows' projections on them.

    Parameters
    ----------
    columns : float64 ndarray of shape (d, rows)
        All rows, as trees get them, column by column.
    standard : ndarray of shape (rows, d)
        The same, standardised and without extreme values: directions are learnt from these.
    center, scale : ndarray of shape (d,)
        What rows were standardised by.
    order : ndarray of int
        The row that every row of bins is of.
    n_train : int
        The first so many of these may be learnt from.
    free : ndarray of int
        Columns that may be in a direction.
    bins : uint8 ndarray of shape (rows, d + count)
        Its last columns are written to.
    """

    def __init__(
        self,
        columns: np.ndarray,
        standard: np.ndarray,
        center: np.ndarray,
        scale: np.ndarray,
        order: np.ndarray,
        n_train: int,
        free: np.ndarray,
        bins: np.ndarray,
    ) -> None:
        self._columns, self._standard, self._scale = columns.ravel(), standard, scale
        self._offset = center / scale
        self._order, self._n_train, self._free, self._bins = order, n_train, free, bins
        self._places = np.full(columns.shape[1], -1, dtype=np.int32)
        self._places[order] = np.arange(len(order))
        count = bins.shape[1] - len(scale)
        self.directions = np.zeros((count, len(scale)))
        self.edges = np.zeros((count, DIRECTION_BINS - 1))

    def renew(
        self, residual: np.ndarray, rng: np.random.Generator, which: slice = slice(None)
    ) -> None:
        """Learn some of the directions anew from a residual (rows to learn from, outputs)."""
        sample: np.ndarray | slice = slice(self._n_train)
        if self._n_train > _MOST_ROWS:
            sample = rng.choice(self._n_train, _MOST_ROWS, replace=False)
        rows, left = self._standard[self._order[sample]], residual[sample]
        # Copies: trees keep the directions that they were grown with.
        self.directions, self.edges = self.directions.copy(), self.edges.copy()
        first, stop, _ = which.indices(len(self.directions))
        if left.shape[1] > 1:
            left = left @ rng.normal(size=(left.shape[1], stop - first))
        else:
            left = np.broadcast_to(left, (len(left), stop - first))
        slopes = local_slopes(rows, left, self._free, rng)
        lengths = np.linalg.norm(slopes, axis=1, keepdims=True)
        slopes /= np.where(lengths > 0, lengths, 1.0)
        some = slopes @ rows[:_EDGE_ROWS].T + (slopes @ self._offset)[:, None]
        self.directions[which], self.edges[which] = slopes / self._scale, self._thresholds(some)
        bin_projections(
            self._columns, self.directions[which], self.edges[which], self._places, self._bins,
            len(self._scale) + first,
        )  # fmt: skip

    @staticmethod
    def _thresholds(values: np.ndarray) -> np.ndarray:
        """Between the tails of every direction's values (directions, rows), at equal distances."""
        tail = int(_TAIL * (values.shape[1] - 1))
        values.partition((tail, values.shape[1] - 1 - tail), axis=1)
        low, high = values[:, tail], values[:, -1 - tail]
        step = np.where(high > low, (high - low) / DIRECTION_BINS, 1.0)
        return np.asarray(low[:, None] + step[:, None] * np.arange(1, DIRECTION_BINS))
