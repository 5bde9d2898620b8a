"""Labelled rows of a simulation: what they must be, and what answers to them cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeGuard, cast

import numpy as np

from dgtrees.bandit.checks import shown
from dgtrees.bandit.feedback import loss_pair
from dgtrees.bandit.named_policy import NamedPolicy
from dgtrees.bandit.online_tree import OnlineTree
from dgtrees.bandit.policy import ContinuousPolicy, FinitePolicy, Policy
from dgtrees.tree.action_losses import LOSSES

__all__ = [
    "HeldOut",
    "check_policy",
    "compute_losses",
    "is_finite",
    "read_answers",
    "read_stream_rows",
    "read_targets",
]


def check_policy(policy: Any) -> None:
    """Refuse what cannot be played."""
    if isinstance(policy, type) or not isinstance(policy, Policy):
        raise TypeError(
            f"policy must decide, learn and predict, got {shown(policy)}: give DGTBandit(n_actions)"
        )


def is_finite(policy: Policy[Any]) -> TypeGuard[FinitePolicy]:
    """Whether a policy chooses among finitely many actions."""
    return hasattr(policy, "n_actions")


def read_targets(policy: Policy[Any], y: Any, loss: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Values, or action numbers and the labels they stand for."""
    y = _read_known(y, "y", loss)
    if callable(loss):
        return y, None
    if isinstance(policy, NamedPolicy) and not policy._actions.numbered:
        return _number_names(y, policy._actions.names)
    if is_finite(policy):
        return _number_labels(y, policy.n_actions)
    values = y.astype(np.float64)
    bounded = cast(ContinuousPolicy, policy)
    for end in (bounded.low, bounded.high):  # the largest losses there can be
        loss_pair(compute_losses(loss, np.array(end), values).max(), points=1)
    return values, None


def _number_labels(y: np.ndarray, n_actions: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Actions from labels, which may be the actions already."""
    if y.dtype.kind in "iu" and len(y) and y.min() >= 0 and y.max() < n_actions:
        return y.astype(np.int64), None
    try:
        classes, target = np.unique(y, return_inverse=True)
    except TypeError:
        raise ValueError("y must hold labels of one kind, got several: make text of all") from None
    if len(classes) > n_actions:
        raise ValueError(
            f"y must hold at most n_actions={n_actions} labels, got {len(classes)}: "
            "make a policy with more actions"
        )
    return target.astype(np.int64), classes


def _number_names(y: np.ndarray, names: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Actions from labels that are the names of actions."""
    place = {name: k for k, name in enumerate(names)}
    unknown = [label for label in np.unique(y).tolist() if label not in place]
    if unknown:
        raise ValueError(
            f"y must hold names of the policy's actions, {shown(names)}, got {shown(unknown[0])}: "
            "rename labels, or give the policy these actions"
        )
    target = np.array([place[label] for label in y.tolist()], dtype=np.int64)
    return target, np.array(names)


def _read_known(y: Any, name: str, loss: Any) -> np.ndarray:
    """Labels or values, one per row and none missing; whatever a callable loss may take."""
    y = np.asarray(y)
    if callable(loss) and y.ndim:
        return y
    if y.ndim != 1:
        raise ValueError(f"{name} must be one label or value per row, got shape {y.shape}")
    if loss != "0-1":
        try:
            y = y.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{name} must hold numbers, got {shown(y)}") from None
        gaps = ~np.isfinite(y)
    elif y.dtype.kind == "O":
        gaps = np.array([_is_missing(label) for label in y], dtype=bool)
    else:
        gaps = y != y  # NaN and NaT
    if gaps.any():
        row = int(np.flatnonzero(gaps)[0])
        raise ValueError(
            f"{name} must be finite and without gaps, got {y[row]} in row {row}: "
            "leave those rows out"
        )
    return y


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):  # pandas.NA refuses to be compared
        return True


def read_stream_rows(policy: Policy[Any], name: str, X: Any) -> np.ndarray:
    """Rows as the policy takes them: encoded, if it has an encoder."""
    if isinstance(policy, NamedPolicy):
        return policy._stream_rows(X)
    return policy._rows(X) if isinstance(policy, OnlineTree) else _read_plain_rows(name, X)


def _read_plain_rows(name: str, X: Any) -> np.ndarray:
    """Rows of a policy that is not ours, which may check them too late."""
    try:
        rows = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be rows of numbers, got {shown(X)}") from None
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise ValueError(f"{name} must be finite rows by features, got shape {rows.shape}")
    return rows


def read_answers(reference: Any, X: Any, y: np.ndarray, loss: Any) -> np.ndarray:
    """What a reference predicts, one answer per row."""
    if isinstance(reference, type) or not hasattr(reference, "predict"):
        raise TypeError(f"reference must have a method predict, got {shown(reference)}: fit one")
    answers = np.asarray(reference.predict(X))
    if answers.shape[:1] != y.shape[:1] or (answers.ndim != 1 and not callable(loss)):
        raise ValueError(
            f"reference.predict must give one answer to each of {len(y)} rows, "
            f"got shape {answers.shape}"
        )
    return answers


def compute_losses(loss: Any, answers: np.ndarray, y: np.ndarray) -> np.ndarray:
    """What answers to many rows cost, by a loss's name or function."""
    if callable(loss):
        return np.array([loss(a, b) for a, b in zip(answers, y, strict=True)])
    return np.asarray(LOSSES[loss](answers, y))


@dataclass
class HeldOut:
    """Rows that a policy never learns from, if there are any."""

    policy: Policy[Any]
    rows: Any
    y: Any
    loss: Any
    classes: np.ndarray | None
    width: int

    def __post_init__(self) -> None:
        if (self.rows is None) != (self.y is None):
            raise ValueError("X_test and y_test must be given together, got only one of them")
        if self.rows is not None:
            self.y = _read_known(self.y, "y_test", self.loss)
            rows = self._read_rows()
            if rows.shape[1] != self.width:
                raise ValueError(
                    f"X_test must have the {self.width} features of X, got {rows.shape[1]}"
                )
            if len(self.rows) != len(self.y) or not len(self.y):
                raise ValueError(
                    f"X_test and y_test must be equally many rows, got {len(self.rows)} and "
                    f"{len(self.y)}"
                )

    def _read_rows(self) -> np.ndarray:
        if isinstance(self.policy, NamedPolicy):  # what only these rows have is no column
            return self.policy._rows(self.rows)
        return read_stream_rows(self.policy, "X_test", self.rows)

    def score(self) -> float:
        """Accuracy, or mean loss, of what the policy now predicts."""
        answers = self.policy.predict(self.rows)
        named = isinstance(self.policy, NamedPolicy) and not self.policy._actions.numbered
        if self.classes is not None and not named:  # an action that no label stands for is wrong
            known = np.minimum(answers, len(self.classes) - 1)
            return float(np.mean((self.classes[known] == self.y) & (answers == known)))
        if self.loss == "0-1":
            return float(np.mean(answers == self.y))
        return float(np.mean(compute_losses(self.loss, answers, self.y)))
