"""A policy as a plain supervised tree: learnt from a log, by doubly robust losses.

The loss of every action in every context is estimated by a model of the losses (`loss_model`, each
fold by the others), corrected where the action was taken by its error over its probability: right
on average if either the model or the probabilities are. An action then counts in a context by how
much less it is estimated to cost than the worst there: a classifier that is fitted to all actions
with these weights chooses those of least estimated loss.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from dgtrees.bandit.checks import number, shown, whole_number
from dgtrees.bandit.decision_log import DecisionLog
from dgtrees.bandit.logs import Log
from dgtrees.bandit.loss_model import predict_across_folds
from dgtrees.tables.encoder import is_frame

__all__ = ["fit_from_log", "robust_losses"]

Classifier = TypeVar("Classifier")
_MOST_CELLS = 50_000_000


def robust_losses(
    log: Log, *, ridge: float = 1.0, folds: int = 5, cap: float = 20.0, random_state: int = 0
) -> np.ndarray:
    """Doubly robust estimates of the loss of every action, shape (rows, n_actions).

    Parameters
    ----------
    log : Log
    ridge, folds, random_state
        Of the models of the loss, as in `evaluate`.
    cap : float, default 20
        The most that an error counts for the rarity of its action: 1 / probability up to this.

    Examples
    --------
    >>> log = Log(np.zeros((4, 1)), [0, 1, 0, 1], [0.5] * 4, [1.0, 0.0, 1.0, 0.0], n_actions=2)
    >>> robust_losses(log, folds=2).mean(axis=0).round(1).tolist()
    [1.0, 0.0]
    """
    if len(log) < 2:
        raise ValueError(f"a log must have at least 2 rows to learn from, got {len(log)}: log more")
    whole_number("folds", folds, 2, len(log), ": take fewer, or log more")
    whole_number("random_state", random_state, 0, 2**63 - 1)
    for name, value in (("ridge", ridge), ("cap", cap)):
        if not 0 < number(name, value) < np.inf:
            raise ValueError(f"{name} must be a number above 0, got {shown(value)}: leave it out")
    found = predict_across_folds(log, ridge, folds, random_state)
    rows = np.arange(len(log))
    missed = log.losses - found[rows, log.actions]
    found[rows, log.actions] += missed * np.minimum(1.0 / log.probabilities, cap)
    return found


def fit_from_log(
    classifier: Classifier,
    log: Log | DecisionLog,
    *,
    ridge: float = 1.0,
    folds: int = 5,
    cap: float = 20.0,
    random_state: int = 0,
) -> Classifier:
    """Fit a classifier, a `DGTClassifier` say, to choose the actions of least estimated loss.

    Parameters
    ----------
    classifier : anything with ``fit(X, y, sample_weight=...)``
    log : Log or DecisionLog
        Of a DecisionLog, actions keep their names, and contexts that came as a frame go to the
        classifier as one; otherwise they are encoded, as `DecisionLog.to_log` does.
    ridge, folds, cap, random_state
        See `robust_losses`.

    Returns
    -------
    The classifier, fitted: its ``predict`` is a policy, which `evaluate` can judge.

    Examples
    --------
    >>> from dgtrees import DGTClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, actions = rng.normal(size=(600, 2)), rng.integers(0, 2, size=600)
    >>> log = Log(X, actions, np.full(600, 0.5), (actions != (X[:, 0] > 0)) * 1.0, n_actions=2)
    >>> tree = fit_from_log(DGTClassifier(max_depth=2, random_state=0), log)
    >>> tree.predict([[-1.0, 0.0], [1.0, 0.0]]).tolist()
    [0, 1]
    """
    if isinstance(classifier, type) or not hasattr(classifier, "fit"):
        raise TypeError(
            f"classifier must have a method fit, got {shown(classifier)}: give DGTClassifier()"
        )
    if not isinstance(log, (Log, DecisionLog)):
        remedy = "log_from_frame" if is_frame(log) else "read_decisions"
        raise ValueError(f"log must be a Log or a DecisionLog, got {shown(log)}: {remedy} it")
    numbers = log if isinstance(log, Log) else log.to_log()
    names = np.arange(log.n_actions) if isinstance(log, Log) else np.array(log.actions)
    cells = len(numbers) * numbers.n_actions
    if cells > _MOST_CELLS:
        raise ValueError(
            f"a log must have at most {_MOST_CELLS} contexts times actions, got {cells}: take fewer"
        )
    losses = robust_losses(numbers, ridge=ridge, folds=folds, cap=cap, random_state=random_state)
    weight = losses.max(axis=1, keepdims=True) - losses
    row, action = np.nonzero(weight > 0)
    if not len(row):
        raise ValueError("losses must differ for a policy to be learnt, got equal ones: log more")
    counts = weight[row, action]
    frame = log.contexts if isinstance(log, DecisionLog) else None
    X: Any = numbers.X[row]
    if frame is not None and hasattr(frame, "iloc"):
        X = frame.iloc[row]
    classifier.fit(X, names[action], sample_weight=counts / counts.mean())  # type: ignore[attr-defined]
    return classifier
