"""Projections of rows on directions, in bins between thresholds. Compiled.

They are dot products in the order of `tree.dot`, for many rows side by side: a finished tree sends
rows where training did.
"""

from __future__ import annotations

import numpy as np

from dgtrees.tree.blocks import project
from dgtrees.tree.compiled import njit
from dgtrees.tree.dot import LANES

__all__ = ["bin_projections"]

_BLOCK = 256


@njit(nogil=True, cache=True)
def bin_projections(columns, directions, edges, places, bins, first_column):
    """The bin of every row along every direction, to columns of bins from the first one on.

    Parameters
    ----------
    columns : float64 (d * rows,)
        All rows, column by column.
    directions : float64 (count, d)
    edges : float64 (count, n_bins - 1)
        Thresholds at equal distances, as far as rounding lets them: bin k holds
        edges[k - 1] <= projection < edges[k].
    places : int32 (rows,)
        Where in bins a row's are written; -1 for nowhere.
    bins : uint8 (places, columns)
    """
    rows, count = places.shape[0], directions.shape[0]
    most = edges.shape[1]
    room, codes = np.empty(LANES * _BLOCK), np.empty((_BLOCK, count), np.uint8)
    ends = np.empty((count, most + 2))  # with one below all and one above all
    for number in range(count):
        ends[number, 0], ends[number, most + 1] = -np.inf, np.inf
        for k in range(most):
            ends[number, k + 1] = edges[number, k]
    for first in range(0, rows, _BLOCK):
        width = min(_BLOCK, rows - first)
        for number in range(count):
            project(columns, rows, first, width, directions, number, room)
            step = edges[number, 1] - edges[number, 0]
            _find_bins(room, width, ends[number], 1.0 / step if step > 0.0 else 0.0, number, codes)
        for i in range(width):
            place = places[first + i]
            if place >= 0:
                for number in range(count):
                    bins[place, first_column + number] = codes[i, number]


@njit(nogil=True, cache=True)
def _find_bins(values, count, ends, scale, number, codes):
    """Bin of values[i], i < count, to codes[i, number]; about where it is, is computed."""
    last, low = ends.shape[0] - 2.0, ends[1]
    for i in range(count):
        value = values[i]
        if not np.isfinite(value):  # too large for a float: where finished trees send it
            codes[i, number] = np.uint8(last) if value > 0.0 else np.uint8(0)
            continue
        about = (value - low) * scale + 1.0
        at = np.uint64(min(about, last)) if about > 0.0 else np.uint64(0)  # 0 for NaN, too
        while value < ends[at]:
            at -= np.uint64(1)
        while value >= ends[at + np.uint64(1)]:
            at += np.uint64(1)
        codes[i, number] = at
