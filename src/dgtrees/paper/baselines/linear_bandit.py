"""Linear policies for a finite number of actions: epsilon-greedy, and exact disjoint LinUCB.

Both predict the loss of every action by a linear model of its own and differ in how they explore.
The models are ridge regressions kept exact by rank-one updates of the inverse Gram matrix
(Sherman-Morrison), or, for epsilon-greedy, normalised stochastic gradient steps. NumPy only.

A ridge penalty and a step size mean something on standardised features only, and a model that is
updated row by row cannot change its scale afterwards. The first `warm_up` rows are therefore
answered at random, kept, and learnt from when they have settled centre and scale.

Li, Chu, Langford, Schapire: A contextual-bandit approach to personalized news article
recommendation, WWW 2010 (LinUCB with disjoint linear models).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dgtrees.bandit.decision import Decision
from dgtrees.paper.baselines.bandit_checks import (
    check_feedback,
    check_n_actions,
    check_row,
    check_rows,
)

__all__ = ["EpsilonGreedyLinear", "LinUCB", "Scale"]


class Scale:
    """Centre and scale of features, settled by the first rows and then left alone."""

    def __init__(self, warm_up: int, clip: float = np.inf):
        self.warm_up = warm_up
        self.clip = clip
        self.centre: np.ndarray | None = None
        self.spread: np.ndarray | None = None

    @property
    def settled(self) -> bool:
        """Whether rows can be standardised yet."""
        return self.centre is not None

    def settle(self, X: np.ndarray) -> None:
        """Take centre and scale from these rows (rows, d); a constant column keeps its unit."""
        self.centre, spread = X.mean(axis=0), X.std(axis=0)
        self.spread = np.where(spread <= 1e-12 * np.abs(X).max(axis=0), 1.0, spread)

    def design(self, X: np.ndarray) -> np.ndarray:
        """Standardiser rows with a column of ones, (rows, d + 1)."""
        Z = np.clip((X - self.centre) / self.spread, -self.clip, self.clip)
        return np.concatenate([Z, np.ones((len(X), 1))], axis=1)


class _LinearPolicy:
    """One linear model of the loss an action; children say how to explore and how to update."""

    def __init__(self, n_actions: int, *, ridge: float, warm_up: int, random_state: Any):
        self.n_actions = check_n_actions(n_actions)
        if not ridge > 0:
            raise ValueError(f"ridge must be above 0, got {ridge!r}")
        if warm_up < 2:
            raise ValueError(f"warm_up must be at least 2 rows, got {warm_up!r}")
        self.ridge = float(ridge)
        self.random_state = random_state
        self._rng = np.random.default_rng(random_state)
        self._scale = Scale(int(warm_up))
        self._early: list[tuple[np.ndarray, int, float]] = []
        self._columns: int | None = None

    def decide(self, x: ArrayLike) -> Decision:
        """The action for one row x (d,), with the probability it was chosen with."""
        x = check_row(x, self._columns)
        if not self._scale.settled:
            return Decision(int(self._rng.integers(self.n_actions)), 1.0 / self.n_actions)
        return self._explore(self._scale.design(x[None])[0])

    def learn(self, x: ArrayLike, decision: Decision, loss: float) -> None:
        """Take in the loss, from 0 to 1, of a decision; late and in any order will do."""
        x = check_row(x, self._columns)
        action, _, loss = check_feedback(decision, loss, self.n_actions)
        self._columns = len(x)
        if self._scale.settled:
            self._update(self._scale.design(x[None])[0], action, loss)
            return
        self._early.append((x.copy(), action, loss))
        if len(self._early) == self._scale.warm_up:
            self._scale.settle(np.array([row for row, _, _ in self._early]))
            self._start(self._columns + 1)
            for row, action, loss in self._early:
                self._update(self._scale.design(row[None])[0], action, loss)
            self._early = []

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The actions (rows,) of least predicted loss; 0 before the warm-up is over."""
        X = check_rows(X, self._columns)
        if not self._scale.settled:
            return np.zeros(len(X), dtype=np.int64)
        return np.argmin(self._scale.design(X) @ self.coefficients_.T, axis=1)

    def action_probabilities(self, X: ArrayLike) -> np.ndarray:
        """With which `decide` would now draw every action, shape (rows, n_actions)."""
        X = check_rows(X, self._columns)
        if not self._scale.settled:
            return np.full((len(X), self.n_actions), 1.0 / self.n_actions)
        chances = [self._chances(z) for z in self._scale.design(X)]
        return np.array(chances).reshape(len(X), self.n_actions)

    def _start(self, size: int) -> None:
        self.coefficients_ = np.zeros((self.n_actions, size))
        self._inverse = np.tile(np.eye(size) / self.ridge, (self.n_actions, 1, 1))
        self._moment = np.zeros((self.n_actions, size))

    def _update(self, z: np.ndarray, action: int, loss: float) -> None:
        """One row more in the action's ridge regression, exactly."""
        inverse = self._inverse[action]
        gain = inverse @ z
        inverse -= np.outer(gain, gain / (1.0 + z @ gain))
        self._moment[action] += loss * z
        self.coefficients_[action] = inverse @ self._moment[action]

    def _explore(self, z: np.ndarray) -> Decision:
        raise NotImplementedError

    def _chances(self, z: np.ndarray) -> np.ndarray:
        """What `_explore` draws from, (n_actions,)."""
        raise NotImplementedError


