"""Target statistics: a category as the mean target of its rows, where there are too many of them.

Means are drawn towards the mean of all rows, as if each category had `PRIOR_ROWS` more rows of that
mean. A row that trains gets means of the other folds only (cross-fitting): its own target must not
be found in its features. Folds depend on what rows hold, not on where they stand.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["FOLDS", "PRIOR_ROWS", "Targets", "assign_folds", "category_means", "held_out_means"]

PRIOR_ROWS = 10.0
FOLDS = 5


@dataclass(frozen=True)
class Targets:
    """What statistics are taken of: values (rows, outputs), and a name for every output."""

    values: np.ndarray
    names: tuple[str, ...]


def category_means(
    codes: np.ndarray, groups: int, values: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Mean values of every category and, last, of all rows: (groups + 1, outputs).

    >>> category_means(np.array([0, 0]), 1, np.array([[1.0], [1.0]]), np.ones(2)).tolist()
    [[1.0], [1.0]]
    """
    # In an order of their own, for sums must not depend on where rows stand.
    order = np.lexsort((weight, *values.T, codes))
    codes, values, weight = codes[order], values[order], weight[order]
    mean = np.average(values, axis=0, weights=weight)
    size = np.bincount(codes, weights=weight, minlength=groups + 1)[:, None]
    # Categories that are in none of `groups` have the last code, and the mean of all rows.
    size[groups:] = 0.0
    totals = [np.bincount(codes, weights=weight * v, minlength=groups + 1) for v in values.T]
    total = np.where(size > 0, np.stack(totals, axis=1), 0.0)
    return np.asarray((total + PRIOR_ROWS * mean) / (size + PRIOR_ROWS))


def held_out_means(
    codes: np.ndarray, groups: int, values: np.ndarray, weight: np.ndarray, folds: np.ndarray
) -> np.ndarray:
    """For every row the mean of its category in the folds it is not in: (rows, outputs)."""
    found = np.empty(values.shape)
    for fold in range(FOLDS):
        out, others = folds == fold, (folds != fold) & (weight > 0)
        if not others.any():  # fewer rows than folds
            others = weight > 0
        means = category_means(codes[others], groups, values[others], weight[others])
        found[out] = means[codes[out]]
    return found


def assign_folds(rows: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The fold (rows,) of every encoded row (rows, width): the same whatever their order.

    Rows are dealt out in the order of a hash of what they hold, equal ones by their target, so that
    each fold gets its share of every target.
    """
    order = np.lexsort((*values.T, _hashes(rows)))
    folds = np.empty(len(rows), dtype=np.intp)
    folds[order] = np.arange(len(rows)) % FOLDS
    return folds


def _hashes(rows: np.ndarray) -> np.ndarray:
    """A number for every row that equal rows share (splitmix64, column by column)."""
    state = np.zeros(len(rows), dtype=np.uint64)
    for column in np.ascontiguousarray(rows.T + 0.0):  # -0.0 is 0.0
        state = (state ^ column.view(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state ^= state >> np.uint64(31)
    return state
