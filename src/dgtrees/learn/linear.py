"""Linear models of standardised rows, for many penalties at once: ridge, and logistic regression.

They stand alone, as trees of one linear leaf, and as what all leaves of a tree have in common.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn import config_context
from sklearn.linear_model import LogisticRegression

from dgtrees.learn.quiet import quiet

__all__ = ["PENALTIES", "Linear", "linear_models"]

PENALTIES = (1e4, 1e3, 1e2, 1e1, 1.0, 1e-1)
"""Squared weights count so many times, against the sum of the rows' losses; strongest first."""

_ITERATIONS = 100


@dataclass(frozen=True)
class Linear:
    """Outputs weights @ x + bias: values, or scores of classes."""

    weights: np.ndarray
    bias: np.ndarray

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Outputs of rows, (rows, outputs)."""
        return X @ self.weights.T + self.bias


def linear_models(
    X: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    penalties: tuple[float, ...],
    classification: bool,
) -> list[Linear]:
    """One model for every penalty.

    Parameters
    ----------
    X : ndarray of shape (rows, d)
    target : ndarray of shape (rows, outputs)
        Values, or classes one-hot.
    weight : ndarray of shape (rows,)
    """
    if classification:
        return _logistic(X, target, weight, penalties)
    return _ridge(X.astype(np.float64), target, weight, penalties)


def _ridge(
    X: np.ndarray, target: np.ndarray, weight: np.ndarray, penalties: tuple[float, ...]
) -> list[Linear]:
    """Closed forms of all penalties from one decomposition."""
    total = weight.sum()
    center, middle = weight @ X / total, weight @ target / total
    root = np.sqrt(weight)[:, None]
    A, b = root * (X - center), root * (target - middle)
    if A.shape[1] <= A.shape[0]:
        values, vectors = np.linalg.eigh(A.T @ A)
        right = vectors.T @ (A.T @ b)

        def solve(penalty: float) -> np.ndarray:
            return vectors @ (right / (np.maximum(values, 0.0) + penalty)[:, None])
    else:  # more columns than rows: in the space of the rows
        values, vectors = np.linalg.eigh(A @ A.T)
        right = vectors.T @ b

        def solve(penalty: float) -> np.ndarray:
            return A.T @ (vectors @ (right / (np.maximum(values, 0.0) + penalty)[:, None]))

    weights = [solve(penalty).T for penalty in penalties]
    return [Linear(w, middle - w @ center) for w in weights]


def _logistic(
    X: np.ndarray, target: np.ndarray, weight: np.ndarray, penalties: tuple[float, ...]
) -> list[Linear]:
    """From the strongest penalty to the weakest, each from where the last one ended."""
    K, label = target.shape[1], target.argmax(axis=1)
    present = np.unique(label)
    found = []
    if len(present) < 2:
        bias = np.where(np.arange(K) == present[0], 0.0, -_absent(weight))
        return [Linear(np.zeros((K, X.shape[1])), bias) for _ in penalties]
    model = LogisticRegression(max_iter=_ITERATIONS, warm_start=True)
    for penalty in penalties:
        model.set_params(C=1.0 / penalty)
        with quiet(), config_context(assume_finite=True):
            model.fit(X, label, sample_weight=weight)
        weights, bias = np.zeros((K, X.shape[1])), np.full(K, -_absent(weight))
        if len(present) == 2:  # one function for the second class; the first one's is 0
            weights[present[1]] = model.coef_[0]
            bias[present] = 0.0, model.intercept_[0]
        else:
            weights[present], bias[present] = model.coef_, model.intercept_
        found.append(Linear(weights, bias))
    return found


def _absent(weight: np.ndarray) -> float:
    """How far below the others the score of a class lies that no row has."""
    return float(np.log(2.0 * (len(weight) + 1.0)))
