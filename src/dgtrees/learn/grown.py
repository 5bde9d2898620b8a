"""Grown starts: a best-first axis-parallel tree, as scikit-learn grows it, on its own topology."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dgtrees.learn.starts import Start, leaf_values

__all__ = ["grown_start"]


def grown_start(
    X: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    max_leaves: int,
    min_rows: float,
    classification: bool,
    seed: int,
) -> Start:
    """A tree of at most `max_leaves` leaves of at least `min_rows` rows each, split by split.

    Every node looks at one column, scaled by the mean distance of its rows from the threshold, so
    that a decision is as sure as the column is clear there.

    Parameters
    ----------
    X : ndarray of shape (rows, d)
        Standardised rows.
    target : ndarray of shape (rows, outputs)
        Values, or classes one-hot.
    weight : ndarray of shape (rows,)
    """
    kind: Any = DecisionTreeClassifier if classification else DecisionTreeRegressor
    tree = kind(
        max_leaf_nodes=max(2, max_leaves),
        # A share of the weight, not a number of rows: a row of weight 2 is two rows.
        min_weight_fraction_leaf=min(0.5, min_rows * weight.mean() / weight.sum()),
        random_state=seed,
    )
    labels = target.argmax(axis=1) if classification else target
    grown = tree.fit(X, labels, sample_weight=weight).tree_
    inner = np.flatnonzero(grown.children_left >= 0)  # parents have smaller numbers
    ends = np.flatnonzero(grown.children_left < 0)
    pointer = np.zeros(grown.node_count, dtype=np.int32)
    pointer[inner], pointer[ends] = np.arange(len(inner)), ~np.arange(len(ends))
    left, right = pointer[grown.children_left[inner]], pointer[grown.children_right[inner]]
    weights, bias = np.zeros((len(inner), X.shape[1])), np.zeros(len(inner))
    at = grown.apply(np.ascontiguousarray(X, dtype=np.float32))
    parent = np.full(grown.node_count, -1)
    for children in (grown.children_left, grown.children_right):
        parent[children[inner]] = inner
    rows_at = at.copy()
    sums, mass = np.zeros(grown.node_count), np.zeros(grown.node_count)
    while (rows_at >= 0).any():  # one level up at a time
        rows_at = np.where(rows_at >= 0, parent[np.maximum(rows_at, 0)], -1)
        rows = np.flatnonzero(rows_at >= 0)
        nodes = rows_at[rows]
        distance = np.abs(X[rows, grown.feature[nodes]] - grown.threshold[nodes])
        np.add.at(sums, nodes, weight[rows] * distance)
        np.add.at(mass, nodes, weight[rows])
    scale = 1.0 / np.maximum(sums[inner] / np.maximum(mass[inner], 1e-300), 1e-3)
    weights[np.arange(len(inner)), grown.feature[inner]] = scale
    # scikit-learn sends a row that equals the threshold to the left, we to the right.
    bias[:] = -scale * np.nextafter(grown.threshold[inner], np.inf)
    values = leaf_values(~pointer[at], len(ends), target, weight, classification)
    return Start(left, right, int(grown.max_depth), values, weights, bias)