class LinUCB(_LinearPolicy):
    """Exact disjoint LinUCB: the action whose loss may be least, given what is known of it.

    Parameters
    ----------
    n_actions : int
    alpha : float, default 0.3
        Width of the confidence bounds; 0 never explores after the warm-up.
    ridge : float, default 1.0
    warm_up : int, default 100
        Rows answered at random that settle the scale of the features.
    random_state : int, optional

    After the warm-up every decision is certain: its probability is 1, and a log of it says
    nothing about other policies.

    Examples
    --------
    >>> policy = LinUCB(2, random_state=0)
    >>> rng = np.random.default_rng(0)
    >>> for x in rng.normal(size=(500, 1)):
    ...     decision = policy.decide(x)
    ...     policy.learn(x, decision, loss=float(decision.action != (x[0] > 0)))
    >>> policy.predict([[-1.0], [1.0]]).tolist()
    [0, 1]
    """

    def __init__(
        self,
        n_actions: int,
        *,
        alpha: float = 0.3,
        ridge: float = 1.0,
        warm_up: int = 100,
        random_state: int | np.random.Generator | None = None,
    ):
        super().__init__(n_actions, ridge=ridge, warm_up=warm_up, random_state=random_state)
        if not alpha >= 0:
            raise ValueError(f"alpha must be at least 0, got {alpha!r}")
        self.alpha = float(alpha)

    def _explore(self, z: np.ndarray) -> Decision:
        variance = np.maximum((self._inverse @ z) @ z, 0.0)
        bound = self.coefficients_ @ z - self.alpha * np.sqrt(variance)
        return Decision(int(np.argmin(bound)), 1.0)

    def _chances(self, z: np.ndarray) -> np.ndarray:
        return np.eye(self.n_actions)[self._explore(z).action]


class EpsilonGreedyLinear(_LinearPolicy):
    """The action of least predicted loss, and now and then any action.

    Parameters
    ----------
    n_actions : int
    epsilon : float, default 0.1
        Chance of an action drawn from all alike.
    update : {"least-squares", "sgd"}
        Exact ridge regressions, (d + 1)^2 numbers an action; or gradient steps, d + 1 numbers.
    ridge : float, default 1.0
        Penalty of least squares.
    learning_rate : float, default 0.1
        Step of "sgd": the share of the error that one step takes away, at most.
    warm_up : int, default 100
        Rows answered at random that settle the scale of the features.
    random_state : int, optional

    Examples
    --------
    >>> policy = EpsilonGreedyLinear(4, epsilon=0.2, random_state=0)
    >>> policy.decide([1.0, 2.0])[:2]  # action and probability
    (3, 0.25)
    """

    def __init__(
        self,
        n_actions: int,
        *,
        epsilon: float = 0.1,
        update: str = "least-squares",
        ridge: float = 1.0,
        learning_rate: float = 0.1,
        warm_up: int = 100,
        random_state: int | np.random.Generator | None = None,
    ):
        super().__init__(n_actions, ridge=ridge, warm_up=warm_up, random_state=random_state)
        if not 0 <= epsilon <= 1:
            raise ValueError(f"epsilon must be from 0 to 1, got {epsilon!r}")
        if update not in ("least-squares", "sgd"):
            raise ValueError(f"update must be 'least-squares' or 'sgd', got {update!r}")
        if not 0 < learning_rate <= 1:
            raise ValueError(f"learning_rate must be above 0 and at most 1, got {learning_rate!r}")
        self.epsilon = float(epsilon)
        self.update = update
        self.learning_rate = float(learning_rate)

    def _start(self, size: int) -> None:
        if self.update == "least-squares":
            super()._start(size)
        else:
            self.coefficients_ = np.zeros((self.n_actions, size))

    def _update(self, z: np.ndarray, action: int, loss: float) -> None:
        if self.update == "least-squares":
            super()._update(z, action, loss)
            return
        weights = self.coefficients_[action]
        weights += self.learning_rate * (loss - weights @ z) / (z @ z) * z

    def _explore(self, z: np.ndarray) -> Decision:
        best = int(np.argmin(self.coefficients_ @ z))
        explored = self._rng.random() < self.epsilon
        action = int(self._rng.integers(self.n_actions)) if explored else best
        floor = self.epsilon / self.n_actions
        return Decision(action, floor + (1.0 - self.epsilon) * (action == best))

    def _chances(self, z: np.ndarray) -> np.ndarray:
        chances = np.full(self.n_actions, self.epsilon / self.n_actions)
        chances[np.argmin(self.coefficients_ @ z)] += 1.0 - self.epsilon
        return chances
