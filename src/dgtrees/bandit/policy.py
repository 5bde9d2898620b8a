"""DGTBandit and DGTContinuousBandit: decide, and learn from the loss of what was decided."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from dgtrees.bandit.checks import number, shown, whole_number
from dgtrees.bandit.decision import ContinuousDecision, Decision
from dgtrees.bandit.explore import Exploration
from dgtrees.bandit.feedback import checked_range, loss_pair, loss_share
from dgtrees.bandit.learner import OnlineTree
from dgtrees.bandit.online_recipe import BanditRecipe
from dgtrees.model.answer import Actions, Values
from dgtrees.tables.encoder import Encoder
from dgtrees.tree import online
from dgtrees.tree.oblique import ObliqueTree
from dgtrees.tree.state import Settings

__all__ = ["DGTBandit", "DGTContinuousBandit"]

_ADVICE = ": log what decide returns"


class DGTBandit(OnlineTree):
    """A tree that chooses among finitely many actions and learns from the loss of its choice.

    Parameters
    ----------
    n_actions : int
        Actions are numbered 0 .. n_actions - 1.
    max_depth : int, default 8
        Height of the tree.
    leaf : "constant" or "linear"
        A score an action in every leaf; or, added to it, linear scores shared by all leaves.
    explore : rule or its name, optional
        How actions are drawn, see `dgtrees.bandit.explore`; the recipe's rule by default.
    recipe : "default", "paper" or BanditRecipe
    loss_range : pair of numbers
        The smallest and the largest loss that can occur.
    encoder : Encoder, optional
        Fitted; rows may then have gaps and categories. Standardisation goes on inside as always.
    random_state : int, optional

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> policy = DGTBandit(n_actions=2, max_depth=2, random_state=0)
    >>> for _ in range(500):
    ...     x = rng.normal(size=3)
    ...     decision = policy.decide(x)
    ...     policy.learn(x, decision, loss=float(decision.action != (x[0] > 0)))
    >>> policy.predict([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])
    array([1, 0])
    """

    def __init__(
        self,
        n_actions: int,
        max_depth: int = 8,
        leaf: str = "constant",
        *,
        explore: str | Exploration | None = None,
        recipe: str | BanditRecipe = "default",
        loss_range: Sequence[float] = (0.0, 1.0),
        encoder: Encoder | None = None,
        random_state: int | None = None,
    ) -> None:
        self.n_actions = whole_number("n_actions", n_actions, 2, 100_000)
        pair = isinstance(loss_range, (tuple, list, np.ndarray)) and len(loss_range) == 2
        if not pair:
            raise ValueError(f"loss_range must be a pair of numbers, got {shown(loss_range)}")
        self.loss_range = checked_range("loss_range", *loss_range)
        super().__init__(self.n_actions, max_depth, leaf, recipe, explore, encoder, random_state)

    def decide(self, x: ArrayLike) -> Decision:
        """Draw an action for one row, shape (features,)."""
        return self._decide(self._row(x))[0]

    def _decide(self, row: np.ndarray) -> tuple[Decision, int]:
        """The decision for a checked row, and its leaf."""
        with self._lock:
            action, probability, leaf = online.decide(row, *self._ready(row.shape[0]))
            self.n_decisions += 1
            return Decision(action, probability, self.id, self.n_decisions), leaf

    def learn(self, x: ArrayLike, decision: Decision, loss: float) -> None:
        """Learn that `decision`, taken for the row `x`, had this loss; any time later.

        A decision that is learnt twice counts twice.
        """
        self._learn(self._row(x), decision, loss)

    def _learn(self, row: np.ndarray, decision: Decision, loss: Any) -> None:
        self._check(decision)
        share = loss_share(loss, *self.loss_range)
        with self._lock:
            self._learn_one(row, decision, share)

    def learn_many(self, X: ArrayLike, decisions: Iterable[Decision], losses: ArrayLike) -> None:
        """Learn from many answers in their order; from none of them if one is refused."""
        X, decisions, losses = self._together(X, decisions, losses)
        for decision in decisions:
            self._check(decision)
        shares = [loss_share(loss, *self.loss_range) for loss in losses]
        rows = self._rows(X) if decisions else np.empty((0, 0))
        for row, decision, share in zip(rows, decisions, shares, strict=True):
            row = np.ascontiguousarray(row, dtype=np.float64)
            with self._lock:
                self._learn_one(row, decision, share)

    def _learn_one(self, row: np.ndarray, decision: Decision, share: float) -> None:
        arena = self._with_room(row.shape[0])
        online.learn_one(row, int(decision.action), share, float(decision.probability), *arena)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The action that seems best for every row, without exploration."""
        return self._outputs(X)[1].argmax(axis=1)

    @property
    def _answer(self) -> Actions:
        return Actions(np.arange(self.n_actions))

    def expected_loss(self, X: ArrayLike) -> np.ndarray:
        """Loss that is expected of every action, shape (rows, n_actions)."""
        low, high = self.loss_range
        loss: np.ndarray = low + (high - low) * expit(-self._outputs(X)[1])
        return loss

    def action_probabilities(self, X: ArrayLike) -> np.ndarray:
        """Probability with which `decide` would now draw every action, shape (rows, n_actions).

        `evaluate` judges a policy by these; give it ``policy.predict(log.X)`` to judge the greedy
        one.
        """
        rule, seen = self.recipe_.explore, self.n_answers
        scores = self._outputs(X)[1]
        chances = np.empty_like(scores)
        for row in range(len(scores)):
            chances[row] = rule.probabilities(scores[row], seen)
        return chances

    def _check(self, decision: Any) -> None:
        self._check_decision(decision, Decision)
        whole_number("action", decision.action, 0, self.n_actions - 1, _ADVICE)
        if not 0.0 < number("probability", decision.probability, _ADVICE) <= 1.0:
            raise ValueError(
                f"probability must be above 0 and at most 1, got {decision.probability!r}{_ADVICE}"
            )

    def _stream(
        self, X: np.ndarray, y: np.ndarray, order: np.ndarray, visits: np.ndarray, loss: str
    ) -> np.ndarray:
        """Decide and learn for labelled rows, compiled; losses in their order."""
        losses = np.empty(len(order))
        shares = [loss_share(value, *self.loss_range) for value in (0.0, 1.0)]
        with self._lock:
            arena = self._with_room(X.shape[1], len(order))
            online.simulate_classes(X, y, order, *shares, losses, visits, *arena)
            self.n_decisions += len(order)
        return losses

    def _parameters(self) -> dict[str, Any]:
        return super()._parameters() | {
            "n_actions": self.n_actions,
            "loss_range": list(self.loss_range),
        }


