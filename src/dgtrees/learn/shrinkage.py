"""Leaves that lean on their ancestors: values of all nodes, each with some rows of its parent's.

With sums s and mass m of the rows that pass a node, its value is (s + lambda value(parent)) /
(m + lambda): lambda pseudo-rows that say what the parent says. For class shares and means that is
what a careful statistician would answer for few rows; for scores beside a linear function, with
gradients as sums and curvatures as mass, it is a Newton step with a penalty on leaving the parent.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from dgtrees.tree.oblique import ObliqueTree

__all__ = ["STRENGTHS", "levels_below", "log_shares", "node_values", "sums_of_nodes"]

STRENGTHS = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
"""Pseudo-rows that are tried."""


def sums_of_nodes(tree: ObliqueTree, leaf: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sums of rows' values (rows, k) over all rows that pass a node, then a leaf.

    Parameters
    ----------
    leaf : ndarray of shape (rows,)
        Where every row ends.
    """
    at_leaf = np.zeros((tree.n_leaves, values.shape[1]))
    for k in range(values.shape[1]):
        at_leaf[:, k] = np.bincount(leaf, weights=values[:, k], minlength=tree.n_leaves)
    return np.concatenate(tree.totals(at_leaf))


def levels_below(parent: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Places of every level below the root, and those of their parents; parents come first."""
    depth = np.zeros(len(parent), dtype=np.int64)
    for place, above in enumerate(parent.tolist()):
        if place:
            depth[place] = depth[above] + 1
    order = np.argsort(depth, kind="stable")
    edges = np.searchsorted(depth[order], np.arange(1, depth.max(initial=0) + 2))
    levels = [order[start:stop] for start, stop in pairwise(edges)]
    return [(level, parent[level]) for level in levels]


def node_values(
    levels: list[tuple[np.ndarray, np.ndarray]],
    sums: np.ndarray,
    mass: np.ndarray,
    strength: float,
) -> np.ndarray:
    """Values of all places of a tree; see the module docstring.

    Parameters
    ----------
    levels : list
        As `levels_below` gives them.
    sums : ndarray of shape (places, k)
    mass : ndarray of shape (places, k) or (places, 1)

    Examples
    --------
    >>> levels = levels_below(np.array([-1, 0, 0]))  # a root with two leaves
    >>> sums, mass = np.array([[4.0], [4.0], [0.0]]), np.array([[2.0], [1.0], [1.0]])
    >>> node_values(levels, sums, mass, strength=1.0).ravel()
    array([2., 3., 1.])
    """
    values = np.empty(sums.shape)
    values[0] = sums[0] / np.maximum(mass[0], 1e-12)
    for at, parents in levels:
        above = values[parents]
        whole = mass[at] + strength
        own = (sums[at] + strength * above) / np.maximum(whole, 1e-12)
        values[at] = np.where(whole > 1e-12, own, above)  # nobody came: as the parent
    return values


def log_shares(shares: np.ndarray, rows: float) -> np.ndarray:
    """Logarithms of class shares, none of which is surer than so many rows allow."""
    return np.log(np.maximum(shares, 0.5 / (rows + 1.0)))
