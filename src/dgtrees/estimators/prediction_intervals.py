"""How far off a forest is: the trees' disagreement, calibrated by rows they have not seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Intervals"]

_STEPS = 1000
"""Steps in which the distribution of errors is kept, whatever the number of rows."""


@dataclass(frozen=True)
class Intervals:
    """Half widths of prediction intervals.

    Parameters
    ----------
    typical_spread : ndarray of shape (outputs,)
        Root mean square of the trees' deviation from each other.
    errors : ndarray of shape (1001, outputs)
        Error that 0, 1, 2, .. thousandths of the rows do not exceed, as a multiple of the error
        that the trees' disagreement lets expect.
    """

    typical_spread: np.ndarray
    errors: np.ndarray

    def __post_init__(self) -> None:
        if self.errors.shape != (_STEPS + 1, *self.typical_spread.shape):
            raise ValueError(
                f"errors must have shape {(_STEPS + 1, *self.typical_spread.shape)}, got "
                f"{self.errors.shape}"
            )

        if not (np.all(self.errors >= 0) and np.all(self.typical_spread >= 0)):
            raise ValueError("errors and spreads must be at least 0, got some below, or NaN")

    @classmethod
    def learnt(cls, errors: np.ndarray, spread: np.ndarray, weight: np.ndarray) -> Intervals:
        """From errors and spreads (rows, outputs) of rows that the trees have not seen.

        >>> errors = np.arange(100.0)[:, None]
        >>> intervals = Intervals.learnt(errors, np.ones((100, 1)), np.ones(100))
        >>> intervals.half_width(np.ones((1, 1)), coverage=0.9)
        array([[89.]])
        """
        typical = np.sqrt(np.average(spread**2, axis=0, weights=weight))
        expected = _expected_error(spread, typical)
        shares = np.abs(errors) / expected
        return cls(typical, np.stack([_quantiles(s, weight) for s in shares.T], axis=1))

    def half_width(self, spread: np.ndarray, coverage: float) -> np.ndarray:
        """Half widths (rows, outputs) for the share `coverage` of targets."""
        expected = _expected_error(spread, self.typical_spread)
        return expected * self.errors[int(np.ceil(coverage * _STEPS))]


def _expected_error(spread: np.ndarray, typical: np.ndarray) -> np.ndarray:
    """Error to expect, up to a factor: trees may all agree by chance, hence the second term.

    Trees that always agree say nothing: intervals are then equally wide everywhere.
    """
    return np.where(typical > 0, np.sqrt(spread**2 + typical**2), 1.0)


def _quantiles(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The least value that is not exceeded by each of 0, 1, .. thousandths of the weight."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weight[order])
    wanted = np.linspace(0.0, 1.0, _STEPS + 1) * below[-1]
    # The last digits of a sum must not push a quantile to the next value.
    place = np.searchsorted(below, wanted * (1.0 - 1e-12))
    return values[order][np.minimum(place, len(values) - 1)]
