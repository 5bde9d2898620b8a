"""What all bandit baselines share: the checks of what comes to them and what comes back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dgtrees.bandit.checks import number, whole_number
from dgtrees.bandit.decision import Decision

__all__ = ["check_feedback", "check_n_actions", "check_row", "check_rows"]


def check_n_actions(n_actions: Any) -> int:
    """As many actions as a `DGTBandit` may have."""
    return whole_number("n_actions", n_actions, 2, 100_000)


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


def check_feedback(decision: Decision, loss: Any, n_actions: int) -> tuple[int, float, float]:
    """Action, probability and loss of a finite-action decision, if they can be meant."""
    decision.check(n_actions)
    value = number("loss", loss)
    if not 0 <= value <= 1:
        raise ValueError(f"a loss must be from 0 to 1, got {loss!r}: scale it before")
    return int(decision.action), float(decision.probability), value
