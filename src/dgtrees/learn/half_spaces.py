"""HalfSpace: the plane that sends rows to their cheaper side, as far as a plane can.

Rows come with what they gain or lose on the right side (cost there minus cost on the left). The
sum over the rows on the right is what a split costs, and it has no slope: a logistic regression
that knows the better side of every row starts, and smooth steps of growing steepness follow, which
come ever closer to the sum itself. The start stays where they do not lower it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

__all__ = ["HalfSpace", "fit_half_space"]

_STEEPNESS = (1.0, 2.0, 4.0, 8.0)
"""Of the smooth steps, in units of the typical margin."""

_RIDGE = 1e-3


class HalfSpace(NamedTuple):
    """Rows x with weights @ x + bias >= 0 are on the right."""

    weights: np.ndarray
    bias: float

    def margins(self, X: np.ndarray) -> np.ndarray:
        """Where rows (rows, d) lie, (rows,)."""
        return np.asarray(X @ self.weights + self.bias)

    def cost(self, X: np.ndarray, gain: np.ndarray) -> float:
        """What the split costs, less what all rows cost on the left."""
        return float(gain[self.margins(X) >= 0].sum())


def fit_half_space(
    X: np.ndarray, gain: np.ndarray, start: HalfSpace, *, logistic: bool = False, steps: int = 20
) -> HalfSpace:
    """A half-space that costs no more than `start`.

    Parameters
    ----------
    X : ndarray of shape (rows, d)
    gain : ndarray of shape (rows,)
        Cost on the right minus cost on the left; below 0 the row belongs on the right.
    start : HalfSpace
    logistic : bool
        Whether to look at a weighted logistic regression first; `start` may be poor then.
    steps : int
        Most steps of the optimiser at each steepness.
    """
    total = np.abs(gain).sum()
    if not total > 0:
        return start
    best, least = start, start.cost(X, gain)
    if logistic:
        found = _logistic(X, gain / total, _scaled(X, start), steps)
        if (cost := found.cost(X, gain)) < least:
            best, least = found, cost
    found = _stepwise(X, gain / total, _scaled(X, best), steps)
    return found if found.cost(X, gain) < least else best


def _scaled(X: np.ndarray, plane: HalfSpace) -> HalfSpace:
    """The same half-space with margins of about 1."""
    size = float(np.median(np.abs(plane.margins(X))))
    return plane if not size > 0 else HalfSpace(plane.weights / size, plane.bias / size)


def _minimized(X: np.ndarray, start: HalfSpace, loss: object, steps: int) -> HalfSpace:
    """Where L-BFGS ends; `loss` gives the value and the slopes with respect to the margins."""

    def value(packed: np.ndarray) -> tuple[float, np.ndarray]:
        total, slope = loss(X @ packed[:-1] + packed[-1], packed[:-1])  # type: ignore[operator]
        gradient = np.append(X.T @ slope, slope.sum())
        gradient[:-1] += ridge * packed[:-1]
        return total + 0.5 * ridge * float(packed[:-1] @ packed[:-1]), gradient

    ridge = _RIDGE * float(np.square(X).sum(axis=1).mean()) / X.shape[1]
    packed = np.append(start.weights, start.bias)
    found = minimize(value, packed, jac=True, method="L-BFGS-B", options={"maxiter": steps}).x
    return HalfSpace(found[:-1], float(found[-1]))


def _logistic(X: np.ndarray, gain: np.ndarray, start: HalfSpace, steps: int) -> HalfSpace:
    """Weighted logistic regression of the better sides."""
    side, weight = np.where(gain < 0, 1.0, -1.0), np.abs(gain)

    def loss(margins: np.ndarray, _: np.ndarray) -> tuple[float, np.ndarray]:
        away = -side * margins
        return float(weight @ np.logaddexp(0.0, away)), -side * weight * expit(away)

    return _minimized(X, start, loss, steps)


def _stepwise(X: np.ndarray, gain: np.ndarray, start: HalfSpace, steps: int) -> HalfSpace:
    """The cost with a sigmoid in the place of every decision, ever steeper."""
    plane = start
    for steepness in _STEEPNESS:

        def loss(margins: np.ndarray, _: np.ndarray, s: float = steepness) -> tuple:
            right = expit(s * margins)
            return float(gain @ right), s * gain * right * (1.0 - right)

        plane = _minimized(X, plane, loss, steps)
    return plane
