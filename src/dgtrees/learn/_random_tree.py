"""One tree of a forest, grown from random splits until leaves agree or are small. Compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dgtrees.learn._random_splits import find_split, open_room
from dgtrees.tree.compiled import njit

__all__ = ["Nodes", "grow"]


class Nodes(NamedTuple):
    """A grown tree: nodes as in `tree.ObliqueTree`; what its leaves hold, and columns have gained.

    `sums` (leaves, outputs) are of targets, or of the mass of every class, and `mass` (leaves,).
    """

    weights: np.ndarray
    bias: np.ndarray
    left: np.ndarray
    right: np.ndarray
    sums: np.ndarray
    mass: np.ndarray
    gains: np.ndarray


@njit(nogil=True, cache=True)
def grow(sample, splitting, rows, max_leaves, table):
    """Grow a tree from the rows numbered in `rows` (int32), whose order is changed.

    With fewer leaves than rows, the split that gains most comes first. `table` is a room's.
    """
    room = open_room(table)
    d, n, most = sample.X.shape[0], rows.shape[0], min(max_leaves, rows.shape[0])
    width = room.slope.shape[0]
    weights, bias = np.zeros((most - 1, d)), np.zeros(most - 1)
    children = np.zeros((2, most - 1), np.int32)
    edges, above = np.zeros((most, 2), np.int64), np.full((most, 2), -1, np.int64)
    gain, threshold = np.zeros(most), np.zeros(most)
    size, column = np.zeros(most, np.int64), np.zeros((most, width), np.int64)
    weight, gains = np.zeros((most, width)), np.zeros(d)
    open_, spare = np.zeros(most, np.int64), np.empty(n, np.int32)
    edges[0, 1] = n
    gain[0], threshold[0], size[0] = find_split(
        sample, splitting, rows, 0, n, room, column[0], weight[0]
    )
    leaves, nodes, waiting = 1, 0, np.int64(size[0] > 0)
    while waiting > 0 and leaves < most:
        at = _next(open_, waiting, gain, max_leaves < n)
        leaf = open_[at]
        waiting -= 1
        open_[at] = open_[waiting]
        middle = _separate(
            sample.X, rows, edges[leaf], column[leaf], weight[leaf], size[leaf], threshold[leaf],
            spare,
        )  # fmt: skip
        _write(weights[nodes], gains, column[leaf], weight[leaf], size[leaf], gain[leaf])
        bias[nodes] = -threshold[leaf]
        if above[leaf, 0] >= 0:
            children[above[leaf, 1], above[leaf, 0]] = nodes
        other = leaves
        for side, which in ((0, leaf), (1, other)):
            children[side, nodes] = ~which
            above[which, 0], above[which, 1] = nodes, side
        edges[other, 0], edges[other, 1] = middle, edges[leaf, 1]
        edges[leaf, 1] = middle
        nodes, leaves = nodes + 1, leaves + 1
        for which in (leaf, other):
            gain[which], threshold[which], size[which] = find_split(
                sample, splitting, rows, edges[which, 0], edges[which, 1], room, column[which],
                weight[which],
            )  # fmt: skip
            if size[which] > 0:
                open_[waiting] = which
                waiting += 1
    sums, mass = _sums(sample, rows, edges[:leaves], room.total.shape[0])
    return Nodes(
        weights[:nodes], bias[:nodes], children[0, :nodes], children[1, :nodes], sums, mass, gains
    )


@njit(nogil=True, cache=True)
def _next(open_, waiting, gain, best_first):
    """Place of the leaf to split next: the one that gains most, or just the last."""
    at = waiting - 1
    if best_first:
        for i in range(waiting):
            if gain[open_[i]] > gain[open_[at]]:
                at = i
    return at


@njit(nogil=True, cache=True)
def _separate(X, rows, edges, column, weight, size, threshold, spare):
    """Rows of a leaf below the threshold first, the others after; where these begin."""
    middle, others = edges[0], 0
    for i in range(edges[0], edges[1]):
        row, x = rows[i], 0.0
        for p in range(size):
            x += weight[p] * X[column[p], row]
        # As it was when the threshold was chosen.
        if np.float32(x) < threshold:
            rows[middle] = row
            middle += 1
        else:
            spare[others] = row
            others += 1
    for i in range(others):
        rows[middle + i] = spare[i]
    return middle


@njit(nogil=True, cache=True)
def _write(node, gains, column, weight, size, gain):
    """A split as a node's weights, and its gain shared out by the size of these."""
    total = 0.0
    for p in range(size):
        node[column[p]] = weight[p]
        total += abs(weight[p])
    for p in range(size):
        gains[column[p]] += max(gain, 0.0) * abs(weight[p]) / total


@njit(nogil=True, cache=True)
def _sums(sample, rows, edges, outputs):
    sums, mass = np.zeros((edges.shape[0], outputs)), np.zeros(edges.shape[0])
    for leaf in range(edges.shape[0]):
        for i in range(edges[leaf, 0], edges[leaf, 1]):
            row = rows[i]
            mass[leaf] += sample.weight[row]
            if sample.classes:
                sums[leaf, sample.label[row]] += sample.weight[row]
            else:
                for k in range(outputs):
                    sums[leaf, k] += sample.weight[row] * sample.target[row, k]
    return sums, mass
