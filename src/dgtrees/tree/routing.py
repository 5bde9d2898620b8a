"""Finished trees in one buffer, and the compiled loops that send rows through it.

`pack` lays trees out as one array, read as float64 and, where it holds numbers of places, as
int64: a call into compiled code costs more for every array than a short dot product, and what a
decision needs lies together. Places are counted in elements.

    0           number of trees
    1 ..        the place of each tree's root, or ``~leaf``
    then nodes, each at a multiple of 8: bias, left, right (a place, or ``~leaf``; leaves are
    numbered through all trees), and from place 8 of the node on its d weights

Rows must be finite (see `ObliqueTree`) and are independent, which is why the number of threads
cannot change a result.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dgtrees.tree.compiled import njit
from dgtrees.tree.dot import dot_at, dots_at

__all__ = [
    "all_finite",
    "all_within",
    "leaf_of_row",
    "leaves_of_finite_rows",
    "leaves_of_row",
    "leaves_of_rows",
    "linear_of_row",
    "pack",
    "sum_of_row",
    "sums_of_rows",
]

N_TREES, ROOTS = 0, 1
# Weights begin a cache line of their own, so that vector loads never touch two.
BIAS, LEFT, RIGHT, WEIGHTS = 0, 1, 2, 8

ROWS_TOGETHER = 8
"""Rows of a batch that take a decision each before any of them takes the next."""

IN_FLIGHT = 8
"""Rows that take decisions side by side where the next row replaces each that has arrived."""

ROOM = 2 * IN_FLIGHT
"""Rows on their way that there is room for."""

NARROW = 64
"""Most columns for that: rows at different depths need more nodes in the nearest cache."""

ROWS_PER_TREE = 256
"""Rows that pass one tree after the other together, so that a tree stays in the cache."""


# How trees are laid out


def pack(
    weights: Sequence[np.ndarray],
    bias: Sequence[np.ndarray],
    left: Sequence[np.ndarray],
    right: Sequence[np.ndarray],
) -> np.ndarray:
    """Trees in one buffer, from the arrays of every tree (see `ObliqueTree`)."""
    d = weights[0].shape[1]
    size = _round_up(WEIGHTS + d)
    head = _round_up(ROOTS + len(weights))
    buffer = _aligned_zeros(head + size * sum(len(tree) for tree in weights))
    places = buffer.view(np.int64)
    places[N_TREES] = len(weights)
    first, first_leaf = head, 0
    for number, nodes in enumerate(weights):
        at = first + size * np.arange(len(nodes))  # where every node begins
        places[ROOTS + number] = first if len(at) else ~first_leaf
        buffer[at + BIAS] = bias[number]
        for side, children in ((LEFT, left[number]), (RIGHT, right[number])):
            is_leaf = children < 0
            places[at[is_leaf] + side] = children[is_leaf].astype(np.int64) - first_leaf
            places[at[~is_leaf] + side] = at[children[~is_leaf]]
        last = first + size * len(nodes)
        buffer[first:last].reshape(len(nodes), size)[:, WEIGHTS : WEIGHTS + d] = nodes
        first, first_leaf = last, first_leaf + len(nodes) + 1
    return buffer


def _round_up(size: int) -> int:
    return -(-size // 8) * 8


def _aligned_zeros(size: int) -> np.ndarray:
    """Zeros from the start of a cache line on: vector loads then never touch two of them."""
    buffer = np.zeros(size + 8)
    start = -(buffer.ctypes.data // 8) % 8
    return buffer[start : start + size]


# How rows go through them


@njit(nogil=True, cache=True)
def _move(row, node, total, still, trees, places, at, rows, base, leaves):
    """Take a row to the child that its dot product points to; how many are on their way then.

    Without a branch on the outcome of the decision, which nobody could predict.
    """
    child = places[node + LEFT + (total + trees[node + BIAS] >= 0.0)]
    leaves[row - base] = ~child  # final when it is one
    at[still], rows[still] = child, row
    return still + (child >= 0)


@njit(nogil=True, cache=True)
def _route_together(x, stride, d, going, base, trees, places, at, rows, leaves):
    """Take several rows to their leaves; all take one decision, then all the next.

    Row rows[i] begins at rows[i] * stride in x and has come to the node at[i], i < going;
    its leaf is written to leaves[rows[i] - base]. Four are decided side by side; a row that has
    arrived drops out. Returns 0 if all dot products are finite, and NaN if not.
    """
    doubt = 0.0
    while going:
        still = 0
        for i in range(0, going - 3, 4):
            n0, n1, n2, n3 = at[i], at[i + 1], at[i + 2], at[i + 3]
            r0, r1, r2, r3 = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
            nodes = (n0 + WEIGHTS, n1 + WEIGHTS, n2 + WEIGHTS, n3 + WEIGHTS)
            starts = (r0 * stride, r1 * stride, r2 * stride, r3 * stride)
            totals = dots_at(trees, nodes, x, starts, d)
            doubt += 0.0 * (totals[0] + totals[1] + (totals[2] + totals[3]))
            still = _move(r0, n0, totals[0], still, trees, places, at, rows, base, leaves)
            still = _move(r1, n1, totals[1], still, trees, places, at, rows, base, leaves)
            still = _move(r2, n2, totals[2], still, trees, places, at, rows, base, leaves)
            still = _move(r3, n3, totals[3], still, trees, places, at, rows, base, leaves)
        for i in range(going & ~3, going):
            row, node = rows[i], at[i]
            total = dot_at(trees, node + WEIGHTS, x, row * stride, d)
            doubt += 0.0 * total
            still = _move(row, node, total, still, trees, places, at, rows, base, leaves)
        going = still
    return doubt


@njit(nogil=True, cache=True)
def _replaced(row, node, total, following, root, base, trees, places, leaves):
    """Where a row has come to, or the row `following` at the root where it has arrived.

    Returns row, node, and which row follows then; without a branch, as `_move`.
    """
    child = places[node + LEFT + (total + trees[node + BIAS] >= 0.0)]
    leaves[row - base] = ~child
    arrived = child < 0
    return following if arrived else row, root if arrived else child, following + arrived


@njit(nogil=True, cache=True)
def _route_in_turns(X, first, last, root, trees, places, at, rows, leaves):
    """Take rows to their leaves, IN_FLIGHT at a time, until there are too few to replace them all.

    Returns how many are on their way or have not begun, to `at` and `rows` for `_route_together`,
    and the doubt that it returns.
    """
    d, doubt, following = X.shape[1], 0.0, first + IN_FLIGHT
    r0, r1, r2, r3 = first, first + 1, first + 2, first + 3
    r4, r5, r6, r7 = first + 4, first + 5, first + 6, first + 7
    n0 = n1 = n2 = n3 = n4 = n5 = n6 = n7 = root
    while following <= last - IN_FLIGHT:
        w = WEIGHTS
        nodes = (n0 + w, n1 + w, n2 + w, n3 + w, n4 + w, n5 + w, n6 + w, n7 + w)
        starts = (r0 * d, r1 * d, r2 * d, r3 * d, r4 * d, r5 * d, r6 * d, r7 * d)
        t = dots_at(trees, nodes, X, starts, d)
        doubt += 0.0 * (t[0] + t[1] + (t[2] + t[3]) + (t[4] + t[5] + (t[6] + t[7])))
        follow = following
        r0, n0, follow = _replaced(r0, n0, t[0], follow, root, first, trees, places, leaves)
        r1, n1, follow = _replaced(r1, n1, t[1], follow, root, first, trees, places, leaves)
        r2, n2, follow = _replaced(r2, n2, t[2], follow, root, first, trees, places, leaves)
        r3, n3, follow = _replaced(r3, n3, t[3], follow, root, first, trees, places, leaves)
        r4, n4, follow = _replaced(r4, n4, t[4], follow, root, first, trees, places, leaves)
        r5, n5, follow = _replaced(r5, n5, t[5], follow, root, first, trees, places, leaves)
        r6, n6, follow = _replaced(r6, n6, t[6], follow, root, first, trees, places, leaves)
        r7, n7, follow = _replaced(r7, n7, t[7], follow, root, first, trees, places, leaves)
        following = follow
    at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7] = n0, n1, n2, n3, n4, n5, n6, n7
    rows[0], rows[1], rows[2], rows[3] = r0, r1, r2, r3
    rows[4], rows[5], rows[6], rows[7] = r4, r5, r6, r7
    going = IN_FLIGHT
    for row in range(following, last):
        at[going], rows[going] = root, row
        going += 1
    return going, doubt


@njit(nogil=True, cache=True, apart=True)
def _rows_through_tree(X, first, last, tree, trees, places, at, rows, leaves):
    """Leaves of the rows first .. last - 1 in one tree; 0 if all their numbers must be finite.

    A missing or infinite number makes a dot product so, whatever its weight is. NaN says that one
    is, that finite numbers were too large, or that there was no dot product to tell.
    """
    d, root = X.shape[1], places[ROOTS + tree]
    if root < 0:  # a tree of one leaf
        for i in range(last - first):
            leaves[i] = ~root
        return np.nan
    doubt = 0.0
    if d <= NARROW and last - first >= 2 * IN_FLIGHT:
        going, doubt = _route_in_turns(X, first, last, root, trees, places, at, rows, leaves)
        return doubt + _route_together(X, d, d, going, first, trees, places, at, rows, leaves)
    for start in range(first, last, ROWS_TOGETHER):
        going = min(ROWS_TOGETHER, last - start)
        for i in range(going):
            at[i], rows[i] = root, start + i
        doubt += _route_together(X, d, d, going, first, trees, places, at, rows, leaves)
    return doubt


@njit(nogil=True, cache=True)
def leaves_of_rows(X, start, stop, trees, leaves):
    """Leaf of the rows start .. stop - 1 of X in every tree, to leaves (rows, trees)."""
    places = trees.view(np.int64)
    at, rows = np.empty(ROOM, np.int64), np.empty(ROOM, np.int64)
    found = np.empty(ROWS_PER_TREE, np.int32)
    for first in range(start, stop, ROWS_PER_TREE):
        last = min(first + ROWS_PER_TREE, stop)
        for tree in range(leaves.shape[1]):
            _rows_through_tree(X, first, last, tree, trees, places, at, rows, found)
            for row in range(first, last):
                leaves[row, tree] = found[row - first]


@njit(nogil=True, cache=True)
def sums_of_rows(X, start, stop, trees, leaf_values, outputs):
    """Sum over trees of the reached leaves' values, added in order."""
    places = trees.view(np.int64)
    n_trees, d, width = places[N_TREES], X.shape[1], outputs.shape[1]
    at, rows = np.empty(ROOM, np.int64), np.empty(ROOM, np.int64)
    found = np.empty(ROWS_PER_TREE, np.int32)
    wide = np.empty((ROWS_PER_TREE, d))  # float32 becomes float64 once, not once a tree
    for first in range(start, stop, ROWS_PER_TREE):
        count = min(ROWS_PER_TREE, stop - first)
        for i in range(count):
            for j in range(d):
                wide[i, j] = X[first + i, j]
            for k in range(width):
                outputs[first + i, k] = 0.0
        for tree in range(n_trees):
            _rows_through_tree(wide, 0, count, tree, trees, places, at, rows, found)
            for i in range(count):
                for k in range(width):
                    outputs[first + i, k] += leaf_values[found[i], k]


