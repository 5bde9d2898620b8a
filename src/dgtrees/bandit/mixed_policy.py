"""MixedPolicy: a `MixedLearner` as a policy on arrays, for `simulate` and benchmarks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dgtrees.bandit.decision import Decision
from dgtrees.bandit.mixed_learner import MixedLearner

__all__ = ["MixedPolicy"]


class MixedPolicy:
    """Chooses among numbered actions for rows of numbers; losses are negative rewards.

    Parameters
    ----------
    n_actions : int
    random_state : int
    **options
        Of `MixedLearner`.

    Examples
    --------
    >>> import numpy as np
    >>> from dgtrees.bandit.simulation import simulate
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> policy = MixedPolicy(n_actions=2)
    >>> bool(simulate(policy, X, X[:, 0] > 0, queries=500).progressive[-1] > 0.85)
    True
    """

    def __init__(self, n_actions: int, *, random_state: int = 0, **options: Any) -> None:
        self.n_actions = n_actions
        self.random_state = random_state
        self.options = options
        self.learner: MixedLearner | None = None
        self._all = np.ones(n_actions, dtype=bool)

    def _for(self, columns: int) -> MixedLearner:
        if self.learner is None:
            self.learner = MixedLearner(
                columns, self.n_actions, seed=self.random_state, **self.options
            )
        return self.learner

    def decide(self, x: ArrayLike) -> Decision:
        """Draw an action for one row, shape (features,)."""
        row = np.ascontiguousarray(x, dtype=np.float64)
        action, chances = self._for(len(row)).decide(row, self._all)
        return Decision(action, float(chances[action]))

    def learn(self, x: ArrayLike, decision: Decision, loss: float) -> None:
        """Learn the loss of a decision."""
        row = np.ascontiguousarray(x, dtype=np.float64)
        learner = self._for(len(row))
        learner.learn(row, decision.action, -float(loss), decision.probability)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The action that seems best for every row, without exploration."""
        rows = np.asarray(X, dtype=np.float64)
        return self._for(rows.shape[1]).expected(rows).argmax(axis=1)

    def action_probabilities(self, X: ArrayLike) -> np.ndarray:
        """Probability with which `decide` would now draw every action, shape (rows, n_actions)."""
        rows = np.ascontiguousarray(X, dtype=np.float64)
        learner = self._for(rows.shape[1])
        return np.array([learner.probabilities(row, self._all) for row in rows])

    def _stream(
        self, X: np.ndarray, y: np.ndarray, order: np.ndarray, visits: np.ndarray, loss: str
    ) -> np.ndarray:
        """Decide and learn for labelled rows, compiled; losses in their order."""
        return self._for(X.shape[1]).stream(X, y, order, 0.0, -1.0)
