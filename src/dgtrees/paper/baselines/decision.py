"""What all bandit baselines share: the decision they return, and the checks of what comes back."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["Decision", "check_feedback", "check_n_actions", "check_row", "check_rows"]


class Decision(NamedTuple):
    """The action to take, from 0, and how likely it was to be chosen."""

    action: int
    probability: float


def check_n_actions(n_actions: Any) -> int:
    """A whole number of at least 2."""
    whole = isinstance(n_actions, (int, np.integer)) and not isinstance(n_actions, bool)
    if not whole or n_actions < 2:
        raise ValueError(f"n_actions must be a whole number of at least 2, got {n_actions!r}")
    return int(n_actions)


def check_rows(X: ArrayLike, columns: int | None) -> np.ndarray:
    """X as finite float64 of shape (rows, columns); any number of columns if None."""
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or (columns is not None and X.shape[1] != columns):
        wanted = "d" if columns is None else columns
        raise ValueError(f"X must have shape (rows, {wanted}), got {X.shape}")
    if not np.isfinite(X).all():
        row = int(np.flatnonzero(~np.isfinite(X).all(axis=1))[0])
        raise ValueError(f"features must be finite, got {X[row]} in row {row}")
    return X


def check_row(x: ArrayLike, columns: int | None) -> np.ndarray:
    """One row as finite float64 of shape (columns,)."""
    x = np.asarray(x, dtype=np.float64)
    if x.ndim != 1:
        raise ValueError(f"x must be one row of shape (d,), got shape {x.shape}")
    return check_rows(x[None], columns)[0]


def _number(name: str, value: Any) -> float:
    try:
        if isinstance(value, Real) and not isinstance(value, bool):
            return float(value)
    except OverflowError:
        pass
    raise ValueError(f"{name} must be a number that fits a float, got a {type(value).__name__}")


def check_feedback(decision: Any, loss: Any, n_actions: int) -> tuple[int, float, float]:
    """Action, probability and loss of a finite-action decision, if they can be meant."""
    action = decision.action
    probability = _number("a decision's probability", decision.probability)
    loss = _number("a loss", loss)
    whole = isinstance(action, Integral) and not isinstance(action, bool)
    if not whole or not 0 <= action < n_actions:
        raise ValueError(f"a decision's action must be from 0 to {n_actions - 1}, got {action!r}")
    if not 0 < probability <= 1:
        raise ValueError(
            f"a decision's probability must be above 0 and at most 1, got {probability!r}"
        )
    if not 0 <= loss <= 1:
        raise ValueError(f"a loss must be from 0 to 1, got {loss!r}: scale it before")
    return int(action), probability, loss
