"""The compiled loops that training takes: the tree gradient, and rows through trees that change.

The functions here take plain arrays whose dtypes and shapes their callers have already checked,
write into arrays they are given, and never allocate per row. All of them release the GIL, so
threads are the callers' business. Finished trees predict by `routing`; the dot product that both
share, and its one order of summation, are in `lanes`. Ties go right: w.x + b >= 0.

Symbols of the paper: ``decisions`` holds the quantized sgn(a_n); ``value[n]`` is the expected
leaf score below node n, ``reach[n]`` the soft probability of arriving there.
"""

from __future__ import annotations

import numpy as np

from dgtrees.tree.compiled import njit
from dgtrees.tree.lanes import dot_at

__all__ = [
    "HARD",
    "PRODUCT",
    "SUM_EQUAL",
    "SUM_GENERAL",
    "column_sums_by_leaf",
    "hard_sign",
    "leaf_of_decisions",
    "leaf_probabilities",
    "linear_outputs",
    "route_rows_from",
    "straight_through",
    "tree_gradient",
]

BLOCK = 16
"""Rows the gradient handles side by side, so that its inner loops become vector instructions."""

# How decisions combine along a path.
SUM_EQUAL = 0  # soft-max of the sum of decisions that all have one magnitude
SUM_GENERAL = 1  # soft-max of the sum of decisions of any magnitude
PRODUCT = 2  # product of (1 + decision) / 2
HARD = 3  # the same after rounding decisions to -1 and 1: only the path a row takes counts


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


@njit(nogil=True, cache=True)
def hard_sign(activations, size, decisions):
    """size where the activation is >= 0, else -size; torch.where takes 20 times as long."""
    for row in range(activations.shape[0]):
        for n in range(activations.shape[1]):
            decisions[row, n] = size if activations[row, n] >= 0 else -size


@njit(nogil=True, cache=True)
def straight_through(activations, gradient, slope, result):
    """gradient * slope where |activation| <= 1, else 0: the derivative given to the sign."""
    for row in range(activations.shape[0]):
        for n in range(activations.shape[1]):
            inside = abs(activations[row, n]) <= 1
            result[row, n] = slope * gradient[row, n] if inside else slope * 0


@njit(nogil=True, cache=True)
def leaf_of_decisions(decisions, leaves):
    """Leaf of every row of a complete tree from the decisions of all its nodes (batch, nodes)."""
    n_nodes = decisions.shape[1]
    for row in range(decisions.shape[0]):
        node = 0
        while node < n_nodes:
            node = 2 * node + (2 if decisions[row, node] >= 0 else 1)
        leaves[row] = node - n_nodes


@njit(nogil=True, cache=True, error_model="numpy")
def _branch_probabilities(decisions, row, rows, form, p_right, norm):
    """Soft probability of going right at every node, for `rows` rows from `row` on.

    Decisions of one magnitude s make the soft-max over leaves factorise, with
    sigmoid(2 s) for the child the decision points to: no exponential is needed per node.
    """
    n_nodes = decisions.shape[1]
    if form == SUM_EQUAL:
        strength = abs(decisions[row, 0]) if n_nodes else decisions.dtype.type(0)
        toward = decisions.dtype.type(1.0 / (1.0 + np.exp(-2.0 * strength)))
        away = decisions.dtype.type(1.0) - toward
        for j in range(rows):
            for n in range(n_nodes):
                p_right[n, j] = toward if decisions[row + j, n] >= 0 else away
    elif form == PRODUCT:
        half = decisions.dtype.type(0.5)
        for j in range(rows):
            for n in range(n_nodes):
                p_right[n, j] = half + half * decisions[row + j, n]
    elif form == HARD:
        for j in range(rows):
            for n in range(n_nodes):
                p_right[n, j] = 1 if decisions[row + j, n] >= 0 else 0
    else:
        one, height = decisions.dtype.type(1.0), 1
        while 2 << height <= n_nodes + 1:
            height += 1
        # Exponentials of sums along a path must stay numbers; larger decisions are as good as hard.
        largest = 0.9 * np.log(np.finfo(decisions.dtype).max)
        bound = decisions.dtype.type(largest / height)
        for j in range(rows):
            for n in range(n_nodes):
                p_right[n, j] = np.exp(min(max(decisions[row + j, n], -bound), bound))
        for n in range(n_nodes, 2 * n_nodes + 1):
            for j in range(BLOCK):
                norm[n, j] = one
        for n in range(n_nodes - 1, -1, -1):
            for j in range(BLOCK):
                # e^d z_right / (e^d z_right + e^-d z_left), z the norm of the soft-max below.
                right = p_right[n, j] * norm[2 * n + 2, j]
                both = right + norm[2 * n + 1, j] / p_right[n, j]
                norm[n, j] = both
                p_right[n, j] = right / both


