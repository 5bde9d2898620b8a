"""Columns of long tails: which there are, and rows with such columns bent.

A few extreme values stretch a standardised column until all others are nearly one value. Where the
logarithm of a column says something else than the column, rows with such columns bent
(`tables.bending`) are the table's other side, which held-out rows may prefer. Where next to
nothing would be left of all but a few rows, a column is bent unasked: around 0 if that helps, or
else around its median. A tree that splits one column at a time is the same on both sides.

Complete trees of regression, whose nodes and leaves weigh all columns, take every column that is
not its own logarithm with the logarithm beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgtrees.tables.bending import bend
from dgtrees.tables.encoding import weighted_median

__all__ = ["Tails", "find_copies", "find_tails"]

_FEW_VALUES = 5
"""Columns of so few different values have no tails."""

_ALIKE = 0.95
"""Correlation from which a bent column says nothing that the column does not."""

_SAME = 0.999
"""Correlation from which a bent column is no use beside the column either."""

_WILD = 10_000.0
"""Deviations of so many usual distances from the median are due to a few rows."""

_ROWS = 10_000
"""Rows that usual distances are learnt from."""


@dataclass(frozen=True)
class Tails:
    """By which centre and spread the columns of rows are bent.

    Parameters
    ----------
    center, spread : ndarray of shape (d,)
        A spread of 0 leaves the column as it is.
    """

    center: np.ndarray
    spread: np.ndarray

    def __bool__(self) -> bool:
        return bool(self.spread.any())

    def bend(self, X: np.ndarray) -> np.ndarray:
        """Rows (rows, d) with their columns bent; X itself where none is."""
        if not self:
            return X
        long = self.spread > 0
        bent = np.array(X, dtype=np.float64)
        bent[:, long] = bend(bent[:, long], self.center[long], self.spread[long])
        return bent

    def beside(self, X: np.ndarray) -> np.ndarray:
        """Rows with every column that would be bent as it is, and bent behind it."""
        if not self:
            return X
        long = np.flatnonzero(self.spread > 0)
        copies = bend(X[:, long].astype(np.float64), self.center[long], self.spread[long])
        return np.insert(X.astype(np.float64), long + 1, copies, axis=1)


def find_tails(X: np.ndarray, weight: np.ndarray, medians: np.ndarray) -> tuple[Tails, Tails]:
    """Columns that must be bent, and all that may be.

    Parameters
    ----------
    X : ndarray of shape (rows, d)
    weight : ndarray of shape (rows,)
    medians : ndarray of shape (d,)
        Medians of the columns; NaN for those that are no plain numbers.
    """
    center, spread, wild = _measure_all(X, weight, medians, _ALIKE)
    return Tails(center, np.where(wild, spread, 0.0)), Tails(center, spread)


def find_copies(X: np.ndarray, weight: np.ndarray, medians: np.ndarray) -> Tails:
    """Columns that get a bent copy beside them; parameters as in `find_tails`."""
    center, spread, _ = _measure_all(X, weight, medians, _SAME)
    return Tails(center, spread)


def _measure_all(
    X: np.ndarray, weight: np.ndarray, medians: np.ndarray, alike: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`_measure` of all columns of plain numbers."""
    center, spread = np.zeros(len(medians)), np.zeros(len(medians))
    wild = np.zeros(len(medians), dtype=bool)
    share = weight / weight.sum()
    for j in np.flatnonzero(~np.isnan(medians)):
        values = X[:, j].astype(np.float64)
        center[j], spread[j], wild[j] = _measure(values, share, float(medians[j]), alike)
    return center, spread, wild


def _measure(
    values: np.ndarray, share: np.ndarray, median: float, alike: float
) -> tuple[float, float, bool]:
    """Centre and spread to bend a column by, 0 to leave it; and whether it must be bent."""
    few = len(np.unique(values[:: _step(values)])) <= _FEW_VALUES
    from_median, from_zero = _usual(values - median, share), _usual(values, share)
    if few or not (0.0 < from_median < np.inf and 0.0 < from_zero < np.inf):
        return 0.0, 0.0, False
    away = np.clip((values - median) / from_median, -1e150, 1e150)  # which can be squared
    wild = _deviation(away, share) > _WILD
    if _correlation(away, bend(values, 0.0, from_zero), share) < alike:
        return 0.0, from_zero, wild
    return (median, from_median, True) if wild else (0.0, 0.0, False)


def _step(values: np.ndarray) -> int:
    return -(-len(values) // _ROWS)


def _usual(away: np.ndarray, share: np.ndarray) -> float:
    """The usual size of a number; where most are 0, that of the others."""
    some = slice(None, None, _step(away))
    size, weight = np.abs(away[some]), share[some]
    usual = weighted_median(size, weight)
    if usual > 0.0 or not size.any():
        return usual
    return weighted_median(size[size > 0.0], weight[size > 0.0])


def _deviation(values: np.ndarray, share: np.ndarray) -> float:
    return float(np.sqrt(share @ np.square(values - share @ values)))


def _correlation(a: np.ndarray, b: np.ndarray, share: np.ndarray) -> float:
    sizes = _deviation(a, share), _deviation(b, share)
    if not all(sizes):
        return 1.0
    return float(share @ ((a - share @ a) / sizes[0] * ((b - share @ b) / sizes[1])))