@njit(nogil=True, cache=True)
def all_finite(x):
    """Whether a row holds neither NaN nor infinity."""
    bad = 0
    for i in range(x.shape[0]):
        bad += not np.isfinite(x[i])  # no early exit: this way it is a vector instruction
    return bad == 0


@njit(nogil=True, cache=True)
def leaves_of_finite_rows(X, start, stop, trees, leaves):
    """`leaves_of_rows` in the first tree if all numbers are finite, and whether they are.

    Numbers are looked at only where dot products leave a doubt.
    """
    places, numbers, d = trees.view(np.int64), X.reshape(-1), X.shape[1]
    at, rows = np.empty(ROOM, np.int64), np.empty(ROOM, np.int64)
    found = leaves.reshape(-1)
    for first in range(start, stop, ROWS_PER_TREE):
        last = min(first + ROWS_PER_TREE, stop)
        own = found[first:last]
        doubt = _rows_through_tree(X, first, last, 0, trees, places, at, rows, own)
        if doubt != 0.0 and not all_finite(numbers[first * d : last * d]):
            return False
    return True


@njit(nogil=True, cache=True)
def all_within(x, low, high):
    """Whether all numbers of a row lie between two others each; NaN does not."""
    bad = 0
    for i in range(x.shape[0]):
        bad += not (low[i] <= x[i] <= high[i])
    return bad == 0


