"""Sums over trees of which some have linear leaves, others constant ones.

Slopes are stored for linear leaves only: of most sums, half of the trees or more have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dgtrees.tree.compiled import njit
from dgtrees.tree.dot import dot_at

__all__ = ["LinearLeaves", "add_leaves", "linear_leaves"]


class LinearLeaves(NamedTuple):
    """Leaves of all trees, numbered through.

    Parameters
    ----------
    values : float64 (leaves, outputs)
    slope_of : int32 (leaves,)
        Place of a leaf among the slopes, -1 for a constant one.
    slopes : float64 (linear leaves, outputs, d)
    """

    values: np.ndarray
    slope_of: np.ndarray
    slopes: np.ndarray


def linear_leaves(leaves: Sequence[tuple[np.ndarray, np.ndarray | None]]) -> LinearLeaves:
    """From the `leaf_values` and `leaf_weights` of every tree; one tree at least is linear."""
    linear = np.repeat([slopes is not None for _, slopes in leaves], [len(v) for v, _ in leaves])
    slope_of = np.where(linear, np.cumsum(linear) - 1, -1).astype(np.int32)
    slopes = [slopes for _, slopes in leaves if slopes is not None]
    return LinearLeaves(
        np.concatenate([values for values, _ in leaves]), slope_of, np.concatenate(slopes)
    )


@njit(nogil=True, cache=True)
def add_leaves(X, start, stop, reached, leaves, outputs):
    """Sums over the leaves that the rows start .. stop - 1 of X reached, added in order.

    reached : int32 (rows, trees), numbers of leaves.
    """
    d, width = X.shape[1], outputs.shape[1]
    for row in range(start, stop):
        outputs[row] = 0.0
        for tree in range(reached.shape[1]):
            leaf = reached[row, tree]
            at = leaves.slope_of[leaf]
            for k in range(width):
                said = leaves.values[leaf, k]
                if at >= 0:
                    said += dot_at(leaves.slopes, (at * width + k) * d, X, row * d, d)
                outputs[row, k] += said
