"""Features of an online learner: running mean and scale, and rows standardised by them."""

from __future__ import annotations

import numpy as np

from dgtrees.tree.compiled import njit
from dgtrees.tree.state import SEEN

__all__ = ["LARGEST", "SCALING", "observe_row", "standardise_kept", "standardise_row", "usable"]

LARGEST = 1e30
"""Features beyond this are refused; rows are remembered in float32."""

SCALING = {"standard": 0, "absolute": 1}
"""Codes by name: kernels compare numbers, everybody else uses the names."""

_ABSOLUTE = SCALING["absolute"]
_NORMAL = 1.2533141373155003  # standard over mean absolute deviation, of a normal distribution


@njit(nogil=True, cache=True)
def usable(x):
    """Whether every number of a row is finite and of a size that can be squared and stored."""
    bad = 0
    for j in range(x.shape[0]):
        if not abs(x[j]) <= LARGEST:  # NaN too
            bad += 1
    return bad == 0


@njit(nogil=True, error_model="numpy")
def observe_row(x, settings, state):
    """Count a raw row into the running mean (Welford) and the scale of its features."""
    seen = state.counts[SEEN] + 1
    if seen == 1:
        state.shift[:] = x
    for j in range(x.shape[0]):
        value = x[j] - state.shift[j]
        before = value - state.mean[j]
        state.mean[j] += before / seen
        after = value - state.mean[j]
        state.square[j] += before * after
        state.absolute[j] += (abs(after) - state.absolute[j]) / seen
        variance = state.square[j] / seen
        # Below this a column is constant up to rounding.
        floor = 1e-24 * (state.shift[j] * state.shift[j] + state.mean[j] * state.mean[j])
        if variance > floor:
            scale = np.sqrt(variance)
            if settings.scaling == _ABSOLUTE and state.absolute[j] > 0.0:
                scale = min(scale, _NORMAL * state.absolute[j])
            state.inverse_scale[j] = 1.0 / scale
        else:
            state.inverse_scale[j] = 0.0


@njit(nogil=True)
def standardise_row(x, state, clip):
    """Bring a raw row to `state.x`, in the units that nodes learn in."""
    for j in range(x.shape[0]):
        z = (x[j] - state.shift[j] - state.mean[j]) * state.inverse_scale[j]
        state.x[j] = min(max(z, -clip), clip)
    state.x[x.shape[0]] = 1.0


@njit(nogil=True)
def standardise_kept(row, state, clip):
    """The same for a row of the memory, whose shift was subtracted before."""
    for j in range(row.shape[0]):
        z = (row[j] - state.mean[j]) * state.inverse_scale[j]
        state.x[j] = min(max(z, -clip), clip)
    state.x[row.shape[0]] = 1.0
