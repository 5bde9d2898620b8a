"""What a policy is, for everything that plays, judges or serves one: ours and the baselines.

A policy need not inherit from these: having the methods is enough.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from dgtrees.bandit.decision import ContinuousDecision, Decision

__all__ = ["ContinuousPolicy", "FinitePolicy", "Policy"]

D = TypeVar("D")


@runtime_checkable
class Policy(Protocol[D]):
    """Decides for a row, learns the loss of what it decided, and says what seems best."""

    def decide(self, x: ArrayLike) -> D:
        """The decision for one row, shape (features,)."""

    def learn(self, x: ArrayLike, decision: D, loss: Any) -> None:
        """Take in the loss of a decision, any time later."""

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The action that seems best for every row, shape (rows,)."""


@runtime_checkable
class FinitePolicy(Policy[Decision], Protocol):
    """A policy whose actions are 0 .. n_actions - 1."""

    n_actions: int

    def action_probabilities(self, X: ArrayLike) -> np.ndarray:
        """With which `decide` would now draw every action, shape (rows, n_actions)."""


@runtime_checkable
class ContinuousPolicy(Policy[ContinuousDecision], Protocol):
    """A policy whose actions are numbers from `low` to `high`."""

    low: float
    high: float
