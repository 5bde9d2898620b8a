"""Projections of rows on directions, in bins between two ends. Compiled.

They are dot products in the order of `tree.dot`: a finished tree sends rows where training did.
"""

from __future__ import annotations

import numpy as np

from dgtrees.tree.compiled import njit
from dgtrees.tree.dot import dot_at

__all__ = ["bin_projections", "project"]


@njit(nogil=True, cache=True)
def project(X, direction, values):
    """Dot products of all rows with a direction, to values (rows,)."""
    d = X.shape[1]
    for row in range(X.shape[0]):
        values[row] = dot_at(direction, 0, X, row * d, d)


@njit(nogil=True, cache=True)
def bin_projections(values, low, step, n_bins, column, bins, lowest, highest):
    """Bins of equal width from `low` on, to a column of bins; least and greatest value of each."""
    lowest[:], highest[:] = np.inf, -np.inf
    for row in range(values.shape[0]):
        at = int(min(max((values[row] - low) / step, 0.0), n_bins - 1.0))
        bins[row, column] = at
        lowest[at] = min(lowest[at], values[row])
        highest[at] = max(highest[at], values[row])
