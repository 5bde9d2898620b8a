"""What a learner is, for the policies that are built on one.

A policy reads contexts, names actions, numbers decisions and writes files; its learner sees arrays
only: rows of numbers, actions 0 .. n_actions - 1, rewards of any scale. A learner need not inherit
from this: having the methods is enough. Callers check their input and hold a lock.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from dgtrees.tree.oblique import ObliqueTree

__all__ = ["Learner"]


@runtime_checkable
class Learner(Protocol):
    """Draws actions for rows, learns from the rewards of these, and goes on from a file."""

    n_features: int
    n_actions: int
    n_answers: int

    def decide(self, x: np.ndarray, allowed: np.ndarray) -> tuple[int, np.ndarray]:
        """The action drawn for one row, and the probabilities of all actions.

        `x` is float64 of shape (features,), `allowed` bool of shape (actions,); the probabilities
        are exact, and 0 where an action is not allowed.
        """

    def probabilities(self, x: np.ndarray, allowed: np.ndarray) -> np.ndarray:
        """The probabilities with which `decide` would now draw, shape (actions,)."""

    def learn(self, x: np.ndarray, action: int, reward: float, probability: float) -> None:
        """Take in the reward, any finite number, of an action that was drawn for a row."""

    def expected(self, X: np.ndarray) -> np.ndarray:
        """Expected rewards without exploration, shape (rows, actions)."""

    def add_features(self, count: int) -> None:
        """Append columns that were 0 so far."""

    def add_action(self, similar: np.ndarray | None) -> None:
        """Append an action; `similar` weighs the present ones that it starts from."""

    def reseed(self, seed: int) -> None:
        """Draw differently from here on: copies that explore for themselves."""

    def pack(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """JSON-able settings and plain arrays, of which `unpack` makes the same learner again."""

    @classmethod
    def unpack(cls, settings: dict[str, Any], arrays: dict[str, np.ndarray]) -> Learner:
        """A learner whose next decision, and all after, are those of the packed one."""

    def stream(
        self, X: np.ndarray, y: np.ndarray, order: np.ndarray, right: float, wrong: float
    ) -> np.ndarray:
        """Decide and learn for labelled rows in order, compiled; losses, 0 or 1, in their order.

        The same bits as `decide` and `learn` one by one with the reward `right` if the action is
        the label and `wrong` if not.
        """

    def tree(self) -> ObliqueTree | None:
        """The learner as a hard tree with linear leaves on raw columns, where it is one."""
