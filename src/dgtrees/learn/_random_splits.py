"""The split of a node in a tree of a forest: the best of some columns and directions. Compiled.

Columns and directions are drawn anew per node, so that trees differ. A direction is the slope of
a ridge regression over rows of the node and a few columns: of the target, and of several targets,
or classes, of a random mixture of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dgtrees.learn._ordering import order_values, place_of
from dgtrees.tree.by_reference import opener
from dgtrees.tree.compiled import njit
from dgtrees.tree.random_numbers import draw_uniform

__all__ = [
    "Room",
    "Sample",
    "Splitting",
    "find_split",
    "make_room",
    "open_room",
    "slope",
    "solve_positive",
]

_DIRECTION_ROWS = 256
"""Rows that a direction is learnt from, at most."""

_RIDGE = 0.05
"""Penalty of a direction's slopes, as a share of the columns' variance in the node."""


class Sample(NamedTuple):
    """Rows to grow a tree from.

    X is float32 (columns, rows); `label` int32 (rows,), for classes; `target` (rows, outputs), for
    numbers; `weight` (rows,); `classes` 0 for numbers.
    """

    X: np.ndarray
    label: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    classes: int


class Splitting(NamedTuple):
    """What is tried per node: columns, and directions of 2 to `width`; least mass of a leaf."""

    columns: int
    directions: int
    width: int
    least: float


class Room(NamedTuple):
    """Arrays to work in, for as many rows as a tree has."""

    order: np.ndarray
    values: np.ndarray
    keys: np.ndarray
    spare: np.ndarray
    total: np.ndarray
    left: np.ndarray
    scatter: np.ndarray
    slope: np.ndarray
    mean: np.ndarray
    row: np.ndarray
    mixture: np.ndarray
    random: np.ndarray


_COLUMNS, _REALS = np.zeros(0, dtype=np.int64), np.zeros(0)
_KEYS = np.zeros(0, dtype=np.uint64)
open_room = opener(
    Room(
        *(_COLUMNS, np.zeros(0, dtype=np.float32), _KEYS, _KEYS, _REALS, _REALS),
        *(np.zeros((0, 0)), _REALS, _REALS, _REALS, _REALS, _KEYS),
    )
)
"""How compiled code sees the table of a room."""


def make_room(sample: Sample, rows: int, width: int, seed: int) -> Room:
    """Room for a tree of so many rows; `seed` is that of its random numbers."""
    outputs = sample.classes or sample.target.shape[1]
    return Room(
        np.arange(len(sample.X), dtype=np.int64),
        np.empty(rows, np.float32),
        np.empty(rows, np.uint64),
        np.empty(rows, np.uint64),
        np.empty(outputs),
        np.empty(outputs),
        np.empty((width, width)),
        np.empty(width),
        np.empty(width),
        np.empty(width),
        np.empty(outputs),
        np.array([seed], np.uint64),
    )


@njit(nogil=True, cache=True, apart=True)
def find_split(sample, splitting, rows, first, last, room, columns, weights):
    """Gain and threshold of the best split tried of rows[first:last], and its number of columns.

    Its columns and their weights go to the arrays given; there are none, 0 columns, where rows
    agree in their target or no split leaves enough rows on both sides. A split may gain nothing:
    those below it can.
    """
    mass, same = _totals(sample, rows, first, last, room.total)
    gain, threshold, size = -np.inf, 0.0, 0
    n, d = last - first, sample.X.shape[0]
    if same or n < 2 or mass < 2.0 * splitting.least:
        return gain, threshold, size
    tried = done = 0
    # Columns that do not vary here do not count, and without any split more are drawn.
    while done < d and (tried < splitting.columns or size == 0):
        column = _draw_column(room.order, done, room.random)
        done += 1
        if not _take_column(sample.X, column, rows, first, last, room.values):
            continue
        tried += 1
        found, at = _best_threshold(sample, splitting, rows, first, n, mass, room)
        if found > gain:
            gain, threshold, size = found, at, 1
            columns[0], weights[0] = column, 1.0
    if tried <= 1 and done == d:  # one column varies, and directions of it are that column
        return gain, threshold, size
    for _ in range(splitting.directions):
        k = min(2 + int(draw_uniform(room.random, 0) * (splitting.width - 1)), max(2, n // 3))
        for p in range(k):
            _draw_column(room.order, p, room.random)
        if not slope(sample, rows, first, last, k, room):
            continue
        _project(sample.X, room.order, room.slope, k, rows, first, last, room.values)
        found, at = _best_threshold(sample, splitting, rows, first, n, mass, room)
        if found > gain:
            gain, threshold, size = found, at, k
            for p in range(k):
                columns[p], weights[p] = room.order[p], room.slope[p]
    return gain, threshold, size


@njit(nogil=True, cache=True)
def _totals(sample, rows, first, last, total):
    """Mass of the rows, and whether all agree; sums of their targets go to `total`."""
    total[:] = 0.0
    mass, same, one = 0.0, True, rows[first]
    for i in range(first, last):
        row = rows[i]
        w = sample.weight[row]
        mass += w
        if sample.classes:
            total[sample.label[row]] += w
            same = same and sample.label[row] == sample.label[one]
        else:
            for k in range(total.shape[0]):
                total[k] += w * sample.target[row, k]
                same = same and sample.target[row, k] == sample.target[one, k]
    return mass, same


@njit(nogil=True, cache=True)
def _draw_column(order, done, random):
    """A column that none of the places before `done` of the order has, in that place."""
    other = done + int(draw_uniform(random, 0) * (order.shape[0] - done))
    order[done], order[other] = order[other], order[done]
    return order[done]


@njit(nogil=True, cache=True)
def _take_column(X, column, rows, first, last, values):
    """The rows' values of a column; whether they vary."""
    low = high = X[column, rows[first]]
    for i in range(first, last):
        x = X[column, rows[i]]
        values[i - first] = x
        low, high = min(low, x), max(high, x)
    return high > low


