"""Columns in up to 255 bins, and the thresholds between bins, exact for the rows binned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["MOST_BINS", "BinnedRows", "bin_rows"]

MOST_BINS = 255
"""Bins of a column: their numbers fit one byte."""

_FEWER_BINS, _MANY_ROWS = 127, 20_000
"""Bins where rows are fewer than so many: nearly as good, and searched in half the time."""


@dataclass(frozen=True)
class BinnedRows:
    """Rows as numbers of bins.

    Parameters
    ----------
    bins : uint8 ndarray of shape (rows, columns)
    edges : list of ndarray
        For every column its thresholds, rising: bin k holds edges[k - 1] <= x < edges[k].
    """

    bins: np.ndarray
    edges: list[np.ndarray]

    @property
    def n_bins(self) -> np.ndarray:
        """Bins of every column."""
        return np.array([len(edges) + 1 for edges in self.edges], dtype=np.int64)


def bin_rows(X: np.ndarray, train: np.ndarray, most: int | None = None) -> BinnedRows:
    """All rows in bins of about equal numbers of the rows `train`.

    Parameters
    ----------
    X : float64 ndarray of shape (rows, columns)
    train : ndarray of int
        Rows that thresholds are learnt from.
    most : int, optional
        Most bins of a column.
    """
    if most is None:
        most = _FEWER_BINS if len(train) < _MANY_ROWS else MOST_BINS
    bins = np.empty(X.shape, dtype=np.uint8)
    edges = []
    for j in range(X.shape[1]):
        found = _edges(np.sort(X[train, j]), most)
        bins[:, j] = np.searchsorted(found, X[:, j], side="right")
        edges.append(found)
    return BinnedRows(bins, edges)


def _edges(ordered: np.ndarray, most: int) -> np.ndarray:
    """Thresholds half-way between neighbours: of all values, or near the quantiles."""
    steps = np.flatnonzero(ordered[1:] > ordered[:-1])
    if len(steps) >= most:
        wanted = np.linspace(0, len(ordered) - 1, most + 1)[1:-1]
        steps = np.unique(steps[np.minimum(np.searchsorted(steps, wanted), len(steps) - 1)])
    below, above = ordered[steps], ordered[steps + 1]
    middle = below + 0.5 * (above - below)
    # Neighbours so near that nothing lies between them: the upper one is the threshold.
    return np.where(middle > below, middle, above)
