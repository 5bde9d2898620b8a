"""Dot products of a direction with many rows side by side, added in the order of `tree.dot`.

`dot` has the features of one row in the lanes of a vector; here rows are in the lanes, and the
eight running sums are eight vectors. Numbers of a block lie column by column:
`columns[j * stride + first + i]` is feature j of row i.
"""

from __future__ import annotations

import numpy as np

from dgtrees.tree.compiled import njit
from dgtrees.tree.dot import LANES

__all__ = ["project"]


@njit(nogil=True, cache=True)
def _add(room, at, weight, numbers, start, count, anew):
    """room[at + i] += weight * numbers[start + i], or =, i < count, as vector instructions."""
    # Unsigned places: signed ones might be negative, and are asked whether they are.
    at, start = np.uint64(at), np.uint64(start)
    if anew:
        for i in range(np.uint64(count)):
            room[at + i] = weight * numbers[start + i]
    else:
        for i in range(np.uint64(count)):
            room[at + i] += weight * numbers[start + i]


@njit(nogil=True, cache=True, apart=True)
def project(columns, stride, first, count, directions, number, room):
    """Dot products of `count` rows from `first` on with directions[number], to room[:count].

    Parameters
    ----------
    columns : float64 array
    directions : float64 (directions, d)
    room : float64 (8 * block,)
        `count` is at most a block.
    """
    d, block = directions.shape[1], room.shape[0] // LANES
    whole = d // LANES * LANES
    # Zeros are left out: they change a sum at most in the sign of 0, which nobody asks.
    used = np.zeros(LANES, np.bool_)
    for j in range(whole):
        weight, lane = directions[number, j], j % LANES
        if weight != 0.0:
            _add(room, lane * block, weight, columns, j * stride + first, count, not used[lane])
            used[lane] = True
    half = LANES // 2
    while half:
        for lane in range(half):
            if used[lane + half]:
                other = (lane + half) * block
                _add(room, lane * block, 1.0, room, other, count, not used[lane])
                used[lane] = True
        half //= 2
    for j in range(whole, d):
        weight = directions[number, j]
        if weight != 0.0:
            _add(room, 0, weight, columns, j * stride + first, count, not used[0])
            used[0] = True
    if not used[0]:
        room[:count] = 0.0
