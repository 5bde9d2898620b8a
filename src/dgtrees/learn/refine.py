"""After the gradient: what can be computed exactly for a tree whose splits are given.

Works on an `ObliqueTree` and standardised rows, in NumPy.
"""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from dgtrees.tree import partial_routes
from dgtrees.tree.oblique import ObliqueTree

__all__ = [
    "gains_of_inputs",
    "importance",
    "input_gains",
    "leaf_sums",
    "noisy_visits",
    "normalize",
    "refit_from_sums",
    "refit_leaves",
]


_NOISY_COPIES = 8
"""How often noisy training rows are sent through a tree before an unvisited leaf is dropped."""

_CHUNK_VALUES = 1 << 22
"""Noisy values held at once while that is done."""


def refit_leaves(
    tree: ObliqueTree,
    X: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    strength: float,
    classification: bool,
) -> ObliqueTree:
    """Set every leaf to the optimum over its rows and `strength` pseudo-rows of its learnt value.

    Constant leaves become class shares (as log-probabilities) or means; linear leaves are moved by
    a ridge regression on what they leave unexplained. A leaf without rows keeps its value.

    Parameters
    ----------
    X : ndarray of shape (rows, d)
        Standardised rows.
    target : ndarray of shape (rows, outputs)
        Values, or classes one-hot.
    """
    if tree.leaf_weights is not None:
        if classification:
            return tree  # no closed form: the learnt leaves stay
        return _refit_linear(tree, X, target, weight, tree.apply(X), strength)
    sums = leaf_sums(tree, tree.apply(X), target, weight)
    return refit_from_sums(tree, sums, strength, classification)


def leaf_sums(
    tree: ObliqueTree, leaves: np.ndarray, target: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Of the rows of every leaf, added up: weight, targets, squared length of targets.

    Sums of several parts of the rows may be added, (leaves, outputs + 2).
    """
    columns = np.hstack(
        [np.ones((len(target), 1)), target, np.square(target).sum(axis=1, keepdims=True)]
    )
    sums = np.zeros((tree.n_leaves, target.shape[1] + 2))
    partial_routes.column_sums_by_leaf(leaves, columns * weight[:, None], sums)
    return sums


def refit_from_sums(
    tree: ObliqueTree, sums: np.ndarray, strength: float, classification: bool
) -> ObliqueTree:
    """`refit_leaves` for constant leaves, from the `leaf_sums` of all rows."""
    mass, targets = sums[:, :1], sums[:, 1:-1]
    prior = softmax(tree.leaf_values, axis=1) if classification else tree.leaf_values
    # Without rows the quotient is the prior itself, whatever the strength.
    pseudo = np.where(mass > 0, strength, 1.0)
    values = (targets + pseudo * prior) / (mass + pseudo)
    if classification:
        values = np.log(np.maximum(values, 1e-12))
    return tree.with_leaves(values)


def _refit_linear(
    tree: ObliqueTree,
    X: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    leaves: np.ndarray,
    strength: float,
) -> ObliqueTree:
    values, slopes = tree.leaf_values.copy(), tree.leaf_weights.copy()  # type: ignore[union-attr]
    residual = target - tree.predict(X)
    ridge = np.eye(X.shape[1] + 1) * max(strength, 1e-6)
    for leaf in range(tree.n_leaves):
        rows = np.flatnonzero(leaves == leaf)
        if not rows.size:
            continue
        A = np.hstack([np.ones((rows.size, 1)), X[rows]])
        weighted = A * weight[rows, None]
        step = np.linalg.solve(A.T @ weighted + ridge, weighted.T @ residual[rows])
        values[leaf] += step[0]
        slopes[leaf] += step[1:].T
    return tree.with_leaves(values, slopes)


def _gains(tree: ObliqueTree, sums: np.ndarray) -> np.ndarray:
    """How much every split lowers the squared error of the best constants below it, (nodes,).

    For one-hot classes that is the Gini impurity, as in CART's importances.
    """
    total = np.vstack(tree.totals(sums))
    mass = np.maximum(total[:, 0], 1e-300)
    error = total[:, -1] - np.square(total[:, 1:-1]).sum(axis=1) / mass
    gains = error[: tree.n_nodes].copy()
    for position in range(1, len(total)):
        gains[tree.parent[position]] -= error[position]
    return np.maximum(gains, 0.0)


def gains_of_inputs(tree: ObliqueTree, sums: np.ndarray) -> np.ndarray:
    """Every split's gain, by the `leaf_sums` of all rows, shared out over the inputs.

    The larger an input's (standardised) weight in a split, the larger its part.
    """
    size = np.abs(tree.weights)
    share = size / np.maximum(size.sum(axis=1, keepdims=True), 1e-300)
    return np.einsum("n,nd->d", _gains(tree, sums), share)


def input_gains(
    tree: ObliqueTree, X: np.ndarray, target: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """`gains_of_inputs` for rows, (d,)."""
    return gains_of_inputs(tree, leaf_sums(tree, tree.apply(X), target, weight))


def normalize(gains: np.ndarray) -> np.ndarray:
    """Shares of the total."""
    total = gains.sum()
    return gains / total if total > 0 else gains


def importance(
    tree: ObliqueTree, X: np.ndarray, target: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Every input's share of what the splits gain, (d,)."""
    return normalize(input_gains(tree, X, target, weight))


def noisy_visits(
    tree: ObliqueTree,
    X: np.ndarray,
    weight: np.ndarray,
    noise: float,
    relative: float,
    random: np.random.Generator,
) -> np.ndarray:
    """Weight of the rows that come to every leaf, as they are and several times with noise.

    With noise on its rows, a leaf that no clean row reaches has been trained all the same and
    predicts better for new rows than its neighbour.
    """
    visits = tree.visits(X, weight)[1]
    if not (noise or relative):
        return visits
    chunk = max(1, _CHUNK_VALUES // tree.n_features)
    for _ in range(_NOISY_COPIES):
        for start in range(0, len(X), chunk):
            rows, mass = X[start : start + chunk], weight[start : start + chunk]
            blur = random.standard_normal(rows.shape, dtype=np.float32)
            spread = np.hypot(noise, np.float32(relative) * rows) if relative else noise
            visits += tree.visits(rows + np.float32(spread) * blur, mass)[1]
    return visits