@njit(nogil=True, cache=True)
def _project(X, columns, weights, k, rows, first, last, values):
    """The rows' projections on a direction of k columns."""
    for i in range(first, last):
        x = 0.0
        for p in range(k):
            x += weights[p] * X[columns[p], rows[i]]
        values[i - first] = x


@njit(nogil=True, cache=True, apart=True)
def _best_threshold(sample, splitting, rows, first, n, mass, room):
    """Gain and threshold of the best split of the rows by `room.values`."""
    order_values(room.values, n, room.keys, room.spare)
    if sample.classes:
        return _split_classes(sample, splitting.least, rows, first, n, mass, room)
    return _split_numbers(sample, splitting.least, rows, first, n, mass, room)


@njit(nogil=True, cache=True)
def _split_classes(sample, least, rows, first, n, mass, room):
    """By the Gini impurity: sums of squares are kept up to date class by class."""
    values, keys, total, left = room.values, room.keys, room.total, room.left
    left[:] = 0.0
    squares_left = squares_right = mass_left = 0.0
    for k in range(total.shape[0]):
        squares_right += total[k] * total[k]
    base, gain, threshold = squares_right / mass, -np.inf, 0.0
    place = place_of(keys[0])
    for i in range(n - 1):
        row = rows[first + place]
        k, w = sample.label[row], sample.weight[row]
        squares_left += w * (2.0 * left[k] + w)
        squares_right -= w * (2.0 * (total[k] - left[k]) - w)
        left[k] += w
        mass_left += w
        here = values[place]
        place = place_of(keys[i + 1])
        if values[place] <= here or mass_left < least:
            continue
        rest = mass - mass_left
        if rest < least or rest <= 0.0:
            break
        found = squares_left / mass_left + squares_right / rest - base
        if found > gain:
            gain, threshold = found, _between(here, values[place])
    return gain, threshold


