"""A sum of trees as one function of all its parameters, and its gradient: compiled.

Every node, and every output of every leaf, is a linear function of a row. Parameters lie in one
flat vector: first the coefficients of all functions, nodes' before leaves', then their constants in
the same order. Function f has the coefficients starts[f] .. starts[f + 1] - 1, for these `columns`;
node n is function n, and output k of leaf l is function nodes + l * outputs + k.

The gradient of a node is the straight-through one (`tree.gradient`, local form): a row that passes
the node within `window` of its boundary says how its loss would change if it went the other way.
"""

from __future__ import annotations

from dgtrees.tree.compiled import njit

__all__ = ["add_gradient", "add_scores", "add_value_gradient", "add_values"]


@njit(nogil=True, cache=True)
def _value(row, function, starts, columns, P):
    """A linear function of a row."""
    first, stop = starts[function], starts[function + 1]
    total = P[starts[-1] + function]
    for j in range(first, stop):
        total += P[j] * row[columns[j]]
    return total


@njit(nogil=True, cache=True)
def _leaf_below(row, node, left, right, starts, columns, P):
    """The leaf that a row ends in from a node, or leaf, on."""
    while node >= 0:
        node = right[node] if _value(row, node, starts, columns, P) >= 0 else left[node]
    return ~node


@njit(nogil=True, cache=True)
def add_scores(X, rows, roots, left, right, starts, columns, P, leaves, scores):
    """Add what all trees say of some rows of X to their scores (rows, outputs).

    Leaves that they end in are written to `leaves` (trees, rows).
    """
    nodes, outputs = left.shape[0], scores.shape[1]
    for t in range(roots.shape[0]):
        for i in range(rows.shape[0]):
            row = X[rows[i]]
            leaf = _leaf_below(row, roots[t], left, right, starts, columns, P)
            leaves[t, i] = leaf
            for k in range(outputs):
                scores[i, k] += _value(row, nodes + leaf * outputs + k, starts, columns, P)


@njit(nogil=True, cache=True)
def _cost(row, leaf, nodes, slopes, starts, columns, P):
    """What a leaf adds to a row's loss, to the first order."""
    outputs, total = slopes.shape[0], 0.0
    for k in range(outputs):
        total += slopes[k] * _value(row, nodes + leaf * outputs + k, starts, columns, P)
    return total


@njit(nogil=True, cache=True)
def _learn(row, function, slope, starts, columns, G):
    """Add the gradient of a function of this row whose value has this slope."""
    for j in range(starts[function], starts[function + 1]):
        G[j] += slope * row[columns[j]]
    G[starts[-1] + function] += slope


@njit(nogil=True, cache=True)
def add_gradient(X, rows, roots, left, right, starts, columns, P, leaves, slopes, window, G):
    """Add the gradient of all parameters, from the loss's at the scores (rows, outputs).

    Parameters
    ----------
    leaves : int (trees, rows)
        As `add_scores` wrote them.
    window : float
        Nodes learn from rows whose value is no further from 0; 0 leaves nodes as they are. A node
        on one column keeps its coefficient.
    """
    nodes, outputs, end = left.shape[0], slopes.shape[1], starts[-1]
    for t in range(roots.shape[0]):
        for i in range(rows.shape[0]):
            row, leaf = X[rows[i]], leaves[t, i]
            for k in range(outputs):
                _learn(row, nodes + leaf * outputs + k, slopes[i, k], starts, columns, G)
            if window <= 0.0:
                continue
            mine = _cost(row, leaf, nodes, slopes[i], starts, columns, P)
            node = roots[t]
            while node >= 0:
                value = _value(row, node, starts, columns, P)
                goes, other = (right, left) if value >= 0 else (left, right)
                if abs(value) <= window:
                    there = _leaf_below(row, other[node], left, right, starts, columns, P)
                    gain = mine - _cost(row, there, nodes, slopes[i], starts, columns, P)
                    slope = (gain if value >= 0 else -gain) / (2.0 * window)
                    if starts[node + 1] - starts[node] > 1:
                        _learn(row, node, slope, starts, columns, G)
                    else:
                        G[end + node] += slope
                node = goes[node]


@njit(nogil=True, cache=True)
def add_values(reached, rows, first_leaf, values, scores):
    """Add the values (leaves, outputs) of the leaves that some rows have reached to their scores.

    reached : whole numbers (all rows, trees)
        Leaf of every row, by the tree's own count, which begins at `first_leaf` of all.
    """
    for i in range(rows.shape[0]):
        for t in range(reached.shape[1]):
            leaf = first_leaf[t] + reached[rows[i], t]
            for k in range(scores.shape[1]):
                scores[i, k] += values[leaf, k]


@njit(nogil=True, cache=True)
def add_value_gradient(reached, rows, first_leaf, slopes, total):
    """Add the gradient of the values (leaves, outputs), from the loss's at the rows' scores."""
    for i in range(rows.shape[0]):
        for t in range(reached.shape[1]):
            leaf = first_leaf[t] + reached[rows[i], t]
            for k in range(slopes.shape[1]):
                total[leaf, k] += slopes[i, k]