@njit(nogil=True, cache=True)
def leaf_of_row(x, trees):
    """Leaf of one row in the first tree."""
    places = trees.view(np.int64)
    node = places[ROOTS]
    while node >= 0:
        total = dot_at(trees, node + WEIGHTS, x, 0, x.shape[0])
        node = places[node + (RIGHT if total + trees[node + BIAS] >= 0.0 else LEFT)]
    return ~node


@njit(nogil=True, cache=True)
def linear_of_row(x, trees, leaf_values, leaf_weights, output):
    """Output of one row's linear leaf in the first tree."""
    leaf, d, width = leaf_of_row(x, trees), x.shape[0], output.shape[0]
    for k in range(width):
        slope = dot_at(leaf_weights, (leaf * width + k) * d, x, 0, d)
        output[k] = leaf_values[leaf, k] + slope


@njit(nogil=True, cache=True)
def leaves_of_row(x, trees, leaves):
    """Leaf of one row in every tree: the trees take the place that rows have in a batch."""
    places = trees.view(np.int64)
    d, n_trees = x.shape[0], places[N_TREES]
    at, tree_at = np.empty(n_trees, np.int64), np.empty(n_trees, np.int64)
    going = 0
    for tree in range(n_trees):
        root = places[ROOTS + tree]
        if root < 0:  # a tree of one leaf
            leaves[tree] = ~root
        else:
            at[going], tree_at[going] = root, tree
            going += 1
    _route_together(x, 0, d, going, 0, trees, places, at, tree_at, leaves)


@njit(nogil=True, cache=True)
def sum_of_row(x, trees, leaf_values, output):
    """`sums_of_rows` for one row."""
    n_trees = trees.view(np.int64)[N_TREES]
    leaves = np.empty(n_trees, np.int32)
    leaves_of_row(x, trees, leaves)
    for k in range(output.shape[0]):
        output[k] = 0.0
    for tree in range(n_trees):
        for k in range(output.shape[0]):
            output[k] += leaf_values[leaves[tree], k]
