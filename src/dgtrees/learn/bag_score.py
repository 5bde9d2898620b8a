"""Scores of rows that are learnt from labels of bags: the loss of bags, and linear scores.

A row's score is the logarithm of its odds, a bag's is made of those of its rows (`tables.bags`),
and the loss is the log-loss of bags. The highest row alone would tell nothing about the others, so
that "max" is approached from "sum" by sharper and sharper odds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from dgtrees.tables.bags import Bags

__all__ = ["BagTable", "fit_scores", "loss_of_bags", "stages_of"]

_SHARP = 10.0
"""Odds so sharp stand for the highest row while a linear score is trained."""

_ITERATIONS, _TOLERANCE = 60, 1e-5


@dataclass(frozen=True)
class BagTable:
    """Rows X (rows, d), standardised and bag by bag; their bags, and a label 0 or 1 per bag."""

    X: np.ndarray
    bags: Bags
    label: np.ndarray

    def take(self, chosen: np.ndarray) -> BagTable:
        """Some of the bags; one may come several times."""
        rows, bags = self.bags.take(chosen)
        return BagTable(self.X[rows], bags, self.label[chosen])


def stages_of(pooling: str) -> tuple[tuple[str, float], ...]:
    """Poolings and sharpness to train with, one after the other.

    >>> stages_of("max")
    (('sum', 1.0), ('sum', 10.0))
    """
    return (("sum", 1.0), ("sum", _SHARP)) if pooling == "max" else ((pooling, 1.0),)


def loss_of_bags(
    scores: np.ndarray, bags: Bags, label: np.ndarray, pooling: str, sharpness: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Log-loss of every bag (bags,), and its slope in the score of every row (rows,)."""
    pooled, shares = bags.pool_and_shares(scores, pooling, sharpness)
    side = 2.0 * label - 1.0
    losses = np.logaddexp(0.0, -side * pooled)
    slopes = -side * expit(-side * pooled)
    return losses, slopes[bags.number] * shares


def fit_scores(
    A: np.ndarray,
    bags: Bags,
    label: np.ndarray,
    penalty: np.ndarray,
    stage: tuple[str, float],
    start: np.ndarray,
) -> np.ndarray:
    """Coefficients w (columns,) of scores A w, by quasi-Newton steps from `start`.

    Minimised is the mean loss of the bags plus half of the sum of penalty times squared
    coefficient.

    Parameters
    ----------
    A : ndarray of shape (rows, columns)
    penalty : ndarray of shape (columns,)
    stage : pair
        Pooling and sharpness.
    """
    weigh = 1.0 / len(label)

    def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
        scores = (A @ w.astype(A.dtype)).astype(np.float64)
        losses, slopes = loss_of_bags(scores, bags, label, *stage)
        gradient = (slopes * weigh).astype(A.dtype) @ A
        return losses.mean() + 0.5 * penalty @ (w * w), gradient + penalty * w

    options = {"maxiter": _ITERATIONS, "ftol": _TOLERANCE}
    return np.asarray(minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x)
