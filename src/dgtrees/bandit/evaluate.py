"""What a policy would have cost, judged by the log of another one.

This module owns the question and its answer: what it takes and what it refuses. Logs come from
logs.py, the estimators' terms from terms.py, and intervals from intervals.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dgtrees.bandit.checks import number, shown, whole_number
from dgtrees.bandit.decision import Decision
from dgtrees.bandit.decision_log import DecisionLog, log_from_frame
from dgtrees.bandit.intervals import (
    LEAST_ROWS,
    Ends,
    carrying_rows,
    likelihood_fall,
    mean_interval,
    ratio_interval,
)
from dgtrees.bandit.logs import Log
from dgtrees.bandit.named_chances import judged_by_name
from dgtrees.bandit.policy import FinitePolicy, Policy
from dgtrees.bandit.terms import Terms, compute_terms, largest_weight, weights
from dgtrees.tables.encoder import is_frame

__all__ = ["Estimate", "evaluate"]

METHODS = ("ips", "snips", "dm", "dr")

_MOST_UNSEEN = 0.5  # of more, the interval would tell the loss range rather than the policy


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
        As many rows without weights would say as much: (sum w)^2 / sum w^2, for "dm" with the
        weights its models give to the logged losses.
    max_weight, mean_weight : float
        The largest weight, and their mean, which is near 1 if the logged probabilities are right.
    unseen : float
        Share of the policy's choices that the log shows nothing of. The interval counts it at the
        least and at the largest loss.
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
    unseen: float = 0.0

    def __str__(self) -> str:
        unseen = f", {100 * self.unseen:.2g} % unseen" if self.unseen > 0 else ""
        return (
            f"{self.value:.4f} [{self.low:.4f}, {self.high:.4f}] ({self.method}, "
            f"{100 * self.confidence:g} %, {self.effective_rows:.0f} effective of {self.rows} "
            f"rows{unseen})"
        )


def evaluate(
    policy: FinitePolicy | Policy[Decision] | ArrayLike,
    log: Any,
    method: str = "snips",
    *,
    action: str = "action",
    probability: str = "probability",
    loss: str | None = None,
    reward: str | None = None,
    context: Iterable[str] | None = None,
    confidence: float = 0.95,
    ridge: float = 1.0,
    folds: int = 5,
    random_state: int = 0,
    loss_range: tuple[float, float] | None = None,
) -> Estimate:
    """Estimate the expected loss of a policy from a log of another policy's decisions.

    Parameters
    ----------
    policy : FinitePolicy, Policy or array
        Something with ``action_probabilities(X)``, shape (rows, n_actions), or with
        ``predict(X)``, the actions of shape (rows,) it takes for certain; or either array itself.
        Where both methods exist the first is used: pass ``policy.predict(log.X)`` to judge the
        greedy policy.
    log : Log, DecisionLog or data frame
        The policy must not have been trained on these rows. Of a DecisionLog or frame a policy is
        given the contexts as they are; actions count by their names, and where the log says which
        were allowed, a DGTBandit chooses among those.
    method : {"snips", "ips", "dm", "dr"}
        "ips" is unbiased; "snips" is a little biased and less noisy; "dr" is unbiased too and the
        least noisy where losses can be predicted; "dm" trusts its model of the loss, and its
        interval knows how noisy that model is, but not how wrong.
    action, probability, loss, reward, context
        Of a frame: names of its columns, see `log_from_frame`.
    confidence : float, default 0.95
    ridge : float, default 1.0
        Penalty of the linear loss models of "dm" and "dr" (one an action, standardised features).
    folds : int, default 5
        "dr" predicts each fold's losses by models of the others.
    random_state : int, default 0
        Seed of the folds.
    loss_range : (float, float), optional
        The least and the largest loss there may be; without it, those of the log. Where the log's
        losses have more than two values, intervals from a few rows are shorter with it.

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
    0.4707 [0.4398, 0.5019] (snips, 95 %, 1024 effective of 2000 rows)
    """
    if is_frame(log):
        named: Any = {"action": action, "probability": probability, "loss": loss, "reward": reward}
        log = log_from_frame(log, **named, context=context)
    _check(log, method, confidence, ridge, folds, random_state)
    if isinstance(policy, type) or policy is None or isinstance(policy, str):
        raise TypeError(
            f"policy must be a policy, a model or an array, got {shown(policy)}: make one"
        )
    if isinstance(log, DecisionLog):
        policy, log = judged_by_name(policy, log)
    least, most = _loss_range(loss_range, log)
    # Losses of two values are right or wrong: they have shown their range.
    sure = loss_range is not None or bool(np.isin(log.losses, (least, most)).all())
    chances = _chances(policy, log)
    weight = weights(chances, log)
    with np.errstate(over="ignore", invalid="ignore"):
        terms = compute_terms(method, chances, log, ridge, folds, random_state)
        top = largest_weight(terms.weight, chances, log) if method != "dm" else terms.usual_weight()
        reach = np.abs(terms.weight).max() * (np.abs(terms.residual).max() + most - least)
        _refuse_thin(terms, method, log)
    if not np.isfinite([terms.value, reach]).all():
        raise ValueError(
            f"features, losses and weights must stay within float64, got an estimate of "
            f"{terms.value}: scale features and losses down"
        )
    low, high = _interval(method, terms, log.losses, Ends(top, least, most, sure), confidence)
    return Estimate(
        value=terms.value,
        low=min(float(low), terms.value),
        high=max(float(high), terms.value),
        method=method,
        confidence=float(confidence),
        rows=len(log),
        matched_rows=int(np.count_nonzero(weight)),
        effective_rows=_effective_rows(terms.weight),
        max_weight=float(weight.max()),
        mean_weight=float(weight.mean()),
        unseen=terms.unseen,
    )


def _check(log: Any, method: str, confidence: Any, ridge: Any, folds: Any, seed: Any) -> None:
    if not isinstance(log, (Log, DecisionLog)):
        raise ValueError(
            f"log must be a Log, a DecisionLog or a frame, got {shown(log)}: read a file by "
            "read_decisions or read_log"
        )
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    if not 0 < number("confidence", confidence) < 1:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence!r}: 0.95 is usual")
    if not 0 < number("ridge", ridge) < np.inf:
        raise ValueError(f"ridge must be a number above 0, got {ridge!r}: 1.0 is usual")
    whole_number("random_state", seed, 0, 2**63 - 1)
    if len(log) < LEAST_ROWS:
        raise ValueError(
            f"a log must have at least {LEAST_ROWS} rows to be judged by, got {len(log)}: log more"
        )
    if method == "dr":
        whole_number("folds", folds, 2, len(log), ": 5 is usual")


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
        return _check_probabilities(given, log)
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


def _check_probabilities(given: np.ndarray, log: Log) -> np.ndarray:
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


def _loss_range(given: tuple[float, float] | None, log: Log) -> tuple[float, float]:
    """The least and the largest loss there may be."""
    least, most = float(log.losses.min()), float(log.losses.max())
    if given is None:
        if least == most:
            raise ValueError(
                f"losses must differ for an interval, got {least:g} in all {len(log)} rows: give "
                "the least and the largest loss there may be by loss_range=(low, high)"
            )
        return least, most
    try:
        low, high = (number("loss_range", end) for end in given)
    except (TypeError, ValueError):
        raise ValueError(f"loss_range must be two numbers, got {shown(given)}") from None
    if not (np.isfinite([low, high]).all() and low < high):
        raise ValueError(f"loss_range must be finite and ascend, got {shown(given)}")
    if least < low or most > high:
        outside = least if least < low else most
        raise ValueError(f"losses must lie in loss_range {low:g} to {high:g}, got {outside:g}")
    return low, high


def _refuse_thin(terms: Terms, method: str, log: Log) -> None:
    """Refuse what would be an answer about other actions than the policy's, or by a few rows."""
    advice = "log more of its actions, or judge a policy nearer to the logged one"
    if terms.unseen > _MOST_UNSEEN:
        raise ValueError(
            f"{method} needs rows of what the policy does, got none for {terms.unseen:.0%} of it "
            f"in {len(log)} rows: {advice}"
        )
    carrying = carrying_rows(terms.weight)
    if carrying < LEAST_ROWS:
        raise ValueError(
            f"{method} needs {LEAST_ROWS} rows that carry the policy's weight, got "
            f"{carrying:.1f} of {len(log)}: {advice}"
        )


