"""What a policy would have cost, judged by the log of another one.

This module owns the four estimators and their intervals; logs come from logs.py. With w the
probability of the logged action under the policy, over its probability when it was logged, l its
loss, and q(x, a) a model of the loss:

    ips     mean of w l
    snips   mean of w l, over the mean of w
    dm      mean of q(x, a) under the policy
    dr      mean of q(x, a) under the policy, plus w (l - q(x, logged a))

ips, snips and dr are means of `base + w * residual` and share one interval: the empirical
likelihood interval of a mean (Owen 1988), with one row more at either end, of the log's largest
weight and its best or worst loss. A plain normal interval trusts that every
loss worth knowing has been seen; with weights in the tens it covers far less than it says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import fdtri, stdtrit

from dgtrees.bandit.checks import shown
from dgtrees.bandit.logs import Log
from dgtrees.bandit.loss_model import cross_fitted, fitted

__all__ = ["Estimate", "evaluate"]

METHODS = ("ips", "snips", "dm", "dr")


@dataclass(frozen=True)
class Estimate:
    """The expected loss of a policy, as a log tells it.

    Attributes
    ----------
    value, low, high : float
        The estimate and its confidence interval.
    method : str
    confidence : float
    rows : int
        Rows of the log.
    matched_rows : int
        Rows whose logged action the policy might have taken.
    effective_rows : float
        As many rows without weights would say as much: (sum w)^2 / sum w^2.
    max_weight, mean_weight : float
        The largest weight, and their mean, which is near 1 if the logged probabilities are right.
    """

    value: float
    low: float
    high: float
    method: str
    confidence: float
    rows: int
    matched_rows: int
    effective_rows: float
    max_weight: float
    mean_weight: float

    def __str__(self) -> str:
        return (
            f"{self.value:.4f} [{self.low:.4f}, {self.high:.4f}] ({self.method}, "
            f"{100 * self.confidence:g} %, {self.effective_rows:.0f} effective of {self.rows} rows)"
        )


def evaluate(
    policy: Any,
    log: Log,
    method: str = "snips",
    *,
    confidence: float = 0.95,
    ridge: float = 1.0,
    folds: int = 5,
    random_state: int = 0,
) -> Estimate:
    """Estimate the expected loss of a policy from a log of another policy's decisions.

    Parameters
    ----------
    policy : object or array
        Something with ``action_probabilities(X)``, shape (rows, n_actions), or with
        ``predict(X)``, the actions of shape (rows,) it takes for certain; or either array itself.
        Where both methods exist the first is used: pass ``policy.predict(log.X)`` to judge the
        greedy policy.
    log : Log
        The policy must not have been trained on these rows.
    method : {"snips", "ips", "dm", "dr"}
        "ips" is unbiased; "snips" is a little biased and less noisy; "dr" is unbiased too and the
        least noisy where losses can be predicted; "dm" trusts its model of the loss, and its
        interval does not know how wrong that model is.
    confidence : float, default 0.95
    ridge : float, default 1.0
        Penalty of the linear loss models of "dm" and "dr" (one an action, standardised features).
    folds : int, default 5
        "dr" predicts each fold's losses by models of the others.
    random_state : int, default 0
        Seed of the folds.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, actions = rng.normal(size=(2000, 1)), rng.integers(0, 2, size=2000)
    >>> losses = (actions != (X[:, 0] > 0)).astype(float)
    >>> log = Log(X, actions, np.full(2000, 0.5), losses, n_actions=2)
    >>> print(evaluate(np.zeros(2000, dtype=int), log))
    0.4707 [0.4397, 0.5019] (snips, 95 %, 1024 effective of 2000 rows)
    """
    if not isinstance(log, Log):
        raise ValueError(f"log must be a Log, got {shown(log)}: read it by read_log")
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence!r}")
    if not np.isfinite(ridge) or ridge <= 0:
        raise ValueError(f"ridge must be a number above 0, got {ridge!r}")
    if len(log) < 2:
        raise ValueError(f"a log must have at least 2 rows to be judged by, got {len(log)}")
    chances = _chances(policy, log)
    with np.errstate(over="ignore"):
        weight = chances[np.arange(len(log)), log.actions] / log.probabilities
    if method != "dm" and not weight.any():
        raise ValueError(
            f"{method} needs rows whose logged action the policy would take, got none in "
            f"{len(log)}: log more exploration, or use method='dm'"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        if method == "dm":
            influence = _model_influence(chances, log, ridge)
            value = influence.mean()
            reach = stdtrit(len(log) - 1, 0.5 + confidence / 2) * influence.std(ddof=1)
            low, high = value + np.array([-1, 1]) * reach / np.sqrt(len(log))
        else:
            parts = _parts(method, weight, chances, log, ridge, folds, random_state)
            value = float(np.mean(parts.base + weight * parts.residual))
            low, high = _interval(parts, weight, confidence)
    if not np.isfinite([value, low, high]).all():
        raise ValueError(
            f"features, losses and weights must stay within float64, got an estimate of {value}: "
            "scale features and losses down"
        )
    return Estimate(
        value=float(value),
        low=float(low),
        high=float(high),
        method=method,
        confidence=float(confidence),
        rows=len(log),
        matched_rows=int(np.count_nonzero(weight)),
        effective_rows=_effective_rows(weight),
        max_weight=float(weight.max()),
        mean_weight=float(weight.mean()),
    )


def _chances(policy: Any, log: Log) -> np.ndarray:
    """Probability of every action in every row under the policy, shape (rows, n_actions)."""
    if hasattr(policy, "action_probabilities"):
        given = np.asarray(policy.action_probabilities(log.X))
        if given.ndim != 2:
            raise ValueError(
                f"action_probabilities must have shape {(len(log), log.n_actions)}, "
                f"got {given.shape}"
            )
    elif hasattr(policy, "predict"):
        given = np.asarray(policy.predict(log.X))
    else:
        given = np.asarray(policy)
    if given.ndim == 2:
        return _checked_probabilities(given, log)
    if given.shape != (len(log),):
        raise ValueError(
            f"a policy must give actions of shape ({len(log)},) or probabilities of shape "
            f"{(len(log), log.n_actions)}, got {given.shape}"
        )
    whole = given.dtype.kind in "iu" or (given.dtype.kind == "f" and (given % 1 == 0).all())
    if not whole:
        raise ValueError(f"a policy's actions must be whole numbers, got {given[:3]}...")
    unknown = (given < 0) | (given >= log.n_actions)
    if unknown.any():
        raise ValueError(
            f"a policy's actions must be from 0 to {log.n_actions - 1}, got {given[unknown][0]}: "
            "read the log with n_actions=... if it did not show all of them"
        )
    chances = np.zeros((len(log), log.n_actions))
    chances[np.arange(len(log)), given.astype(np.int64)] = 1.0
    return chances


def _checked_probabilities(given: np.ndarray, log: Log) -> np.ndarray:
    if given.shape != (len(log), log.n_actions) or given.dtype.kind not in "fiu":
        raise ValueError(
            f"a policy's probabilities must be numbers of shape {(len(log), log.n_actions)}, "
            f"got {given.dtype} of shape {given.shape}: read the log with n_actions=... if it did "
            "not show all actions"
        )
    chances = given.astype(np.float64)
    total = chances.sum(axis=1)
    # Probabilities computed in float32 add up to 1 within 1e-6.
    bad = ~((chances >= 0).all(axis=1) & (np.abs(total - 1) < 1e-5))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"a policy's probabilities must be at least 0 and add up to 1, got {chances[row]} "
            f"in row {row}"
        )
    return chances


class _Parts(NamedTuple):
    """The estimate is the mean of base + weight * residual, all of shape (rows,).

    `best` and `worst` are the residuals of the log's extreme losses where the prediction is what
    it is on average: what one row more might bring.
    """

    base: np.ndarray
    residual: np.ndarray
    best: float
    worst: float


def _parts(
    method: str,
    weight: np.ndarray,
    chances: np.ndarray,
    log: Log,
    ridge: float,
    folds: int,
    random_state: int,
) -> _Parts:
    losses, least, most = log.losses, log.losses.min(), log.losses.max()
    if method == "ips":
        return _Parts(np.zeros(len(log)), losses, least, most)
    if method == "snips":
        # The delta method: a ratio varies as the mean of its linearisation does.
        value, unit = np.average(losses, weights=weight), weight.mean()
        base = np.full(len(log), value)
        return _Parts(base, (losses - value) / unit, (least - value) / unit, (most - value) / unit)
    if not 2 <= folds <= len(log):
        raise ValueError(f"folds must be from 2 to the {len(log)} rows, got {folds!r}")
    predicted = cross_fitted(log, ridge, folds, random_state)
    taken = predicted[np.arange(len(log)), log.actions]
    base = np.einsum("ij,ij->i", chances, predicted)
    return _Parts(base, losses - taken, least - base.mean(), most - base.mean())


def _model_influence(chances: np.ndarray, log: Log, ridge: float) -> np.ndarray:
    """Values (rows,) whose mean is the direct estimate and whose spread is its own.

    Their spread has the noise of the models' coefficients in it: a linear model weighs the logged
    losses, and a row's influence is its weight times its residual.
    """
    models = fitted(log, ridge)
    influence = np.zeros(len(log))
    for action, model in models.items():
        share = chances[:, action]
        influence += share * model.predict(log.X)
        rows = np.flatnonzero(log.actions == action)
        residual = log.losses[rows] - model.predict(log.X[rows])
        influence[rows] += len(log) * model.pull(share, log.X, rows) * residual
    return influence


def _interval(parts: _Parts, weight: np.ndarray, confidence: float) -> tuple[float, float]:
    """Confidence interval of the mean of base + weight * residual."""
    values = parts.base + weight * parts.residual
    ends = parts.base.mean() + weight.max() * np.array([min(parts.best, 0), max(parts.worst, 0)])
    low = -_upper_limit(np.append(-values, -ends[0]), confidence)
    high = _upper_limit(np.append(values, ends[1]), confidence)
    return min(low, float(values.mean())), max(high, float(values.mean()))


def _upper_limit(values: np.ndarray, confidence: float) -> float:
    """The largest mean that reweighted values have within the empirical likelihood's region.

    The weights on the region's border are proportional to 1 / (gamma - value) for a gamma above
    all values: one number to search for, by halving its logarithm's range.
    """
    rows = len(values)
    top, spread = values.max(), np.ptp(values)
    if spread == 0:
        return float(top)
    allowed = fdtri(1, rows - 1, confidence)
    below = (top - values) / spread
    low, high = -35.0, 35.0
    for _ in range(60):
        middle = (low + high) / 2
        gap = below + np.exp(middle)
        ratio = 2 * (np.log(gap).sum() + rows * np.log(np.mean(1 / gap)))
        low, high = (middle, high) if ratio > allowed else (low, middle)
    share = 1 / (below + np.exp(high))
    return float(top - spread * np.average(below, weights=share))


def _effective_rows(weight: np.ndarray) -> float:
    if not weight.any():
        return 0.0
    scaled = weight / weight.max()
    return float(scaled.sum() ** 2 / np.sum(scaled**2))
