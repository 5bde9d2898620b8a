"""Centre and scale of columns, by which everything is standardised before training. NumPy only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

__all__ = ["moments", "streamed_moments"]

Reduce = Callable[[np.ndarray], np.ndarray]


def moments(
    values: np.ndarray, weight: np.ndarray, scaling: str = "standard"
) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean of every column and its scale, 0 for columns that do not vary."""
    return streamed_moments([(values, weight)], scaling, lambda array: array, lambda array: array)


def streamed_moments(
    parts: Iterable[tuple[np.ndarray, np.ndarray]], scaling: str, add_up: Reduce, largest: Reduce
) -> tuple[np.ndarray, np.ndarray]:
    """`moments` of rows that come in parts, over three passes, and lie with several workers.

    Parameters
    ----------
    parts : iterable of (values, weight)
        This worker's rows; gone through three times.
    scaling : str
        As in `Recipe`.
    add_up, largest : callable
        Sum, and element-wise maximum, of one array over all workers.
    """
    biggest: Any = None
    first: Any = None
    total: Any = 0.0
    for values, weight in parts:
        here = np.abs(values).max(axis=0).astype(np.float64)  # float32 knows no 1e100
        biggest = here if biggest is None else np.maximum(biggest, here)
        first = values[0] if first is None else first
        total = total + weight.sum()
    biggest, total = largest(np.asarray(biggest)), add_up(np.asarray(total))
    unit, extreme = np.ones_like(biggest), False
    if biggest.size and (biggest.max() > 1e100 or biggest[biggest > 0].min(initial=1.0) < 1e-100):
        # Squares of such numbers would overflow.
        unit, extreme = np.where(biggest > 0, biggest, 1.0), True

    def in_units() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Rows in units that can be squared, and their shares of the whole weight."""
        for values, weight in parts:
            yield values / unit if extreme else values, weight / total

    # einsum, not a matrix product: its order of summation does not depend on BLAS's threads.
    center: Any = 0.0
    for values, share in in_units():
        center = center + np.einsum("n,nd->d", share, values)
    center = add_up(center)
    squares: Any = 0.0
    absolutes: Any = 0.0
    for values, share in in_units():
        deviation = values - center
        squares = squares + np.einsum("n,nd,nd->d", share, deviation, deviation)
        if scaling == "absolute":
            absolutes = absolutes + np.einsum("n,nd->d", share, np.abs(deviation))
    spread = np.sqrt(add_up(squares))
    # A constant column's deviation is rounding error, not a scale.
    constant = spread <= 1e-12 * biggest / unit
    if scaling == "absolute":
        # A normal variable's mean absolute deviation is sqrt(2 / pi) of its standard deviation.
        spread = np.minimum(add_up(absolutes) * np.sqrt(np.pi / 2.0), spread)
    # Any row will do for a constant column, as long as all workers take the same.
    center = np.where(constant, largest(np.asarray(first)) / unit, center)
    return center * unit, np.where(constant, 0.0, spread * unit)
