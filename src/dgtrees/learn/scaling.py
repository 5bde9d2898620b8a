"""Centre and scale of columns, by which everything is standardised before training. NumPy only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from dgtrees.learn.processes import ALONE, Processes

__all__ = ["LEAST_SCALE", "moments", "squarable_units", "streamed_moments", "streamed_range"]

LEAST_SCALE = 1e-300
"""Numbers that vary by less do not vary: what is divided by that might be infinite."""


def squarable_units(values: np.ndarray) -> np.ndarray:
    """A unit for every column in which numbers can be squared: powers of 2, which round nothing.

    >>> squarable_units(np.array([[3.0, -1e200], [0.5, 1.0]])) < [4.0, 1e200]
    array([ True,  True])
    """
    return np.asarray(np.ldexp(1.0, np.frexp(np.abs(values).max(axis=0))[1] - 1))


def moments(
    values: np.ndarray, weight: np.ndarray, scaling: str = "standard"
) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean of every column and its scale, 0 for columns that do not vary."""
    return streamed_moments([(values, weight)], scaling, ALONE)


def streamed_moments(
    parts: Iterable[tuple[np.ndarray, np.ndarray]], scaling: str, processes: Processes
) -> tuple[np.ndarray, np.ndarray]:
    """`moments` of rows that come in parts, over three passes, and may lie with several processes.

    Parameters
    ----------
    parts : iterable of (values, weight)
        This process's rows; gone through three times.
    scaling : str
        As in `Recipe`.
    processes : Processes
    """
    first, biggest, total = _first_look(parts)
    biggest, total = processes.max(biggest), processes.sum(total)
    unit, extreme = np.ones_like(biggest), False
    if biggest.size and (biggest.max() > 1e100 or biggest[biggest > 0].min(initial=1.0) < 1e-100):
        # Squares of such numbers would overflow.
        unit, extreme = np.where(biggest > 0, biggest, 1.0), True

    def in_units() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Rows in units that can be squared, and their shares of the whole weight."""
        for values, weight in parts:
            yield values / unit if extreme else values, weight / total

    # einsum, not a matrix product: its order of summation does not depend on BLAS's threads.
    center = np.zeros(len(biggest))
    for values, share in in_units():
        center = center + np.einsum("n,nd->d", share, values)
    center = processes.sum(center)
    squares, absolutes = np.zeros(len(biggest)), np.zeros(len(biggest))
    for values, share in in_units():
        deviation = values - center
        squares = squares + np.einsum("n,nd,nd->d", share, deviation, deviation)
        if scaling == "absolute":
            absolutes = absolutes + np.einsum("n,nd->d", share, np.abs(deviation))
    spread = np.sqrt(processes.sum(squares))
    # A constant column's deviation is rounding error, not a scale.
    constant = (spread <= 1e-12 * biggest / unit) | (spread * unit <= LEAST_SCALE)
    if scaling == "absolute":
        # A normal variable's mean absolute deviation is sqrt(2 / pi) of its standard deviation.
        spread = np.minimum(processes.sum(absolutes) * np.sqrt(np.pi / 2.0), spread)
    # Any row will do for a constant column, as long as all processes take the same.
    center = np.where(constant, processes.max(first) / unit, center)
    return center * unit, np.where(constant, 0.0, spread * unit)


def streamed_range(
    parts: Iterable[tuple[np.ndarray, np.ndarray]], processes: Processes
) -> tuple[np.ndarray, np.ndarray]:
    """Least value of every column and its range, 0 for columns that do not vary.

    Rows of no weight do not count. Parameters as of `streamed_moments`.
    """
    least, most = [], []
    for values, weight in parts:
        present = values[weight > 0].astype(np.float64)
        least.append(present.min(axis=0, initial=np.inf))
        most.append(present.max(axis=0, initial=-np.inf))
    low = -processes.max(-np.min(least, axis=0))
    return low, processes.max(np.max(most, axis=0)) - low


def _first_look(
    parts: Iterable[tuple[np.ndarray, np.ndarray]],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first row, every column's largest absolute value, and the sum of weights."""
    rows: list[np.ndarray] = []
    sizes, total = [], 0.0
    for values, weight in parts:
        rows = rows or [values[0]]
        sizes.append(np.abs(values).max(axis=0).astype(np.float64))  # float32 knows no 1e100
        total = total + weight.sum()
    return rows[0], np.max(sizes, axis=0), np.asarray(total)