@njit(nogil=True, cache=True)
def _split_numbers(sample, least, rows, first, n, mass, room):
    """By the squared error of all outputs."""
    values, keys, total, left = room.values, room.keys, room.total, room.left
    left[:] = 0.0
    base = mass_left = 0.0
    for k in range(total.shape[0]):
        base += total[k] * total[k] / mass
    gain, threshold = -np.inf, 0.0
    place = place_of(keys[0])
    for i in range(n - 1):
        row = rows[first + place]
        w = sample.weight[row]
        mass_left += w
        for k in range(total.shape[0]):
            left[k] += w * sample.target[row, k]
        here = values[place]
        place = place_of(keys[i + 1])
        if values[place] <= here or mass_left < least:
            continue
        rest = mass - mass_left
        if rest < least or rest <= 0.0:
            break
        a = b = 0.0
        for k in range(total.shape[0]):
            right = total[k] - left[k]
            a += left[k] * left[k]
            b += right * right
        found = a / mass_left + b / rest - base
        if found > gain:
            gain, threshold = found, _between(here, values[place])
    return gain, threshold


@njit(nogil=True, cache=True)
def _between(low, high):
    """A number above `low` and not above `high`."""
    middle = np.float64(low) + 0.5 * (np.float64(high) - np.float64(low))
    return middle if middle > low else np.float64(high)


@njit(nogil=True, cache=True, apart=True)
def slope(sample, rows, first, last, k, room):
    """A direction of the order's first k columns, in `room.slope`; False where there is none."""
    n, X, weight = last - first, sample.X, sample.weight
    scatter, slopes, mean, mixture = room.scatter, room.slope, room.mean, room.mixture
    for c in range(mixture.shape[0]):
        mixture[c] = _normal(room.random) if mixture.shape[0] > 1 else 1.0
    scatter[:k, :k], slopes[:k], mean[:k] = 0.0, 0.0, 0.0
    mass = middle = 0.0
    origin = rows[first]  # near the others: sums of squares keep their digits
    for i in range(min(n, _DIRECTION_ROWS)):
        at = i if n <= _DIRECTION_ROWS else int(draw_uniform(room.random, 0) * n)
        row = rows[first + at]
        w, t = weight[row], 0.0
        if sample.classes:
            t = mixture[sample.label[row]]
        else:
            for c in range(mixture.shape[0]):
                t += mixture[c] * sample.target[row, c]
        mass += w
        middle += w * t
        for p in range(k):
            room.row[p] = X[room.order[p], row] - X[room.order[p], origin]
        for p in range(k):
            x = w * room.row[p]
            mean[p] += x
            slopes[p] += x * t
            for q in range(p + 1):
                scatter[p, q] += x * room.row[q]
    trace = 0.0
    for p in range(k):
        slopes[p] -= mean[p] * middle / mass
        for q in range(p + 1):
            scatter[p, q] -= mean[p] * mean[q] / mass
        trace += scatter[p, p]
    if not trace > 1e-9 * mass:
        return False
    for p in range(k):
        scatter[p, p] += _RIDGE * (scatter[p, p] + trace / k)
    return solve_positive(scatter, slopes, k)


@njit(nogil=True, cache=True)
def _normal(random):
    radius = np.sqrt(-2.0 * np.log(1.0 - draw_uniform(random, 0)))
    return radius * np.cos(2.0 * np.pi * draw_uniform(random, 0))


@njit(nogil=True, cache=True)
def solve_positive(A, b, k):
    """Solve A x = b in place, by Cholesky; x is in b. False where A is not positive definite.

    Of A (k, k) the lower triangle is read.
    """
    for j in range(k):
        for row in range(j, k):
            total = A[row, j]
            for i in range(j):
                total -= A[row, i] * A[j, i]
            if row > j:
                A[row, j] = total / A[j, j]
            elif total > 0.0:
                A[j, j] = np.sqrt(total)
            else:
                return False
    for j in range(k):
        for i in range(j):
            b[j] -= A[j, i] * b[i]
        b[j] /= A[j, j]
    for j in range(k - 1, -1, -1):
        for i in range(j + 1, k):
            b[j] -= A[i, j] * b[i]
        b[j] /= A[j, j]
    return True