@njit(nogil=True, cache=True, error_model="numpy")
def tree_gradient(decisions, leaf_scores, form, gradient):
    """Derivative of sum_l q_l * leaf_scores[:, l] with respect to every decision.

    The closed form of Algorithm 2: q is the soft distribution over leaves that the decisions of
    a complete tree define, and with V(n) the mean score below n, C = V(root) and reach(n) the
    probability of passing n,

        sum form:      d/d decision_n = reach(n) (p_right (V(right) - C) - p_left (V(left) - C))
        product form:  d/d decision_n = reach(n) (V(right) - V(left)) / 2

    In the hard form reach is 1 on the path a row takes and 0 elsewhere, and V is the score of the
    one leaf that a row sent left or right at n would end in.

    Parameters are (batch, nodes), (batch, leaves), a form constant and the (batch, nodes) result.
    Two sweeps over the tree, no matrix of leaves by leaves.
    """
    batch, n_nodes = decisions.shape
    dtype = decisions.dtype.type
    value = np.empty((2 * n_nodes + 1, BLOCK), decisions.dtype)
    reach = np.empty((2 * n_nodes + 1, BLOCK), decisions.dtype)
    p_right = np.empty((n_nodes, BLOCK), decisions.dtype)
    norm = np.empty((2 * n_nodes + 1 if form == SUM_GENERAL else 1, BLOCK), decisions.dtype)
    one = dtype(1.0)
    half = dtype(0.5)
    value[:] = 0
    p_right[:] = 0
    for first in range(0, batch, BLOCK):
        rows = min(BLOCK, batch - first)
        _branch_probabilities(decisions, first, rows, form, p_right, norm)
        for j in range(rows):
            for leaf in range(n_nodes + 1):
                value[n_nodes + leaf, j] = leaf_scores[first + j, leaf]
        for n in range(n_nodes - 1, -1, -1):
            for j in range(BLOCK):
                low = value[2 * n + 1, j]
                value[n, j] = low + p_right[n, j] * (value[2 * n + 2, j] - low)
        for j in range(BLOCK):
            reach[0, j] = one
        for n in range(n_nodes):
            for j in range(BLOCK):
                passing = reach[n, j]
                right = passing * p_right[n, j]
                left = passing - right
                reach[2 * n + 2, j] = right
                reach[2 * n + 1, j] = left
                # p_right is no longer needed: its place takes the derivative.
                if form >= PRODUCT:
                    p_right[n, j] = half * passing * (value[2 * n + 2, j] - value[2 * n + 1, j])
                else:
                    mean = value[0, j]
                    p_right[n, j] = right * (value[2 * n + 2, j] - mean) - left * (
                        value[2 * n + 1, j] - mean
                    )
        for j in range(rows):
            for n in range(n_nodes):
                gradient[first + j, n] = p_right[n, j]


@njit(nogil=True, cache=True, error_model="numpy")
def leaf_probabilities(decisions, form, probabilities):
    """The soft distribution over leaves that decisions of any size define: (batch, leaves)."""
    batch, n_nodes = decisions.shape
    reach = np.empty((2 * n_nodes + 1, BLOCK), decisions.dtype)
    p_right = np.empty((n_nodes, BLOCK), decisions.dtype)
    norm = np.empty((2 * n_nodes + 1 if form == SUM_GENERAL else 1, BLOCK), decisions.dtype)
    for first in range(0, batch, BLOCK):
        rows = min(BLOCK, batch - first)
        _branch_probabilities(decisions, first, rows, form, p_right, norm)
        for j in range(rows):
            reach[0, j] = 1
            for n in range(n_nodes):
                reach[2 * n + 2, j] = reach[n, j] * p_right[n, j]
                reach[2 * n + 1, j] = reach[n, j] - reach[2 * n + 2, j]
            for leaf in range(n_nodes + 1):
                probabilities[first + j, leaf] = reach[n_nodes + leaf, j]