class DGTContinuousBandit(OnlineTree):
    """A tree whose action is a number, learnt from the loss of one or two actions a query.

    Parameters
    ----------
    low, high : float
        Between which actions lie.
    max_depth : int, default 6
    leaf : "constant" or "linear", optional
        Leaves answer a number; or, added to it, one linear function shared by all leaves, which is
        the default but with the paper's recipe.
    feedback : "one-point" or "two-point"
        How many actions are tried for a row: eqn:onepoint or eqn:twopoint.
    delta : float, optional
        How far from its own answer the policy tries actions, in units of the action; a tenth
        of high - low by default, with every recipe. The paper's is 0.5. Less near the bounds.
    recipe : "default", "paper" or BanditRecipe
    encoder : Encoder, optional
    random_state : int, optional

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> price = DGTContinuousBandit(low=0.0, high=10.0, max_depth=2, feedback="two-point")
    >>> for _ in range(2000):
    ...     x = rng.normal(size=2)
    ...     d = price.decide(x)
    ...     price.learn(x, d, [(a - (3 if x[0] > 0 else 7)) ** 2 for a in d.actions])
    >>> price.predict([[1.0, 0.0], [-1.0, 0.0]]).round()
    array([3., 7.])
    """

    _task = "continuous, "

    def __init__(
        self,
        low: float,
        high: float,
        max_depth: int = 6,
        leaf: str | None = None,
        *,
        feedback: str = "one-point",
        delta: float | None = None,
        recipe: str | BanditRecipe = "default",
        encoder: Encoder | None = None,
        random_state: int | None = None,
    ) -> None:
        self.low, self.high = checked_range("low and high", low, high)
        if feedback not in ("one-point", "two-point"):
            raise ValueError(f"feedback must be one-point or two-point, got {feedback!r}")
        self.feedback = feedback
        self.delta = self._checked_delta(delta)
        if leaf is None:
            leaf = "constant" if recipe == "paper" else "linear"
        super().__init__(1, max_depth, leaf, recipe, None, encoder, random_state)

    def _checked_delta(self, delta: Any) -> float:
        if delta is None:
            return (self.high - self.low) / 10
        # Less would be lost in rounding where a bound cuts steps short.
        least = max(1e-6 * self._half, 1e-12 * max(abs(self.low), abs(self.high)))
        value = number("delta", delta)
        if not least * (1 - 1e-9) <= value <= self._half * (1 + 1e-9):
            raise ValueError(
                f"delta must be from {least:g} to {self._half:g}, half of high - low, got {delta!r}"
            )
        return value

    @property
    def _middle(self) -> float:
        return 0.5 * (self.low + self.high)

    @property
    def _half(self) -> float:
        return 0.5 * (self.high - self.low)

    def _settings(self, n_features: int) -> Settings:
        size = (n_features, 1, self.max_depth, self.leaf == "linear")
        told = self.recipe_.settings(*size, feedback="slope")
        delta = min(self.delta / self._half, 1.0)
        return told._replace(two_point=self.feedback == "two-point", delta=delta)

    def decide(self, x: ArrayLike) -> ContinuousDecision:
        """The action to take for one row, or the two to try.

        Beside what the parameters that learn would answer; `predict` answers from their average,
        where the recipe has one.
        """
        return self._decide(self._row(x))[0]

    def _decide(self, row: np.ndarray) -> tuple[ContinuousDecision, int]:
        with self._lock:
            centre, step, leaf = online.perturb(row, *self._ready(row.shape[0]))
            self.n_decisions += 1
            count = self.n_decisions
        actions = tuple(self._action(place) for place in (centre + step, centre - step))
        points = 2 if self.feedback == "two-point" else 1
        centre = self._action(centre)
        return ContinuousDecision(actions[:points], centre, self.id, count), leaf

    def _action(self, place: float) -> float:
        """An action from its place between -1 and 1."""
        return min(max(self._middle + self._half * place, self.low), self.high)

    def learn(self, x: ArrayLike, decision: ContinuousDecision, loss: ArrayLike) -> None:
        """Learn the loss of the decision's action, or of its two in their order; any time later.

        A decision that is learnt twice counts twice.
        """
        self._learn(self._row(x), decision, loss)

    def _learn(self, row: np.ndarray, decision: ContinuousDecision, loss: Any) -> None:
        self._check(decision)
        losses = loss_pair(loss, len(decision.actions))
        with self._lock:
            arena = self._with_room(row.shape[0])
            online.learn_slope(row, self._step(decision), *losses, *arena)

    def learn_many(
        self, X: ArrayLike, decisions: Iterable[ContinuousDecision], losses: ArrayLike
    ) -> None:
        """Learn from many answers in their order; from none of them if one is refused."""
        X, decisions, losses = self._together(X, decisions, losses)
        for decision in decisions:
            self._check(decision)
        pairs = [loss_pair(loss, len(d.actions)) for d, loss in zip(decisions, losses, strict=True)]
        rows = self._rows(X) if decisions else np.empty((0, 0))
        for row, decision, pair in zip(rows, decisions, pairs, strict=True):
            row = np.ascontiguousarray(row, dtype=np.float64)
            with self._lock:
                arena = self._with_room(row.shape[0])
                online.learn_slope(row, self._step(decision), *pair, *arena)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The action that seems best for every row."""
        outputs = self._outputs(X)[1][:, 0]
        return np.clip(self._middle + self._half * outputs, self.low, self.high)

    @property
    def _answer(self) -> Values:
        return Values((np.array([self.low]), np.array([self.high])), single_output=True)

    @property
    def tree_(self) -> ObliqueTree:
        """The tree as it now is, on unscaled features; see `DGTBandit.tree_`. Knows no bounds."""
        tree: ObliqueTree = super().tree_
        return tree.on_scaled_outputs(np.array([self._middle]), np.array([self._half]))

    def _check(self, decision: Any) -> None:
        self._check_decision(decision, ContinuousDecision)
        points = 2 if self.feedback == "two-point" else 1
        if not isinstance(decision.actions, tuple) or len(decision.actions) != points:
            raise ValueError(
                f"a decision of {self.feedback} feedback has {points} action(s), "
                f"got {shown(decision.actions)}{_ADVICE}"
            )
        for action in (*decision.actions, decision.centre):
            if not self.low <= number("actions", action, _ADVICE) <= self.high:
                raise ValueError(
                    f"actions must lie between {self.low:g} and {self.high:g}, "
                    f"got {action!r}{_ADVICE}"
                )
        # Our own steps of half the range may be rounded to a little more.
        if not 1e-9 < abs(self._step(decision)) <= 1.0 + 1e-9:
            raise ValueError(
                f"actions must differ from their centre {decision.centre!r}, "
                f"got {decision.actions!r}{_ADVICE}"
            )
        steps = [action - decision.centre for action in decision.actions]
        if points == 2 and abs(steps[0] + steps[1]) > 0.01 * abs(steps[0] - steps[1]):
            raise ValueError(  # up to a hundredth may be rounding
                f"two actions must have their centre {decision.centre!r} in the middle, "
                f"got {decision.actions!r}{_ADVICE}"
            )

    def _step(self, decision: ContinuousDecision) -> float:
        """From the centre to the first action, where actions go from -1 to 1."""
        if len(decision.actions) == 2:
            return (decision.actions[0] - decision.actions[1]) / (2.0 * self._half)
        return (decision.action - decision.centre) / self._half

    def _stream(
        self, X: np.ndarray, y: np.ndarray, order: np.ndarray, visits: np.ndarray, loss: str
    ) -> np.ndarray:
        losses = np.empty(len(order))
        with self._lock:
            arena = self._with_room(X.shape[1], len(order))
            task = (online.LOSSES[loss], self.low, self.high)
            online.simulate_values(X, y, order, *task, losses, visits, *arena)
            self.n_decisions += len(order)
        return losses

    def _parameters(self) -> dict[str, Any]:
        return super()._parameters() | {
            "low": self.low,
            "high": self.high,
            "feedback": self.feedback,
            "delta": self.delta,
        }
