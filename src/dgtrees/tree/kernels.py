"""Every compiled loop of the library: routing rows to leaves, and the tree gradient.

The functions here take plain arrays whose dtypes and shapes their callers have already checked,
write into arrays they are given, and never allocate per row. All of them release the GIL, so
threads are the callers' business (`oblique.py` splits batches over threads; the rows are
independent, which is why the number of threads cannot change a result).

Two numerical rules hold throughout:

* A dot product adds in one fixed order: eight running sums over the features 0, 8, 16, ..;
  1, 9, 17, ..; and so on, accumulated in float64, folded by halves, then the remaining
  features one by one. No fused multiply-add, no reassociation. A row therefore reaches the same
  leaf alone, in a batch, in float32 or float64 storage, and in exported code.
* Ties go right: w.x + b >= 0.

Symbols of the paper: ``decisions`` holds the quantized sgn(a_n); ``value[n]`` is the expected
leaf score below node n, ``reach[n]`` the soft probability of arriving there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

__all__ = [
    "LANES",
    "PRODUCT",
    "SUM_EQUAL",
    "SUM_GENERAL",
    "column_sums_by_leaf",
    "dot",
    "forest_leaves",
    "forest_means",
    "hard_sign",
    "leaf_of_decisions",
    "leaf_probabilities",
    "linear_outputs",
    "route_from",
    "route_row",
    "route_rows",
    "route_rows_from",
    "straight_through",
    "tree_gradient",
]

LANES = 8
"""Running sums of one dot product; part of the file format's meaning, never change it."""

BLOCK = 16
"""Rows the gradient handles side by side, so that its inner loops become vector instructions."""

FOREST_ROWS = 64
"""Rows that pass one tree after the other together, so that a tree stays in the cache."""

# How decisions combine along a path.
SUM_EQUAL = 0  # soft-max of the sum of decisions that all have one magnitude
SUM_GENERAL = 1  # soft-max of the sum of decisions of any magnitude
PRODUCT = 2  # product of (1 + decision) / 2


@intrinsic
def _lane_dot(_typing: Any, w: Any, x: Any, stop: Any) -> Any:
    """Sum w[i] * x[i] for i < stop (a multiple of LANES) with LANES running float64 sums.

    Written as LLVM vectors because the compiler may not reorder floating-point sums by itself,
    and a scalar loop is two to three times slower.
    """
    signature = types.float64(w, x, types.intp)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        double = ir.DoubleType()
        vector = ir.VectorType(double, LANES)
        stop = args[2]

        def pointer(k: int) -> Any:
            array = context.make_array(signature.args[k])(context, builder, args[k])
            return array.data, context.get_value_type(signature.args[k].dtype)

        def load(data: Any, element: Any, i: Any) -> Any:
            address = builder.gep(data, [i])
            address = builder.bitcast(address, ir.VectorType(element, LANES).as_pointer())
            value = builder.load(address)
            value.align = 8 if element == double else 4
            return value if element == double else builder.fpext(value, vector)

        w_data, w_type = pointer(0)
        x_data, x_type = pointer(1)
        entry = builder.block
        head = builder.append_basic_block("dot_head")
        body = builder.append_basic_block("dot_body")
        done = builder.append_basic_block("dot_done")
        builder.branch(head)

        builder.position_at_end(head)
        i = builder.phi(stop.type)
        total = builder.phi(vector)
        i.add_incoming(ir.Constant(stop.type, 0), entry)
        total.add_incoming(ir.Constant(vector, [0.0] * LANES), entry)
        builder.cbranch(builder.icmp_signed("<", i, stop), body, done)

        builder.position_at_end(body)
        product = builder.fmul(load(w_data, w_type, i), load(x_data, x_type, i))
        i.add_incoming(builder.add(i, ir.Constant(stop.type, LANES)), body)
        total.add_incoming(builder.fadd(total, product), body)
        builder.branch(head)

        builder.position_at_end(done)
        lane = ir.IntType(32)
        sums = [builder.extract_element(total, ir.Constant(lane, j)) for j in range(LANES)]
        while len(sums) > 1:
            half = len(sums) // 2
            sums = [builder.fadd(sums[j], sums[j + half]) for j in range(half)]
        return sums[0]

    return signature, codegen


@njit(nogil=True, cache=True)
def dot(w, x):
    """Dot product of two contiguous vectors in the one fixed order (see the module docstring)."""
    stop = w.shape[0] - w.shape[0] % LANES
    total = _lane_dot(w, x, stop)  # type: ignore[call-arg, var-annotated]
    for i in range(stop, w.shape[0]):
        total += w[i] * x[i]
    return total


@njit(nogil=True, cache=True)
def route_from(x, node, weights, bias, left, right):
    """Leaf of one row that sets out at `node`, which may be a ``~leaf`` already."""
    while node >= 0:
        node = right[node] if dot(weights[node], x) + bias[node] >= 0.0 else left[node]
    return ~node


@njit(nogil=True, cache=True)
def route_row(x, weights, bias, left, right):
    """Leaf of one row: a dot product for every node on the path and for no other."""
    return route_from(x, 0 if weights.shape[0] else ~0, weights, bias, left, right)


@njit(nogil=True, cache=True)
def route_rows(X, start, stop, weights, bias, left, right, leaves):
    """Leaf of the rows start .. stop - 1 of X, written to `leaves`."""
    for row in range(start, stop):
        leaves[row] = route_row(X[row], weights, bias, left, right)


