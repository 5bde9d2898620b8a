"""Linear models of the loss of every action: what "dm" and "dr" in evaluate.py predict with.

One ridge regression an action on standardised features, with an intercept that is not penalised.
NumPy only. An action the log never shows is predicted to cost the log's mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgtrees.bandit.logs import Log

__all__ = ["LossModel", "fit_models", "predict_across_folds"]


@dataclass(frozen=True)
class LossModel:
    """One action's model: centre and scale (d,), coefficients and Gram matrix of d + 1.

    The mean of share * prediction over rows is `mean @ coefficients` for a `mean` of (d + 1,): the
    methods below say what that number owes to single losses and to the penalty.
    """

    centre: np.ndarray
    scale: np.ndarray
    coefficients: np.ndarray
    gram: np.ndarray

    def design(self, X: np.ndarray) -> np.ndarray:
        """Standardised features with a column of ones, (rows, d + 1)."""
        return _design(X, self.centre, self.scale)

    def pull(self, mean: np.ndarray, design: np.ndarray) -> np.ndarray:
        """How much `mean @ coefficients` moves with the losses of rows learnt from (rows,)."""
        return design @ np.linalg.solve(self.gram, mean)

    def left_out(self, design: np.ndarray, losses: np.ndarray) -> np.ndarray:
        """What the model misses losses learnt from by, had it learnt from the other rows only."""
        own = np.einsum("ij,ji->i", design, np.linalg.solve(self.gram, design.T))
        return (losses - design @ self.coefficients) / np.maximum(1 - own, 1e-12)

    def doubt(self, mean: np.ndarray, ridge: float) -> float:
        """Variance of `mean @ coefficients` by what the penalty decides in place of rows.

        In units of the losses' variance, over which a ridge presumes slopes to vary by 1 / ridge:
        where no row of the action has shown a feature, its slope may be anything of that size.
        """
        pull = np.linalg.solve(self.gram, mean)
        return float(pull @ _penalty(len(mean), ridge) @ pull)


def fit_models(log: Log, ridge: float) -> list[LossModel]:
    """The model of every action, from all rows."""
    centre, scale = _scales(log.X)
    design = _design(log.X, centre, scale)
    models = []
    for action in range(log.n_actions):
        rows = np.flatnonzero(log.actions == action)
        if len(rows):
            gram, moment = _sums(design[rows], log.losses[rows])
            gram = gram + _penalty(len(gram), ridge)
            models.append(LossModel(centre, scale, np.linalg.solve(gram, moment), gram))
        else:
            flat = np.append(np.zeros(len(centre)), log.losses.mean())
            models.append(LossModel(centre, scale, flat, np.eye(len(flat))))
    return models


def predict_across_folds(log: Log, ridge: float, folds: int, seed: int) -> np.ndarray:
    """Losses (rows, n_actions), each row predicted by models of the other folds' rows."""
    centre, scale = _scales(log.X)
    design = _design(log.X, centre, scale)
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


def _design(X: np.ndarray, centre: np.ndarray, scale: np.ndarray) -> np.ndarray:
    return np.hstack([(X - centre) / scale, np.ones((len(X), 1))])


def _scales(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    centre, scale = X.mean(axis=0), X.std(axis=0)
    # A column of one value has a spread of rounding errors only.
    constant = scale <= 1e-12 * np.abs(X).max(axis=0, initial=0.0)
    return centre, np.where(constant, 1.0, scale)


def _sums(design: np.ndarray, losses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return design.T @ design, design.T @ losses


def _penalty(size: int, ridge: float) -> np.ndarray:
    return np.diag(np.append(np.full(size - 1, ridge), 0.0))