def _interval(
    method: str, terms: Terms, losses: np.ndarray, ends: Ends, confidence: float
) -> np.ndarray:
    """The interval of the policy's expected loss, what the log does not show included."""
    extremes = np.array([ends.least, ends.most])
    allowed = likelihood_fall(terms.weight, ends.sure, confidence)
    if method == "snips":
        seen = ratio_interval(terms.weight, terms.residual, ends, allowed)
        return (1 - terms.unseen) * seen + terms.unseen * extremes
    values = terms.base + terms.weight * terms.residual
    values += terms.value - values.mean()
    # The prediction for those rows that carry the weight: by this the row more may be wrong.
    predicted = np.average(losses - terms.residual, weights=terms.weight**2)
    further = ends.weight * (extremes - predicted)
    limits = terms.base.mean() + np.array([min(further[0], 0.0), max(further[1], 0.0)])
    found = mean_interval(values, (limits[0], limits[1]), allowed)
    if terms.doubt > 0:
        reach = np.hypot(found - terms.value, np.sqrt(allowed) * terms.doubt)
        found = terms.value + np.array([-1, 1]) * reach
    found += terms.unseen * extremes - terms.guessed
    # No policy costs less than the least loss, whatever the weights say.
    return np.clip(found, ends.least, ends.most)


def _effective_rows(weight: np.ndarray) -> float:
    scaled = weight / np.abs(weight).max()
    return float(scaled.sum() ** 2 / np.sum(scaled**2))