@njit(nogil=True, cache=True)
def route_rows_from(X, rows, starts, weights, bias, left, right, leaves):
    """Leaf of row rows[i] of X when it sets out at starts[i], a node or ``~leaf``."""
    for i in range(rows.shape[0]):
        leaves[i] = route_from(X[rows[i]], starts[i], weights, bias, left, right)


@njit(nogil=True, cache=True)
def linear_outputs(X, start, stop, leaves, leaf_values, leaf_weights, outputs):
    """leaf_values[leaf] + leaf_weights[leaf] @ x for the rows start .. stop - 1."""
    for row in range(start, stop):
        leaf = leaves[row]
        for k in range(leaf_values.shape[1]):
            outputs[row, k] = leaf_values[leaf, k] + dot(leaf_weights[leaf, k], X[row])


@njit(nogil=True, cache=True)
def forest_leaves(X, start, stop, roots, weights, bias, left, right, leaves):
    """Leaf of the rows start .. stop - 1 in every tree, as a number among all trees' leaves.

    Trees lie one after the other in the arrays and begin at `roots`, a node or ``~leaf``.
    """
    for first in range(start, stop, FOREST_ROWS):
        for tree in range(roots.shape[0]):
            for row in range(first, min(first + FOREST_ROWS, stop)):
                leaves[row, tree] = route_from(X[row], roots[tree], weights, bias, left, right)


@njit(nogil=True, cache=True)
def forest_means(X, start, stop, roots, weights, bias, left, right, leaf_values, outputs):
    """Mean over trees of the reached leaves' values; trees are added in order."""
    trees = roots.shape[0]
    for first in range(start, stop, FOREST_ROWS):
        last = min(first + FOREST_ROWS, stop)
        for row in range(first, last):
            for k in range(outputs.shape[1]):
                outputs[row, k] = 0.0
        for tree in range(trees):
            for row in range(first, last):
                leaf = route_from(X[row], roots[tree], weights, bias, left, right)
                for k in range(outputs.shape[1]):
                    outputs[row, k] += leaf_values[leaf, k]
        for row in range(first, last):
            for k in range(outputs.shape[1]):
                outputs[row, k] /= trees


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
def _branch_probabilities(decisions, row, rows, form, p_right, log_norm):
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
    else:
        for n in range(n_nodes, 2 * n_nodes + 1):
            for j in range(rows):
                log_norm[n, j] = 0.0
        for n in range(n_nodes - 1, -1, -1):
            for j in range(rows):
                # p_right = e^d z_right / (e^d z_right + e^-d z_left), z the soft-max norm below.
                gap = 2.0 * decisions[row + j, n] + log_norm[2 * n + 2, j] - log_norm[2 * n + 1, j]
                p_right[n, j] = 1.0 / (1.0 + np.exp(-gap))
                # log(z_left e^-d + z_right e^d), computed from its larger term.
                larger = max(gap, 0.0) + np.log1p(np.exp(-abs(gap)))
                log_norm[n, j] = larger + log_norm[2 * n + 1, j] - decisions[row + j, n]


@njit(nogil=True, cache=True, error_model="numpy")
def tree_gradient(decisions, leaf_scores, form, gradient):
    """Derivative of sum_l q_l * leaf_scores[:, l] with respect to every decision.

    The closed form of Algorithm 2: q is the soft distribution over leaves that the decisions of
    a complete tree define, and with V(n) the mean score below n, C = V(root) and reach(n) the
    probability of passing n,

        sum form:      d/d decision_n = reach(n) (p_right (V(right) - C) - p_left (V(left) - C))
        product form:  d/d decision_n = reach(n) (V(right) - V(left)) / 2

    Parameters are (batch, nodes), (batch, leaves), a form constant and the (batch, nodes) result.
    Two sweeps over the tree, no matrix of leaves by leaves.
    """
    batch, n_nodes = decisions.shape
    dtype = decisions.dtype.type
    value = np.empty((2 * n_nodes + 1, BLOCK), decisions.dtype)
    reach = np.empty((2 * n_nodes + 1, BLOCK), decisions.dtype)
    p_right = np.empty((n_nodes, BLOCK), decisions.dtype)
    log_norm = np.empty((2 * n_nodes + 1 if form == SUM_GENERAL else 1, BLOCK), np.float64)
    one = dtype(1.0)
    half = dtype(0.5)
    value[:] = 0
    p_right[:] = 0
    for first in range(0, batch, BLOCK):
        rows = min(BLOCK, batch - first)
        _branch_probabilities(decisions, first, rows, form, p_right, log_norm)
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
                if form == PRODUCT:
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
    log_norm = np.empty((2 * n_nodes + 1 if form == SUM_GENERAL else 1, BLOCK), np.float64)
    for first in range(0, batch, BLOCK):
        rows = min(BLOCK, batch - first)
        _branch_probabilities(decisions, first, rows, form, p_right, log_norm)
        for j in range(rows):
            reach[0, j] = 1
            for n in range(n_nodes):
                reach[2 * n + 2, j] = reach[n, j] * p_right[n, j]
                reach[2 * n + 1, j] = reach[n, j] - reach[2 * n + 2, j]
            for leaf in range(n_nodes + 1):
                probabilities[first + j, leaf] = reach[n_nodes + leaf, j]
