"""Rows as a mixed learner's members see them: robust scales, principal axes, products."""

from __future__ import annotations

import numpy as np

from dgtrees.tree.compiled import njit
from dgtrees.tree.dot import dot_at

__all__ = ["load", "load_kept", "multiply", "transform"]


@njit(nogil=True)
def load(state, x):
    """Bring a raw row to `state.scaled`, less the shift, rounded as the log rounds it."""
    for j in range(x.shape[0]):
        state.scaled[j] = np.float32(x[j] - state.shift[j])


@njit(nogil=True)
def load_kept(state, place):
    """The same for a row of the log."""
    for j in range(state.scaled.shape[0]):
        state.scaled[j] = state.log_rows[place, j]


@njit(nogil=True)
def transform(state, slot):
    """Standardise `state.scaled` and bring it, turned where rows are wide, to `state.row`."""
    scaled, row, clip = state.scaled, state.row, state.told.clip
    for j in range(scaled.shape[0]):
        z = (scaled[j] - state.centre[slot, j]) * state.inverse_scale[slot, j]
        scaled[j] = min(max(z, -clip), clip)
    axes, columns = state.axes.shape[1], scaled.shape[0]
    if axes:
        for i in range(axes):
            row[i] = dot_at(state.axes, (slot * axes + i) * columns, scaled, 0, columns)
    else:
        for j in range(columns):
            row[j] = scaled[j]
    row[row.shape[0] - 1] = 1.0


@njit(nogil=True)
def multiply(state, slot):
    """Bring `state.row` and its products to `state.products`."""
    row, out, pairs = state.row, state.products, state.pairs[slot]
    columns, many = row.shape[0] - 1, pairs.shape[0]
    for j in range(columns):
        out[j] = row[j]
    for m in range(many):
        i, j = pairs[m, 0], pairs[m, 1]
        out[columns + m] = row[i] * state.spread[slot, i] * row[j] * state.spread[slot, j]
    out[columns + many] = 1.0
