"""Sums of gradients by column and bin, and the split that they favour. Compiled.

Gradients and curvature are whole numbers, so that sums are the same in any order, and a leaf's are
exactly its parent's less its sibling's. `pack` turns them into 64-bit words, two numbers each: the
first gradient and, below it, the curvature; then two further gradients each. Columns lie in groups
of sixteen, as `layout` says and `_scan` reads them. Rows are named by their numbers;
`rows[first:last]` are those of a leaf.
"""

from __future__ import annotations

import numpy as np

from dgtrees.learn._scan import ONE, WIDTH, scan_group
from dgtrees.tree.compiled import njit

__all__ = ["best_split", "fill", "layout", "leaf_value", "pack", "separate", "split_sums"]


def layout(n_bins: np.ndarray, words: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Where the sums of columns lie: columns of about as many bins together.

    Returns
    -------
    base : uint64 (columns,)
        Place of every column's first bin.
    groups : int64 (groups, 18)
        First place, bins, and the columns of every group, -1 for none.
    int
        Size of all.
    """
    order = np.argsort(-n_bins, kind="stable")
    base = np.empty(len(n_bins), np.uint64)
    groups = np.full((-(-len(n_bins) // WIDTH), 2 + WIDTH), -1, np.int64)
    size = 0
    for number, group in enumerate(groups):
        columns = order[number * WIDTH : (number + 1) * WIDTH]
        group[0], group[1], group[2 : 2 + len(columns)] = size, n_bins[columns[0]], columns
        base[columns] = size + np.arange(len(columns))
        size += int(group[1]) * WIDTH * words
    return base, groups, size


@njit(nogil=True, cache=True)
def _whole(value):
    return np.int64(np.floor(value + 0.5))


@njit(nogil=True, cache=True)
def pack(rows, gradient, curvature, packed, units):
    """Gradients (all rows, channels) and curvature (all rows,) of some rows as words, in place.

    What 1 stands for, of gradients and of curvature, is written to units (2,): the sums of their
    sizes. There is a channel more, of zeros, where words are not full.
    """
    channels = gradient.shape[1]
    most, mass = 0.0, 0.0
    for k in range(channels):
        size = 0.0
        for i in range(rows.shape[0]):
            size += abs(gradient[rows[i], k])
        most = max(most, size)
    for i in range(rows.shape[0]):
        mass += curvature[rows[i]]
    units[0], units[1] = max(most, 1e-300), max(mass, 1e-300)
    slope, curve = ONE / units[0], ONE / units[1]
    for i in range(rows.shape[0]):
        row = rows[i]
        packed[row, 0] = (_whole(gradient[row, 0] * slope) << 32) + _whole(curvature[row] * curve)
        for w in range(1, packed.shape[1]):
            high = _whole(gradient[row, 2 * w - 1] * slope)
            low = _whole(gradient[row, 2 * w] * slope) if 2 * w < channels else np.int64(0)
            packed[row, w] = (high << 32) + low


@njit(nogil=True, cache=True, apart=True)
def fill(bins, rows, first, last, packed, base, sums):
    """Sums over the rows of a leaf."""
    # Unsigned places: a signed one might be negative, and is asked whether it is.
    words = packed.shape[1]
    step = np.uint64(WIDTH * words)
    sums[:] = 0
    if words == 1:
        for i in range(first, last):
            row = np.uint64(rows[i])
            word = packed[row, 0]
            for column in range(np.uint64(base.shape[0])):
                sums[base[column] + step * np.uint64(bins[row, column])] += word
        return
    for i in range(first, last):
        row = np.uint64(rows[i])
        for column in range(np.uint64(base.shape[0])):
            at = base[column] + step * np.uint64(bins[row, column])
            for w in range(np.uint64(words)):
                sums[at + np.uint64(WIDTH) * w] += packed[row, w]


@njit(nogil=True, cache=True, apart=True)
def separate(parent, child, smaller_is_child):
    """From a parent's sums and its smaller child's, in the child's place, those of both children.

    The left child keeps the parent's place.
    """
    if smaller_is_child:
        for at in range(np.uint64(parent.shape[0])):
            parent[at] -= child[at]
    else:
        for at in range(np.uint64(parent.shape[0])):
            smaller = child[at]
            child[at] = parent[at] - smaller
            parent[at] = smaller


@njit(nogil=True, cache=True)
def split_sums(sums, words, place, last, left):
    """Sums of the bins up to `last` of the column at `place`, to left (2 * words,)."""
    left[:] = 0
    for at in range(last + 1):
        for w in range(words):
            word = sums[place + np.uint64(WIDTH * (at * words + w))]
            low = np.int64(np.int32(word & 0xFFFFFFFF))
            left[2 * w] += (word - low) >> 32
            left[2 * w + 1] += low


@njit(nogil=True, cache=True)
def leaf_value(gradient, curvature, ridge, low, high):
    """The Newton step of a leaf, kept between bounds."""
    return min(max(-gradient / (curvature + ridge), low), high)


@njit(nogil=True, cache=True)
def _gain(gradient, curvature, ridge, value):
    """Twice what a leaf of this value takes from the loss."""
    return -2.0 * gradient * value - (curvature + ridge) * value * value


@njit(nogil=True, cache=True)
def _best_bounded(sums, place, n_bins, total, need, ridge, sign, low, high):
    """Gain and bin of a column's best split where values are bounded, or follow a sign."""
    G, H = total[0] / ONE, total[1] / ONE
    gain, best, left, curve = 0.0, -1, 0.0, 0.0
    for at in range(n_bins - 1):
        word = sums[place + np.uint64(WIDTH * at)]
        left += (word >> 32) / ONE
        curve += (word & 0xFFFFFFFF) / ONE
        rest = H - curve
        if curve < need:
            continue
        if rest < need:
            break
        a = leaf_value(left, curve, ridge, low, high)
        b = leaf_value(G - left, rest, ridge, low, high)
        if (b - a) * sign < 0.0:
            continue
        found = _gain(left, curve, ridge, a) + _gain(G - left, rest, ridge, b)
        if found > gain:
            gain, best = found, at
    return gain, best


@njit(nogil=True, cache=True)
def _gain_of(total, part, ridge, low, high):
    """What a leaf of some sums (part of them, or the total less it) takes from the loss."""
    if total.shape[0] == 2:
        G, H = (total[0] - part[0]) / ONE, (total[1] - part[1]) / ONE
        return _gain(G, H, ridge, leaf_value(G, H, ridge, low, high))
    squares = 0.0
    for k in range(total.shape[0]):
        if k != 1:
            here = (total[k] - part[k]) / ONE
            squares += here * here
    return squares / ((total[1] - part[1]) / ONE + ridge)


@njit(nogil=True, cache=True, apart=True)
def best_split(
    sums, base, groups, n_bins, total, rows, least_rows, ridge, signs, bounds, left, shares,
    running, found,
):  # fmt: skip
    """Gain over no split, column and bin of the best split; column -1 if there is none.

    All is in units of `ONE`: curvature 1 is that of all rows. `left` (2 * words,) is the sums of
    the bins up to the best one; `shares`, `running` and `found` are room for `scan_group`.
    """
    words = total.shape[0] // 2
    column, bin_ = -1, -1
    low, high = bounds
    if total[1] <= 0:
        return 0.0, column, bin_
    mass = total[1] / ONE
    need = least_rows * mass / rows * (1.0 - 1e-6)  # a count, but for rounding
    gain = 0.0
    if signs.any():
        for j in range(base.shape[0]):
            at_gain, at = _best_bounded(
                sums, base[j], n_bins[j], total, need, ridge, signs[j], low, high
            )
            if at >= 0 and at_gain > gain:
                gain, column, bin_ = at_gain, j, at
    else:
        for k in range(total.shape[0]):
            shares[k] = np.float32(total[k] / ONE)
        for g in range(groups.shape[0]):
            scan_group(  # type: ignore[call-arg]
                sums, groups[g, 0], groups[g, 1] - 1, words, shares, np.float32(need),
                np.float32(ridge), running, found,
            )  # fmt: skip
            for lane in range(WIDTH):
                if found[lane] > gain and groups[g, 2 + lane] >= 0:
                    gain, column = found[lane], groups[g, 2 + lane]
                    bin_ = np.int64(found[WIDTH + lane])
    if column < 0:
        return 0.0, column, bin_
    split_sums(sums, words, base[column], bin_, left)
    nothing = np.zeros_like(left)
    gain = _gain_of(left, nothing, ridge, low, high) + _gain_of(total, left, ridge, low, high)
    return gain - _gain_of(total, nothing, ridge, low, high), column, bin_
