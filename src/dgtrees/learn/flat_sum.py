"""A sum of small trees as one flat vector of parameters, and back to trees.

Rows are standardised, and nodes have unit length: a step of one size means about the same to every
node.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dgtrees.learn._tuning import add_gradient, add_scores
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["FlatSum"]


@dataclass(frozen=True, eq=False)
class _Place:
    """Nodes and leaves of one tree among those of all, and the length that its nodes had."""

    tree: ObliqueTree
    first_node: int
    first_leaf: int
    lengths: np.ndarray


class FlatSum:
    """Trees, all of the same columns and outputs, as `_tuning` takes them.

    Parameters
    ----------
    trees : list of ObliqueTree
        On rows as they are.
    X : ndarray of shape (rows, d)
        Standardised.
    start : ndarray of shape (rows, outputs)
        What trees are added to.
    center, scale : ndarray of shape (d,)
        What rows were standardised by.
    window : float
        Nodes learn from rows no further from their boundary.

    Attributes
    ----------
    parameters : ndarray
        Coefficients of nodes, of leaves, constants of nodes, of leaves.
    parts : list of pairs
        These four as slices, and whether they are of leaves.
    """

    def __init__(
        self,
        trees: list[ObliqueTree],
        X: np.ndarray,
        start: np.ndarray,
        center: np.ndarray,
        scale: np.ndarray,
        window: float,
    ) -> None:
        self._X, self._start, self._window = X, np.array(start, dtype=np.float64), window
        self._center, self._scale = center, scale
        self._places: list[_Place] = []
        roots, children, nodes, leaves = [], [], 0, 0
        functions: list[np.ndarray] = []
        constants: list[np.ndarray] = []
        leaf_functions: list[np.ndarray] = []
        leaf_constants: list[np.ndarray] = []
        for tree in trees:
            weights, bias = tree.weights * scale, tree.bias + tree.weights @ center
            lengths = _lengths(weights)
            self._places.append(_Place(tree, nodes, leaves, lengths))
            functions.append(weights / lengths[:, None])
            constants.append(bias / lengths)
            values, slopes = tree.leaf_values, np.zeros((tree.n_leaves, tree.n_outputs, len(scale)))
            if tree.leaf_weights is not None:
                values, slopes = values + tree.leaf_weights @ center, tree.leaf_weights * scale
            leaf_functions.append(slopes.reshape(-1, len(scale)))
            leaf_constants.append(values.ravel())
            below = np.stack([tree.left, tree.right])
            children.append(np.where(below >= 0, below + nodes, below - leaves))
            roots.append(nodes if len(tree.left) else ~leaves)
            nodes, leaves = nodes + len(tree.left), leaves + tree.n_leaves
        self._roots = np.array(roots, dtype=np.int64)
        self._left, self._right = np.concatenate(children, axis=1).astype(np.int64)
        self._outputs, self._nodes = trees[0].n_outputs, nodes
        found = [_entries(part) for part in functions + leaf_functions]
        counts, columns, coefficients = (np.concatenate(part) for part in zip(*found, strict=True))
        self._starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self._columns = columns.astype(np.int64)
        self.parameters = np.concatenate([coefficients, *constants, *leaf_constants])
        of_nodes, end = int(self._starts[nodes]), int(self._starts[-1])
        edges = [0, of_nodes, end, end + nodes, len(self.parameters)]
        self.parts = [(slice(*pair), k % 2 == 1) for k, pair in enumerate(pairwise(edges))]

    def scores(self, rows: np.ndarray) -> np.ndarray:
        """What the sum says of some rows, (rows, outputs)."""
        return self._scores_and_leaves(rows)[0]

    def gradient(
        self, rows: np.ndarray, slopes_at: Callable[[np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """Of all parameters, from what the loss's is at scores of the rows, (rows, outputs)."""
        scores, leaves = self._scores_and_leaves(rows)
        P, slopes, total = self.parameters, slopes_at(scores), np.zeros_like(self.parameters)
        add_gradient(self._X, rows, *self._topology, P, leaves, slopes, self._window, total)
        return total

    def reached(self, rows: np.ndarray) -> np.ndarray:
        """Leaves of some rows as trees number their own, (trees, rows)."""
        first = np.array([place.first_leaf for place in self._places])
        return self._scores_and_leaves(rows)[1] - first[:, None]

    def _scores_and_leaves(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        scores, leaves = self._start[rows], np.empty((len(self._places), len(rows)), np.int32)
        add_scores(self._X, rows, *self._topology, self.parameters, leaves, scores)
        return scores, leaves

    @property
    def _topology(self) -> tuple[np.ndarray, ...]:
        return self._roots, self._left, self._right, self._starts, self._columns

    def trees(self) -> list[ObliqueTree]:
        """The trees of the present parameters, on rows as they are."""
        return [self._tree(place) for place in self._places]

    def _tree(self, place: _Place) -> ObliqueTree:
        tree, outputs = place.tree, self._outputs
        first = self._nodes + place.first_leaf * outputs
        weights, bias = self._functions(place.first_node, len(tree.left))
        slopes, values = self._functions(first, tree.n_leaves * outputs)
        weights, bias = weights * place.lengths[:, None] / self._scale, bias * place.lengths
        # A question about one column stays what it was, to the last bit.
        alone = np.count_nonzero(tree.weights, axis=1) == 1
        weights[alone] = tree.weights[alone]
        slopes = (slopes / self._scale).reshape(tree.n_leaves, outputs, -1)
        values = values.reshape(tree.n_leaves, outputs) - slopes @ self._center
        return ObliqueTree(
            weights, bias - weights @ self._center, tree.left, tree.right, values,
            None if tree.leaf_weights is None else slopes,
        )  # fmt: skip

    def _functions(self, first: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients (count, d) and constants of functions in a row."""
        starts = self._starts[first : first + count + 1]
        dense = np.zeros((count, len(self._scale)))
        entries = slice(starts[0], starts[-1])
        dense[np.repeat(np.arange(count), np.diff(starts)), self._columns[entries]] = (
            self.parameters[entries]
        )
        end = self._starts[-1] + first
        return dense, self.parameters[end : end + count]


def _lengths(weights: np.ndarray) -> np.ndarray:
    """Of nodes, 1 where all weights are 0; squares of these might be too large for a float."""
    most = np.abs(weights).max(axis=1, initial=0.0)
    most[most == 0.0] = 1.0
    lengths = most * np.linalg.norm(weights / most[:, None], axis=1)
    return np.where(lengths > 0.0, lengths, 1.0)


def _entries(dense: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How many coefficients every function has that are not 0, their columns, and themselves."""
    function, column = np.nonzero(dense)
    return np.bincount(function, minlength=len(dense)), column, dense[function, column]
