"""Rows as a mixed learner's members see them: robust scales, principal axes, products."""

from __future__ import annotations

import numpy as np

from dgtrees.tree.compiled import njit
from dgtrees.tree.dot import dot, dot_at

__all__ = ["find_scales", "load", "load_kept", "multiply", "orthonormalise", "transform"]

_SAMPLE = 256  # rows that scales are taken from


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
def transform(state, slot, clip):
    """Standardise `state.scaled` and bring it, turned where rows are wide, to `state.row`."""
    scaled, row = state.scaled, state.row
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


@njit(nogil=True, error_model="numpy")
def find_scales(state, slot, first, last):
    """Centre and scale of every column from a sample of the answers first .. last - 1.

    Values far outside the middle nine tenths are drawn in before mean and deviation are taken;
    where these are all equal, values that differ are compared with each other instead.
    """
    room, many = state.log_rows.shape[0], min(_SAMPLE, last - first)
    values = np.empty(many)
    for j in range(state.scaled.shape[0]):
        for i in range(many):
            values[i] = state.log_rows[(first + i * (last - first) // many) % room, j]
        values.sort()
        low, high = values[many // 20], values[many - 1 - many // 20]
        reach = 2.0 * (high - low)
        if high == low:
            reach = 3.0 * _typical_difference(values, low)
        mean, square = 0.0, 0.0
        for i in range(many):
            values[i] = min(max(values[i], low - reach), high + reach)
            mean += values[i]
        mean /= many
        for i in range(many):
            square += (values[i] - mean) ** 2
        deviation = np.sqrt(square / many)
        state.centre[slot, j] = mean
        # A column that is constant up to rounding is left out.
        floor = 1e-6 * (abs(mean) + 1e-6 * abs(state.shift[j]))
        state.inverse_scale[slot, j] = 1.0 / deviation if deviation > floor else 0.0


@njit(nogil=True)
def _typical_difference(values, usual):
    """Median distance from the usual value among values that differ from it; 0 if none does."""
    away = np.abs(values - usual)
    away.sort()
    equal = 0
    while equal < away.shape[0] and away[equal] == 0.0:
        equal += 1
    differing = away.shape[0] - equal
    return away[equal + (differing - 1) // 2] if differing else 0.0


@njit(nogil=True, error_model="numpy")
def orthonormalise(vectors, before, out, lengths):
    """Gram and Schmidt, twice for accuracy; `lengths` of what each vector adds.

    One that adds nothing (fewer rows than axes so far) is replaced by the axis there was before.
    """
    many, columns = vectors.shape
    for i in range(many):
        for source in range(2):
            out[i] = vectors[i] if source == 0 else before[i]
            for _ in range(2):
                for j in range(i):
                    along = dot_at(out, i * columns, out, j * columns, columns)
                    for c in range(columns):
                        out[i, c] -= along * out[j, c]
            length = np.sqrt(dot(out[i], out[i]))
            lengths[i] = length if source == 0 else 0.0
            if length > 1e-9 * lengths[0] and length > 0.0:
                break
        out[i] /= max(length, 1e-300)
