"""One tree grown leaf by leaf from binned columns, the best split of all first. Compiled."""

from __future__ import annotations

import numpy as np

from dgtrees.learn._histograms import best_split, fill, leaf_value, separate
from dgtrees.tree.compiled import njit

__all__ = ["add_leaves", "grow", "route", "sum_by_leaf"]

_LEAST_GAIN = 1e-9


@njit(nogil=True, cache=True)
def _partition(bins, rows, first, last, column, bin_, room):
    """Rows of a leaf up to a bin first, the others after; where these begin."""
    middle, others = first, 0
    for i in range(first, last):
        row = rows[i]
        if bins[row, column] <= bin_:
            rows[middle] = row
            middle += 1
        else:
            room[others] = row
            others += 1
    for i in range(others):
        rows[middle + i] = room[i]
    return middle


@njit(nogil=True, cache=True)
def _total(histogram, column, n_bins, total):
    total[:] = 0.0
    for at in range(n_bins):
        for s in range(total.shape[0]):
            total[s] += histogram[column, at * total.shape[0] + s]


@njit(nogil=True, cache=True)
def _share_bounds(bounds, totals, leaf, child, sign, ridge):
    """A split on a column with a sign: no value below it may cross the middle of its two sides."""
    bounds[child] = bounds[leaf]
    if sign == 0:
        return
    low, high = bounds[leaf]
    a = leaf_value(totals[leaf, 0], totals[leaf, 1], ridge, low, high)
    b = leaf_value(totals[child, 0], totals[child, 1], ridge, low, high)
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
    bins,
    rows,
    gradient,
    curvature,
    columns,
    n_bins,
    signs,
    histograms,
    max_leaves,
    least_rows,
    ridge,
):
    """Splits of a tree: column and bin, left and right of every node, gains, bounds of leaves.

    Parameters
    ----------
    bins : uint8 (rows, columns)
    rows : int32 (rows to learn from,)
        Their order is changed.
    gradient : float32 (rows, channels)
    curvature : float32 (rows,)
    columns : int64
        Columns that may be split on, at least one.
    n_bins : int64 (columns,)
    signs : int8 (columns,)
        1 where values may only rise with a column, -1 where they may only fall, else 0.
    histograms : float32 (max_leaves, columns, bins * (channels + 1))
        Room.

    Returns
    -------
    splits (nodes, 2), children (nodes, 2) as in `tree.topology`, gains (nodes,), bounds (leaves, 2)
    """
    width, n = gradient.shape[1] + 1, rows.shape[0]
    splits, children = (
        np.empty((max_leaves - 1, 2), np.int32),
        np.empty((max_leaves - 1, 2), np.int32),
    )
    node_gains, gains = np.zeros(max_leaves - 1), np.zeros(max_leaves)
    best = np.full((max_leaves, 2), -1, np.int64)  # column and bin
    edges = np.zeros((max_leaves, 2), np.int64)  # first and last row
    above = np.full((max_leaves, 2), -1, np.int64)  # parent and side
    totals, bounds = np.zeros((max_leaves, width)), np.empty((max_leaves, 2))
    bounds[:, 0], bounds[:, 1] = -np.inf, np.inf
    room, left = np.empty(n, np.int32), np.empty(width - 1)
    edges[0, 1] = n
    fill(bins, rows, 0, n, gradient, curvature, columns, n_bins, histograms[0])
    _total(histograms[0], columns[0], n_bins[columns[0]], totals[0])
    gains[0], best[0, 0], best[0, 1] = best_split(
        histograms[0], columns, n_bins, totals[0], n, least_rows, ridge, signs, bounds[0], left
    )
    n_leaves, nodes = 1, 0
    while n_leaves < max_leaves:
        leaf = _best_leaf(gains, best, n_leaves)
        if leaf < 0:
            break
        column, bin_ = best[leaf]
        first, last = edges[leaf]
        middle = _partition(bins, rows, first, last, column, bin_, room)
        splits[nodes, 0], splits[nodes, 1], node_gains[nodes] = column, bin_, gains[leaf]
        if above[leaf, 0] >= 0:
            children[above[leaf, 0], above[leaf, 1]] = nodes
        child = n_leaves
        children[nodes, 0], children[nodes, 1] = ~leaf, ~child
        above[leaf, 0], above[leaf, 1] = nodes, 0
        above[child, 0], above[child, 1] = nodes, 1
        edges[leaf, 1], edges[child, 0], edges[child, 1] = middle, middle, last
        nodes, n_leaves = nodes + 1, n_leaves + 1
        smaller_is_child = last - middle < middle - first
        a, b = (middle, last) if smaller_is_child else (first, middle)
        fill(bins, rows, a, b, gradient, curvature, columns, n_bins, histograms[child])
        separate(histograms, leaf, child, smaller_is_child, columns, n_bins, width)
        _total(histograms[leaf], columns[0], n_bins[columns[0]], totals[leaf])
        _total(histograms[child], columns[0], n_bins[columns[0]], totals[child])
        _share_bounds(bounds, totals, leaf, child, signs[column], ridge)
        for side in (leaf, child):
            count = edges[side, 1] - edges[side, 0]
            best[side, 0] = -1
            if count >= 2 * least_rows and n_leaves < max_leaves:
                gains[side], best[side, 0], best[side, 1] = best_split(
                    histograms[side], columns, n_bins, totals[side], count, least_rows, ridge,
                    signs, bounds[side], left,
                )  # fmt: skip
    return splits[:nodes], children[:nodes], node_gains[:nodes], bounds[:n_leaves]


@njit(nogil=True, cache=True)
def route(bins, splits, children, leaves):
    """Leaf of every row, to leaves (rows,)."""
    if splits.shape[0] == 0:
        leaves[:] = 0
        return
    for row in range(bins.shape[0]):
        node = 0
        while node >= 0:
            goes_right = np.intp(bins[row, splits[node, 0]] > splits[node, 1])
            node = children[node, goes_right]
        leaves[row] = ~node


@njit(nogil=True, cache=True)
def sum_by_leaf(leaves, rows, values, sums):
    """Sums of values (all rows, width) of some rows by their leaf, to sums (leaves, width)."""
    sums[:] = 0.0
    for i in range(rows.shape[0]):
        row = rows[i]
        for k in range(values.shape[1]):
            sums[leaves[row], k] += values[row, k]


@njit(nogil=True, cache=True)
def add_leaves(scores, leaves, values):
    """Add to all rows' scores (rows, outputs) the values (leaves, outputs) of their leaves."""
    for row in range(scores.shape[0]):
        for k in range(scores.shape[1]):
            scores[row, k] += values[leaves[row], k]
