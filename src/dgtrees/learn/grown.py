"""Grown starts: a best-first axis-parallel tree, as scikit-learn grows it, on its own topology.

Trees of all smaller sizes are contained in it, in the order in which its nodes were split.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dgtrees.learn.quiet import quiet
from dgtrees.learn.starts import Start

__all__ = ["Grown", "grow_tree"]


@dataclass(frozen=True)
class Grown:
    """An axis-parallel tree; nodes and leaves keep scikit-learn's numbers, parents first.

    Parameters
    ----------
    left, right : ndarray of shape (places,)
        Children, -1 of a leaf.
    column, threshold : ndarray of shape (places,)
        A row goes left where its column is <= the threshold.
    gain : ndarray of shape (places,)
        What the split lowers the impurity of all rows by.
    """

    left: np.ndarray
    right: np.ndarray
    column: np.ndarray
    threshold: np.ndarray
    gain: np.ndarray

    @property
    def parent(self) -> np.ndarray:
        """Place of every one's parent; -1 for the root."""
        parent = np.full(len(self.left), -1)
        inner = np.flatnonzero(self.left >= 0)
        parent[self.left[inner]] = parent[self.right[inner]] = inner
        return parent

    def turns(self) -> np.ndarray:
        """When every node was split, from 0 on; leaves never are (a number beyond any size)."""
        turn = np.full(len(self.left), np.iinfo(np.int64).max)
        waiting = [(-self.gain[0], 0)] if self.left[0] >= 0 else []
        for number in range(len(self.left)):
            if not waiting:
                break
            _, node = heapq.heappop(waiting)
            turn[node] = number
            for child in (int(self.left[node]), int(self.right[node])):
                if self.left[child] >= 0:
                    heapq.heappush(waiting, (-self.gain[child], child))
        return turn

    def paths(self, X: np.ndarray) -> np.ndarray:
        """Places that every row passes, (rows, levels); the last one is repeated to the end."""
        at = np.zeros(len(X), dtype=np.int64)
        levels, rows = [at], np.arange(len(X))
        while (self.left[at] >= 0).any():
            goes_left = X[rows, np.maximum(self.column[at], 0)] <= self.threshold[at]
            child = np.where(goes_left, self.left[at], self.right[at])
            at = np.where(self.left[at] >= 0, child, at)
            levels.append(at)
        return np.stack(levels, axis=1)

    def start(self, X: np.ndarray, weight: np.ndarray, values: np.ndarray) -> Start:
        """As the start of a descent, with values (places, outputs) of which leaves take theirs.

        Every node looks at one column, scaled by the mean distance of its rows from the threshold,
        so that a decision is as sure as the column is clear there.
        """
        inner, ends = np.flatnonzero(self.left >= 0), np.flatnonzero(self.left < 0)
        pointer = np.zeros(len(self.left), dtype=np.int32)
        pointer[inner], pointer[ends] = np.arange(len(inner)), ~np.arange(len(ends))
        paths = self.paths(X)
        sums, mass = np.zeros(len(self.left)), np.zeros(len(self.left))
        for nodes in paths.T[:-1]:
            rows = np.flatnonzero(self.left[nodes] >= 0)
            at = nodes[rows]
            distance = np.abs(X[rows, self.column[at]] - self.threshold[at])
            sums += np.bincount(at, weights=weight[rows] * distance, minlength=len(sums))
            mass += np.bincount(at, weights=weight[rows], minlength=len(sums))
        scale = 1.0 / np.maximum(sums[inner] / np.maximum(mass[inner], 1e-300), 1e-3)
        weights = np.zeros((len(inner), X.shape[1]))
        weights[np.arange(len(inner)), self.column[inner]] = scale
        # scikit-learn sends a row that equals the threshold to the left, we to the right.
        near = self.threshold[inner].astype(np.float32)
        beyond = np.nextafter(near, np.float32(np.inf))
        above = np.where(near > self.threshold[inner], near, beyond)
        return Start(
            pointer[self.left[inner]],
            pointer[self.right[inner]],
            paths.shape[1] - 1,
            values[ends],
            weights,
            -scale * above.astype(np.float64),
        )


def grow_tree(
    X: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    max_leaves: int,
    min_rows: float,
    classification: bool,
    seed: int,
) -> Grown:
    """A tree of at most `max_leaves` leaves of at least `min_rows` rows each, split by split.

    Parameters
    ----------
    X : ndarray of shape (rows, d)
        Standardised rows, float32.
    target : ndarray of shape (rows, outputs)
        Values, or classes one-hot.
    weight : ndarray of shape (rows,)
    """
    kind: Any = DecisionTreeClassifier if classification else DecisionTreeRegressor
    share = min_rows / max(weight.sum(), min_rows)
    tree = kind(
        max_leaf_nodes=max(2, max_leaves),
        # A share of the weight, not a number of rows: a row of weight 2 is two rows.
        min_weight_fraction_leaf=min(0.5, share) if min_rows > 1 else 0.0,
        min_samples_split=2 if share <= 0.5 or min_rows <= 1 else len(X) + 1,  # none can be split
        random_state=seed,
    )
    labels = target.argmax(axis=1) if classification else target
    with quiet():
        grown = tree.fit(X, labels, sample_weight=weight).tree_
    left, right = grown.children_left, grown.children_right
    amount = grown.weighted_n_node_samples * grown.impurity
    gain = np.zeros(len(left))
    inner = left >= 0
    gain[inner] = amount[inner] - amount[left[inner]] - amount[right[inner]]
    return Grown(left, right, grown.feature, grown.threshold, gain)
