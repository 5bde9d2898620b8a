"""What a model is made on, chosen from the log: scales of columns, axes of rows, products."""

from __future__ import annotations

import numpy as np

from dgtrees.tree.mixed_state import Counts, Mixed

__all__ = ["choose_pairs", "find_scales", "settle_shift", "take_axes"]

_SAMPLE = 256  # rows that scales are taken from
_RARE = 2.0  # deviations from the usual value that a rare one lies away at most


def settle_shift(state: Mixed) -> None:
    """Shift rows by the median of the first few instead of the first, which may be far off.

    The log keeps differences from it with seven digits: of ordinary values nothing would be left.
    """
    rows = state.log_rows[: state.counts[Counts.SEEN]]
    moved = np.sort(rows, axis=0)[len(rows) // 2].astype(np.float64)
    rows[:] = rows - moved
    state.shift[:] += moved
    state.centre[:] -= moved


def find_scales(state: Mixed, slot: int, first: int, last: int) -> None:
    """Centre and scale of every column from a sample of the answers first .. last - 1.

    Values far outside the middle nine tenths are drawn in before mean and deviation are taken;
    where these are all equal, values that differ are compared with each other instead. Such a
    column counts as if one row in five differed: else the few that do would look most unlike all
    others, and be answered by what is unknown of them rather than by what is known.
    """
    room, many = len(state.log_rows), min(_SAMPLE, last - first)
    places = (first + np.arange(many) * (last - first) // many) % room
    values = np.sort(state.log_rows[places].astype(np.float64), axis=0)
    low, high = values[many // 20], values[many - 1 - many // 20]
    reach = 2.0 * (high - low)
    away = np.zeros(len(low))
    for j in np.flatnonzero(high == low):
        away[j] = _typical_difference(values[:, j], low[j])
    reach = np.maximum(reach, 3.0 * away)
    values = np.minimum(np.maximum(values, low - reach), high + reach)
    mean = np.cumsum(values, axis=0)[-1] / many
    deviation = np.sqrt(np.cumsum((values - mean) ** 2, axis=0)[-1] / many)
    state.centre[slot] = mean
    # A column that is constant up to rounding is left out.
    varies = deviation > 1e-6 * (np.abs(mean) + 1e-6 * np.abs(state.shift))
    deviation = np.where(varies, np.maximum(deviation, away / _RARE), 1.0)
    state.inverse_scale[slot] = np.where(varies, 1.0 / deviation, 0.0)


def _typical_difference(values: np.ndarray, usual: float) -> float:
    """Median distance from the usual value among values that differ from it; 0 if none does."""
    away = np.sort(np.abs(values - usual))
    away = away[away > 0.0]
    return float(away[(len(away) - 1) // 2]) if len(away) else 0.0


def take_axes(state: Mixed, slot: int) -> None:
    """Axes along what was gathered, by Gram and Schmidt, twice for accuracy; and their spread.

    One that adds nothing (fewer rows than axes so far) is replaced by the axis there was before.
    """
    out, taken = state.axes[slot], max(int(state.counts[Counts.TAKEN]), 1)
    first = 0.0
    for i, vector in enumerate(state.gathered):
        added = 0.0
        for source in (vector, state.axes[1 - slot, i]):
            rest = source.copy()
            for _ in range(2):
                rest -= out[:i].T @ (out[:i] @ rest)
            length = float(np.sqrt(rest @ rest))
            if source is vector:
                added = length
                first = first or length
            if length > 1e-9 * first and length > 0.0:
                break
        out[i] = rest / max(length, 1e-300)
        variance = added / taken
        state.spread[slot, i] = 1.0 / np.sqrt(variance) if variance > 1e-6 else 0.0


def choose_pairs(state: Mixed, slot: int) -> None:
    """The products that missed rewards go along with most, in standard errors."""
    groups, columns = state.found.shape[:2]
    diagonals = np.diagonal(state.noise, axis1=1, axis2=2)
    typical = np.cumsum(diagonals)[-1] / (groups * columns) + 1e-300
    scores = np.zeros((columns, columns))
    for found, noise in zip(state.found, state.noise, strict=True):
        scores += found**2 / (noise + 0.03 * typical)
    second, first = np.tril_indices(columns)
    best = np.argsort(-scores[second, first], kind="stable")[: state.pairs.shape[1]]
    best.sort()
    state.pairs[slot, :, 0], state.pairs[slot, :, 1] = first[best], second[best]
