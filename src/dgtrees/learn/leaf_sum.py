"""The values of all leaves of a sum of trees, while rows stay in the leaves that they have reached.

What rows reach, and what slopes of linear leaves add, is found once; a step then only adds values
up, a fraction of the price of `flat_sum`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dgtrees.learn._tuning import add_value_gradient, add_values
from dgtrees.tree.forest import ObliqueForest
from dgtrees.tree.leaf import leaf_outputs
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["LeafSum"]

_ROWS_AT_ONCE = 4096


class LeafSum:
    """The values of the leaves of some trees.

    Parameters
    ----------
    trees : list of ObliqueTree
    X : ndarray of shape (rows, d)
        As trees get them.
    start : ndarray of shape (rows, outputs)
        What trees are added to.

    Attributes
    ----------
    parameters : ndarray
    parts : list of pairs
        Slices of parameters, and whether they are of leaves: all, here.
    """

    def __init__(self, trees: list[ObliqueTree], X: np.ndarray, start: np.ndarray) -> None:
        counts = [tree.n_leaves for tree in trees]
        self._trees, self._start = trees, np.array(start, dtype=np.float64)
        self._first_leaf = np.cumsum([0, *counts[:-1]])
        self._reached = np.empty((len(X), len(trees)), dtype=np.min_scalar_type(max(counts)))
        forest = ObliqueForest(tuple(trees), "sum")
        for first in range(0, len(X), _ROWS_AT_ONCE):
            part = slice(first, first + _ROWS_AT_ONCE)
            leaves = forest.apply(X[part], n_threads=1)
            self._reached[part] = leaves
            for tree, own in zip(trees, leaves.T, strict=True):
                if tree.leaf_weights is not None:
                    sloped = tree.with_leaves(np.zeros_like(tree.leaf_values), tree.leaf_weights)
                    own = np.ascontiguousarray(own)
                    self._start[part] += leaf_outputs(sloped, X[part], own, 1)
        self.parameters = np.concatenate([tree.leaf_values for tree in trees]).ravel()
        self.parts = [(slice(0, len(self.parameters)), True)]

    def scores(self, rows: np.ndarray) -> np.ndarray:
        """What the sum says of some rows, (rows, outputs)."""
        scores = self._start[rows]
        add_values(self._reached, rows, self._first_leaf, self._values(self.parameters), scores)
        return scores

    def gradient(
        self, rows: np.ndarray, slopes_at: Callable[[np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """Of all parameters, from what the loss's is at scores of the rows, (rows, outputs)."""
        total, slopes = np.zeros_like(self.parameters), slopes_at(self.scores(rows))
        add_value_gradient(self._reached, rows, self._first_leaf, slopes, self._values(total))
        return total

    def trees(self) -> list[ObliqueTree]:
        """The trees with the present values."""
        ends = [*self._first_leaf[1:], None]
        values = self._values(self.parameters)
        return [
            tree.with_leaves(values[first:end], tree.leaf_weights)
            for tree, first, end in zip(self._trees, self._first_leaf, ends, strict=True)
        ]

    def reached(self, rows: np.ndarray) -> np.ndarray:
        """Leaves of some rows as trees number their own, (trees, rows)."""
        return self._reached[rows].T

    def _values(self, flat: np.ndarray) -> np.ndarray:
        return flat.reshape(-1, self._start.shape[1])
