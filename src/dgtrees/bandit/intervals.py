"""Confidence intervals of weighted means that hold when few rows carry the weight.

Both intervals are those of the empirical likelihood (Owen 1988) with one row more at either end: of
the largest weight there may be, and the best or worst loss. A plain normal interval trusts that
every loss worth knowing has been seen; with weights in the tens it covers far less than it says.
The row more gives 0 losses among k rows nearly Clopper and Pearson's limit in place of 0.

The limits are those of Student's t, whose degrees of freedom come from the rows that carry the
weight, not from all rows, and are fewer where losses may lie beyond those seen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import fdtri

__all__ = [
    "LEAST_ROWS",
    "Ends",
    "carrying_rows",
    "likelihood_fall",
    "mean_interval",
    "ratio_interval",
]

# The variance of skewed losses is known as well as a normal one from a quarter of the rows: the
# factor is (kurtosis - 1) / 2, which is 4 for the exponential distribution.
_ROWS_A_DEGREE = 4
LEAST_ROWS = 1 + _ROWS_A_DEGREE  # one degree of freedom


class Ends(NamedTuple):
    """What a row more might bring: the largest weight, the least and the largest loss.

    `sure` if no loss can lie beyond them. If one may, the row more stands for too little.
    """

    weight: float
    least: float
    most: float
    sure: bool


def carrying_rows(weight: np.ndarray) -> float:
    """How many rows carry the variance, (sum w^2)^2 / sum w^4: k if k rows share all the weight.

    >>> carrying_rows(np.array([0.0, 2.0, 2.0, 2.0]))
    3.0
    """
    if not weight.any():
        return 0.0
    square = (weight / np.abs(weight).max()) ** 2
    return float(square.sum() ** 2 / np.sum(square**2))


def likelihood_fall(weight: np.ndarray, sure: bool, confidence: float) -> float:
    """Twice the fall of the log-likelihood that an interval allows: Student's t, squared."""
    freedom = (carrying_rows(weight) - 1) / (1 if sure else _ROWS_A_DEGREE)
    return float(fdtri(1, freedom, confidence))


def mean_interval(values: np.ndarray, ends: tuple[float, float], allowed: float) -> np.ndarray:
    """Interval of the mean of values, with one value more at either end.

    `allowed` is what `likelihood_fall` says.
    """
    low = -_upper_limit(np.append(-values, -ends[0]), allowed)
    return np.array([low, _upper_limit(np.append(values, ends[1]), allowed)])


def ratio_interval(
    weight: np.ndarray, losses: np.ndarray, ends: Ends, allowed: float
) -> np.ndarray:
    """Interval of the mean of w l over the mean of w, within the least and the largest loss.

    All ratios v for which w (l - v) may have a mean of 0: no linearisation, so that no limit can
    lie where no loss does.
    """
    weight = np.append(weight, ends.weight) / ends.weight
    low = -_upper_ratio(weight, np.append(-losses, -ends.least), allowed)
    return np.array([low, _upper_ratio(weight, np.append(losses, ends.most), allowed)])


def _upper_ratio(weight: np.ndarray, losses: np.ndarray, allowed: float) -> float:
    """The largest ratio within the region; the last row is the one more, of the largest loss."""

    def excess(ratio: float) -> float:
        return _upper_limit(weight * (losses - ratio), allowed)

    most = losses[-1]
    start = np.average(losses[:-1], weights=weight[:-1])
    if excess(most) >= 0:
        return float(most)
    if excess(start) <= 0:
        return float(start)
    return float(brentq(excess, start, most, xtol=1e-10 * (most - start)))


def _upper_limit(values: np.ndarray, allowed: float) -> float:
    """The largest mean that reweighted values have within the empirical likelihood's region.

    The weights on the region's border are proportional to 1 / (gamma - value) for a gamma above
    all values: one number to search for, by its logarithm.
    """
    top, spread = values.max(), np.ptp(values)
    if spread == 0:
        return float(top)
    below = (top - values) / spread

    def excess(log_gap: float) -> float:
        gap = below + np.exp(log_gap)
        return float(2 * (np.log(gap).sum() + len(gap) * np.log(np.mean(1 / gap))) - allowed)

    if excess(-35.0) <= 0:
        return float(top)
    share = 1 / (below + np.exp(brentq(excess, -35.0, 35.0, xtol=1e-9)))
    return float(top - spread * np.average(below, weights=share))
