"""Rows through trees that still change, and sums over the rows of a leaf.

Finished trees predict by `routing`; here a tree is its bare arrays, a row may set out at any node,
and nothing is packed first. The dot product, and its one order of summation, are `dot`'s.
"""

from __future__ import annotations

from dgtrees.tree.compiled import njit
from dgtrees.tree.dot import dot_at

__all__ = ["column_sums_by_leaf", "linear_outputs", "route_rows_from"]


@njit(nogil=True, cache=True)
def route_rows_from(X, rows, starts, weights, bias, left, right, leaves):
    """Leaf of row rows[i] of X when it sets out at starts[i], a node or ``~leaf``.

    For trees that change all the time; a finished one is routed through by `routing`.
    """
    d = X.shape[1]
    for i in range(rows.shape[0]):
        node, row = starts[i], rows[i] * d
        while node >= 0:
            activation = dot_at(weights, node * d, X, row, d) + bias[node]
            node = right[node] if activation >= 0.0 else left[node]
        leaves[i] = ~node


@njit(nogil=True, cache=True)
def linear_outputs(X, start, stop, leaves, leaf_values, leaf_weights, outputs):
    """leaf_values[leaf] + leaf_weights[leaf] @ x for the rows start .. stop - 1."""
    d, count = X.shape[1], leaf_values.shape[1]
    for row in range(start, stop):
        leaf = leaves[row]
        for k in range(count):
            slope = dot_at(leaf_weights, (leaf * count + k) * d, X, row * d, d)
            outputs[row, k] = leaf_values[leaf, k] + slope


@njit(nogil=True, cache=True)
def column_sums_by_leaf(leaves, values, sums):
    """sums[leaf] += values[row], rows in order so that the result does not depend on threads."""
    for row in range(leaves.shape[0]):
        leaf = leaves[row]
        for k in range(values.shape[1]):
            sums[leaf, k] += values[row, k]
