"""One tree grown leaf by leaf from binned columns, the best split of all first. Compiled."""

from __future__ import annotations

import numpy as np

from dgtrees.learn._histograms import best_split, fill, leaf_value, separate
from dgtrees.learn._scan import ONE, WIDTH
from dgtrees.tree.compiled import njit

__all__ = ["add_by_leaf", "grow", "sum_by_leaf"]

_LEAST_GAIN = 1e-12
"""Of splits, in units of what a leaf of all gradients of one sign would gain."""


@njit(nogil=True, cache=True, apart=True)
def _partition(bins, rows, first, last, column, bin_, room):
    """Rows of a leaf up to a bin first, the others after; where these begin."""
    # Without a branch on where a row goes, which nobody could predict.
    middle, others = np.uint64(first), np.uint64(0)
    for i in range(np.uint64(first), np.uint64(last)):
        row = rows[i]
        right = np.uint64(bins[np.uint64(row), np.uint64(column)] > bin_)
        rows[middle] = row
        room[others] = row
        middle += np.uint64(1) - right
        others += right
    for i in range(others):
        rows[middle + i] = room[i]
    return np.int64(middle)


@njit(nogil=True, cache=True)
def _share_bounds(bounds, totals, leaf, child, sign, ridge):
    """A split on a column with a sign: no value below it may cross the middle of its two sides."""
    low, high = bounds[leaf, 0], bounds[leaf, 1]
    bounds[child, 0], bounds[child, 1] = low, high
    if sign == 0:
        return
    a = leaf_value(totals[leaf, 0] / ONE, totals[leaf, 1] / ONE, ridge, low, high)
    b = leaf_value(totals[child, 0] / ONE, totals[child, 1] / ONE, ridge, low, high)
    middle = 0.5 * (a + b)
    if sign > 0:
        bounds[leaf, 1] = bounds[child, 0] = middle
    else:
        bounds[leaf, 0] = bounds[child, 1] = middle


@njit(nogil=True, cache=True)
def _best_leaf(gains, split, n_leaves):
    leaf, gain = -1, _LEAST_GAIN
    for i in range(n_leaves):
        if split[i, 0] >= 0 and gains[i] > gain:
            leaf, gain = i, gains[i]
    return leaf


