"""A tree of a boosted sum, as it was grown: splits are bins, until somebody asks for thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dgtrees.tree.oblique import ObliqueTree

__all__ = ["BoostedTree", "LinearTree", "SumTree", "TunedTree"]


@dataclass(frozen=True, eq=False)
class BoostedTree:
    """A tree of the sum as it was grown; on rows as they are when it is asked.

    Parameters
    ----------
    splits, children : int32 ndarray of shape (nodes, 2)
        Column, or d and the number of a direction, and last bin of the left side.
    gains : ndarray of shape (nodes,)
    values : ndarray of shape (leaves, outputs)
    rows : ndarray of shape (leaves,)
        Weight of the rows of every leaf.
    thresholds : list of ndarray
        Of every column.
    directions, edges : ndarray of shape (directions, d) and (directions, bins - 1)
    scale : ndarray of shape (d,)
    """

    splits: np.ndarray
    children: np.ndarray
    gains: np.ndarray
    values: np.ndarray
    rows: np.ndarray
    thresholds: list[np.ndarray]
    directions: np.ndarray
    edges: np.ndarray
    scale: np.ndarray

    @cached_property
    def weights(self) -> np.ndarray:
        """Of every node, (nodes, d)."""
        d, column = len(self.scale), self.splits[:, 0]
        weights = np.zeros((len(column), d))
        axis = np.flatnonzero(column < d)
        weights[axis, column[axis]] = 1.0
        oblique = np.flatnonzero(column >= d)
        weights[oblique] = self.directions[column[oblique] - d]
        return weights

    def finished(self, share: np.ndarray) -> ObliqueTree:
        """The tree with leaf values times `share` (outputs of the model, outputs here)."""
        left, right = self.children.T
        return ObliqueTree(self.weights, self.bias, left, right, self.values @ share.T)

    @property
    def bias(self) -> np.ndarray:
        """Of every node, (nodes,)."""
        d = len(self.scale)
        found = [
            self.thresholds[column][last] if column < d else self.edges[column - d, last]
            for column, last in self.splits.tolist()
        ]
        return -np.array(found, dtype=np.float64)

    @property
    def importance(self) -> np.ndarray:
        """What the splits gained, by column, (d,); an oblique one's is divided by weight."""
        size = np.abs(self.weights) * self.scale
        return np.asarray(self.gains @ (size / size.sum(axis=1, keepdims=True)))


@dataclass(frozen=True, eq=False)
class LinearTree:
    """A tree of the sum whose leaves are linear functions.

    Parameters
    ----------
    tree : ObliqueTree
        On rows as they are.
    rows : ndarray of shape (leaves,)
        Weight of the rows of every leaf.
    scale : ndarray of shape (d,)
    """

    tree: ObliqueTree
    rows: np.ndarray
    scale: np.ndarray

    def finished(self, share: np.ndarray) -> ObliqueTree:
        """As of `BoostedTree`."""
        return _shared(self.tree, share)

    @property
    def importance(self) -> np.ndarray:
        """What columns change by their slopes, squared, in all rows, (d,)."""
        slopes = self.tree.leaf_weights
        assert slopes is not None
        return np.asarray(self.rows @ np.square(slopes * self.scale).sum(axis=1))


@dataclass(frozen=True, eq=False)
class TunedTree:
    """A tree of the sum after all of its trees were tuned together.

    Parameters
    ----------
    tree : ObliqueTree
        On rows as they are.
    rows : ndarray of shape (leaves,)
        Weight of the rows of every leaf.
    importance : ndarray of shape (d,)
        Of the tree as it was grown.
    """

    tree: ObliqueTree
    rows: np.ndarray
    importance: np.ndarray

    def finished(self, share: np.ndarray) -> ObliqueTree:
        """As of `BoostedTree`."""
        return _shared(self.tree, share)


SumTree = BoostedTree | LinearTree | TunedTree
"""What a sum may have."""


def _shared(tree: ObliqueTree, share: np.ndarray) -> ObliqueTree:
    """A tree with leaves times `share` (outputs of the model, outputs here)."""
    slopes = None if tree.leaf_weights is None else share @ tree.leaf_weights
    return tree.with_leaves(tree.leaf_values @ share.T, slopes)
