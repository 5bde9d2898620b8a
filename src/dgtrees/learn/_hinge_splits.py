"""Where two planes through a node's rows cross: the split of a tree with linear leaves. Compiled.

Rows are cut in two, each side gets a ridge regression, and every row goes to the side whose plane
is higher, or lower; a few rounds of this find a bend of the target, if it has one.
"""

from __future__ import annotations

import numpy as np

from dgtrees.learn._random_splits import solve_positive
from dgtrees.tree.compiled import njit

__all__ = ["find_hinge"]

_ROUNDS = 8
_FREE = 1e-3
"""Penalty of the constant, which is not to be drawn to 0."""


@njit(nogil=True, cache=True)
def _add(scatter, moment, row, target, weight):
    """Count one row in, or out with a negative weight; the lower triangle only."""
    for i in range(row.shape[0]):
        share = weight * row[i]
        moment[i] += share * target
        for j in range(i + 1):
            scatter[i, j] += share * row[j]


@njit(nogil=True, cache=True)
def _plane(scatter, moment, penalty, room, plane):
    """Ridge regression, to `plane`; what it takes from the loss, or -1 where there is none."""
    k = moment.shape[0]
    for i in range(k):
        for j in range(i + 1):
            room[i, j] = scatter[i, j]
        room[i, i] += penalty if i < k - 1 else _FREE
        plane[i] = moment[i]
    if not solve_positive(room, plane, k):
        return -1.0
    gain = 0.0
    for i in range(k):
        gain += plane[i] * moment[i]
    return gain


@njit(nogil=True, cache=True)
def find_hinge(rows, target, weight, right, convex, penalty, least, cut):
    """Bring w to `cut` (columns,), so that rows with w . row >= 0 go right; False without a split.

    Parameters
    ----------
    rows : float64 (rows, columns)
        The last column is 1.
    target, weight : float64 (rows,)
    right : bool (rows,)
        Which rows are on the right at first; changed.
    convex : bool
        Whether the larger of the two planes counts, or the smaller.
    penalty : float
        On squared slopes.
    least : float
        Weight that each side must have.
    """
    n, k = rows.shape
    scatter, moment = np.zeros((k, k)), np.zeros(k)  # of all rows
    mine, own = np.zeros((k, k)), np.zeros(k)  # of those on the right
    rest, other = np.empty((k, k)), np.empty(k)
    room, high, low = np.empty((k, k)), np.empty(k), np.empty(k)
    mass = 0.0
    for i in range(n):
        _add(scatter, moment, rows[i], target[i], weight[i])
        if right[i]:
            _add(mine, own, rows[i], target[i], weight[i])
            mass += weight[i]
    whole, best = weight.sum(), -1.0
    for _ in range(_ROUNDS):
        if mass < least or whole - mass < least:
            break
        rest[:], other[:] = scatter - mine, moment - own
        gain = _plane(mine, own, penalty, room, high)
        second = _plane(rest, other, penalty, room, low)
        if gain < 0.0 or second < 0.0:
            break
        if gain + second > best:
            best = gain + second
            for j in range(k):
                cut[j] = high[j] - low[j] if convex else low[j] - high[j]
        changed = False
        for i in range(n):
            side = 0.0
            for j in range(k):
                side += (high[j] - low[j]) * rows[i, j]
            goes = side >= 0.0 if convex else side <= 0.0
            if goes != right[i]:
                sign = weight[i] if goes else -weight[i]
                _add(mine, own, rows[i], target[i], sign)
                mass += sign
                right[i], changed = goes, True
        if not changed:
            break
    return best >= 0.0