@njit(nogil=True, cache=True)
def grow(
    bins, rows, others, packed, base, groups, n_bins, signs, sums, max_leaves, least_rows, ridge
):  # fmt: skip
    """Splits of a tree: column and bin, left and right of every node, gains, bounds of leaves.

    Parameters
    ----------
    bins : uint8 (all rows, columns)
    rows : int32 (rows to learn from,)
        Sorted by leaf afterwards.
    others : int32 (other rows,)
        The same; they count for nothing.
    packed : int64 (all rows, words)
        Gradients and curvature as `pack` makes them, and so is their unit.
    base, groups
        `layout` of the columns.
    n_bins : int64 (columns,)
    signs : int8 (columns,)
        1 where values may only rise with a column, -1 where they may only fall, else 0.
    sums : int64 (max_leaves, size)
        Room.
    ridge : float
        In units of the rows' curvature.

    Returns
    -------
    splits (nodes, 2), children (nodes, 2) as in `tree.topology`, gains (nodes,), bounds (leaves, 2)
    edges (leaves, 4) : the rows of a leaf are rows[edges[leaf, 0] : edges[leaf, 1]], and
        others[edges[leaf, 2] : edges[leaf, 3]]
    totals (leaves, 2 * words) : sums of gradients and curvature
    """
    words, n = packed.shape[1], rows.shape[0]
    splits = np.empty((max_leaves - 1, 2), np.int32)
    children = np.empty((max_leaves - 1, 2), np.int32)
    node_gains, gains = np.zeros(max_leaves - 1), np.zeros(max_leaves)
    best = np.full((max_leaves, 2), -1, np.int64)  # column and bin
    edges = np.zeros((max_leaves, 4), np.int64)
    above = np.full((max_leaves, 2), -1, np.int64)  # parent and side
    totals = np.zeros((max_leaves, 2 * words), np.int64)
    lefts = np.zeros((max_leaves, 2 * words), np.int64)
    bounds = np.empty((max_leaves, 2))
    bounds[:, 0], bounds[:, 1] = -np.inf, np.inf
    room = np.empty(max(n, others.shape[0]) + 1, np.int32)
    shares = np.empty(2 * words, np.float32)
    running, found = np.empty(2 * WIDTH * words, np.int32), np.empty(2 * WIDTH, np.float32)
    edges[0, 1], edges[0, 3] = n, others.shape[0]
    fill(bins, rows, 0, n, packed, base, sums[0])
    for i in range(n):
        for w in range(words):
            low = np.int64(np.int32(packed[rows[i], w] & 0xFFFFFFFF))
            totals[0, 2 * w] += (packed[rows[i], w] - low) >> 32
            totals[0, 2 * w + 1] += low
    gains[0], best[0, 0], best[0, 1] = best_split(
        sums[0], base, groups, n_bins, totals[0], n, least_rows, ridge, signs, bounds[0],
        lefts[0], shares, running, found,
    )  # fmt: skip
    n_leaves, nodes = 1, 0
    while n_leaves < max_leaves:
        leaf = _best_leaf(gains, best, n_leaves)
        if leaf < 0:
            break
        child = n_leaves
        column, bin_ = best[leaf]
        first, last = edges[leaf, 0], edges[leaf, 1]
        middle = _partition(bins, rows, first, last, column, bin_, room)
        edges[child, 3] = edges[leaf, 3]
        cut = _partition(bins, others, edges[leaf, 2], edges[leaf, 3], column, bin_, room)
        edges[leaf, 3] = edges[child, 2] = cut
        splits[nodes, 0], splits[nodes, 1], node_gains[nodes] = column, bin_, gains[leaf]
        if above[leaf, 0] >= 0:
            children[above[leaf, 0], above[leaf, 1]] = nodes
        children[nodes, 0], children[nodes, 1] = ~leaf, ~child
        above[leaf, 0], above[leaf, 1] = nodes, 0
        above[child, 0], above[child, 1] = nodes, 1
        edges[leaf, 1], edges[child, 0], edges[child, 1] = middle, middle, last
        nodes, n_leaves = nodes + 1, n_leaves + 1
        for k in range(2 * words):
            totals[child, k] = totals[leaf, k] - lefts[leaf, k]
            totals[leaf, k] = lefts[leaf, k]
        _share_bounds(bounds, totals, leaf, child, signs[column], ridge)
        best[leaf, 0] = best[child, 0] = -1
        larger = max(middle - first, last - middle)
        if n_leaves == max_leaves or larger < 2 * least_rows:
            continue  # nothing below will be split
        smaller_is_child = last - middle < middle - first
        a, b = (middle, last) if smaller_is_child else (first, middle)
        fill(bins, rows, a, b, packed, base, sums[child])
        separate(sums[leaf], sums[child], smaller_is_child)
        for side in (leaf, child):
            count = edges[side, 1] - edges[side, 0]
            if count >= 2 * least_rows:
                gains[side], best[side, 0], best[side, 1] = best_split(
                    sums[side], base, groups, n_bins, totals[side], count, least_rows, ridge,
                    signs, bounds[side], lefts[side], shares, running, found,
                )  # fmt: skip
    return (
        splits[:nodes], children[:nodes], node_gains[:nodes], bounds[:n_leaves], edges[:n_leaves],
        totals[:n_leaves],
    )  # fmt: skip


@njit(nogil=True, cache=True)
def sum_by_leaf(rows, edges, side, values, sums):
    """Add the values (all rows, width) of the rows of every leaf to sums (leaves, width).

    side : 0 for rows, 2 for other rows of `grow`.
    """
    for leaf in range(edges.shape[0]):
        for i in range(edges[leaf, side], edges[leaf, side + 1]):
            for k in range(values.shape[1]):
                sums[leaf, k] += values[rows[i], k]


@njit(nogil=True, cache=True)
def add_by_leaf(scores, rows, edges, side, values):
    """Add to the rows' scores (all rows, outputs) the values (leaves, outputs) of their leaves."""
    for leaf in range(edges.shape[0]):
        for i in range(edges[leaf, side], edges[leaf, side + 1]):
            for k in range(scores.shape[1]):
                scores[rows[i], k] += values[leaf, k]
