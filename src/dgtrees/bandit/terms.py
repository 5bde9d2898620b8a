"""The terms of the four estimators of evaluate.py, one a row of the log, and what no row tells.

With w the probability of the logged action under the policy, over its probability when it was
logged, l its loss, and q(x, a) a model of the loss:

    ips     mean of w l
    snips   mean of w l, over the mean of w
    dm      mean of q(x, a) under the policy
    dr      mean of q(x, a) under the policy, plus w (l - q(x, logged a))

What the policy does where the log shows nothing is in none of these: its share is kept apart, and
may have cost anything from the least to the largest loss.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dgtrees.bandit.logs import Log
from dgtrees.bandit.loss_model import fit_models, predict_across_folds

__all__ = ["Terms", "compute_terms", "largest_weight", "weights"]

_ROUNDING = 1e-5  # probabilities in float32 add up to 1 within 1e-6


class Terms(NamedTuple):
    """An estimate varies as the mean of base + weight * residual, all of shape (rows,), does.

    `unseen` is the share of the policy's choices that no row tells of, `guessed` what `base` counts
    for it, and `doubt` the deviation of what a model predicts by its penalty in place of rows.
    """

    value: float
    base: np.ndarray
    weight: np.ndarray
    residual: np.ndarray
    unseen: float
    guessed: float = 0.0
    doubt: float = 0.0

    def usual_weight(self) -> float:
        """The weight of a row of those that carry it: of the direct method's row more.

        Its weights come from a line through the features, and the largest from an outlier.
        """
        size = np.abs(self.weight)
        return float(np.average(size, weights=size)) if size.any() else 0.0


def weights(chances: np.ndarray, log: Log) -> np.ndarray:
    """Probability of the logged actions under the policy, over the logged one, (rows,)."""
    with np.errstate(over="ignore"):
        return chances[np.arange(len(log)), log.actions] / log.probabilities


def largest_weight(weight: np.ndarray, chances: np.ndarray, log: Log) -> float:
    """The largest weight of the log's rows, had they shown other actions than they do.

    All actions but the logged one had 1 - p between them, so one of them had no more than its part
    of that: where the policy would not do what was logged, a weight may be larger than any seen.
    """
    other = 1 - chances[np.arange(len(log)), log.actions]
    rest = 1 - log.probabilities
    known = (other > _ROUNDING) & (rest > 0)
    return float(max(weight.max(), np.max(other[known] / rest[known], initial=0.0)))


def compute_terms(
    method: str, chances: np.ndarray, log: Log, ridge: float, folds: int, seed: int
) -> Terms:
    """The terms of one method: "ips", "snips", "dm" or "dr"."""
    if method == "dm":
        return _model_terms(chances, log, ridge)
    weight = weights(chances, log)
    hidden = _hidden(weight, chances, log)
    unseen = float(hidden.sum() / len(log))
    if method == "ips":
        value = float(np.mean(weight * log.losses))
        return Terms(value, np.zeros(len(log)), weight, log.losses, unseen)
    if method == "snips":
        value = float(np.average(log.losses, weights=weight)) if weight.any() else np.nan
        return Terms(value, np.zeros(len(log)), weight, log.losses, unseen)
    predicted = predict_across_folds(log, ridge, folds, seed)
    base = np.einsum("ij,ij->i", chances, predicted)
    residual = log.losses - predicted[np.arange(len(log)), log.actions]
    value = float(np.mean(base + weight * residual))
    return Terms(
        value, base, weight, residual, unseen, float(np.sum(hidden * predicted) / len(log))
    )


def _hidden(weight: np.ndarray, chances: np.ndarray, log: Log) -> np.ndarray:
    """The part of the policy's probabilities (rows, n_actions) that no weight stands for.

    Actions that no row matches, and whatever was not certain to be done where something was.
    """
    matched = np.bincount(log.actions, weights=weight, minlength=log.n_actions) > 0
    hidden = np.where(matched, 0.0, chances)
    certain = np.flatnonzero(log.probabilities >= 1)
    hidden[certain] = chances[certain]
    hidden[certain, log.actions[certain]] = 0.0
    return hidden


def _model_terms(chances: np.ndarray, log: Log, ridge: float) -> Terms:
    """The direct method: a linear model weighs the losses it has learnt from.

    Residuals are those of a model without their own row, so that a model which has learnt its few
    rows by heart does not pass for a certain one. One row cannot be left out of one.
    """
    models = fit_models(log, ridge)
    design = models[0].design(log.X)  # the same for all actions
    base, weight, residual = np.zeros((3, len(log)))
    unseen = guessed = doubt = 0.0
    for action, model in enumerate(models):
        share, rows = chances[:, action], np.flatnonzero(log.actions == action)
        mean = share @ design / len(log)
        base += share * (design @ model.coefficients)
        if len(rows) < 2:
            unseen += share.mean()
            guessed += mean @ model.coefficients
            continue
        weight[rows] = len(log) * model.pull(mean, design[rows])
        residual[rows] = model.left_out(design[rows], log.losses[rows])
        doubt += model.doubt(mean, ridge)
    doubt = float(log.losses.std() * np.sqrt(doubt))
    return Terms(float(base.mean()), base, weight, residual, unseen, guessed, doubt)
