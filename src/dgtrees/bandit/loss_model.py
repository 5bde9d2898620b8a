"""Linear models of the loss of every action: what "dm" and "dr" in evaluate.py predict with.

One ridge regression an action on standardised features, with an intercept that is not penalised.
NumPy only. An action the log never shows is predicted to cost the log's mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgtrees.bandit.logs import Log

__all__ = ["LossModel", "cross_fitted", "fitted"]


@dataclass(frozen=True)
class LossModel:
    """One action's model: centre and scale (d,), coefficients and Gram matrix of d + 1."""

    centre: np.ndarray
    scale: np.ndarray
    coefficients: np.ndarray
    gram: np.ndarray | None = None

    def design(self, X: np.ndarray) -> np.ndarray:
        """Standardised features with a column of ones, (rows, d + 1)."""
        return np.hstack([(X - self.centre) / self.scale, np.ones((len(X), 1))])

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predicted losses (rows,)."""
        return self.design(X) @ self.coefficients

    def pull(self, share: np.ndarray, X: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """How much the mean of share * prediction over X moves with the losses of these rows."""
        if self.gram is None:
            return np.full(len(rows), share.mean() / max(len(rows), 1))
        mean = share @ self.design(X) / len(X)
        return self.design(X[rows]) @ np.linalg.solve(self.gram, mean)


def fitted(log: Log, ridge: float) -> dict[int, LossModel]:
    """The model of every action, from all rows."""
    centre, scale = _scales(log.X)
    design = LossModel(centre, scale, centre).design(log.X)
    models = {}
    for action in range(log.n_actions):
        rows = np.flatnonzero(log.actions == action)
        if len(rows):
            gram, moment = _sums(design[rows], log.losses[rows])
            gram = gram + _penalty(len(gram), ridge)
            models[action] = LossModel(centre, scale, np.linalg.solve(gram, moment), gram)
        else:
            flat = np.append(np.zeros(len(centre)), log.losses.mean())
            models[action] = LossModel(centre, scale, flat)
    return models


def cross_fitted(log: Log, ridge: float, folds: int, seed: int) -> np.ndarray:
    """Losses (rows, n_actions), each row predicted by models of the other folds' rows."""
    centre, scale = _scales(log.X)
    design = LossModel(centre, scale, centre).design(log.X)
    fold = np.random.default_rng(seed).permutation(len(log)) % folds
    means = [log.losses[fold != part].mean() for part in range(folds)]
    predicted = np.empty((len(log), log.n_actions))
    for action in range(log.n_actions):
        of_action = log.actions == action
        parts = [np.flatnonzero(of_action & (fold == part)) for part in range(folds)]
        sums = [_sums(design[rows], log.losses[rows]) for rows in parts]
        gram, moment = sum(g for g, _ in sums), sum(m for _, m in sums)
        for part in range(folds):
            inside = fold == part
            if np.count_nonzero(of_action) == len(parts[part]):
                predicted[inside, action] = means[part]
                continue
            rest = gram - sums[part][0] + _penalty(design.shape[1], ridge)
            coefficients = np.linalg.solve(rest, moment - sums[part][1])
            predicted[inside, action] = design[inside] @ coefficients
    return predicted


def _scales(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    centre, scale = X.mean(axis=0), X.std(axis=0)
    # A column of one value has a spread of rounding errors only.
    constant = scale <= 1e-12 * np.abs(X).max(axis=0, initial=0.0)
    return centre, np.where(constant, 1.0, scale)


def _sums(design: np.ndarray, losses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return design.T @ design, design.T @ losses


def _penalty(size: int, ridge: float) -> np.ndarray:
    return np.diag(np.append(np.full(size - 1, ridge), 0.0))
