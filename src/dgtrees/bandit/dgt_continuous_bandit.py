"""DGTContinuousBandit: a tree whose action is a number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dgtrees.bandit.batched_tree import BatchedTree
from dgtrees.bandit.checks import number
from dgtrees.bandit.decision import ContinuousDecision
from dgtrees.bandit.feedback import check_range, loss_pair
from dgtrees.bandit.online_recipe import BanditRecipe
from dgtrees.bandit.stream_targets import compute_losses
from dgtrees.learn.recipe import Recipe
from dgtrees.model.answer import Values
from dgtrees.schema import choice
from dgtrees.tables.encoder import Encoder
from dgtrees.tree import online
from dgtrees.tree.action_losses import CODES
from dgtrees.tree.oblique import ObliqueTree
from dgtrees.tree.state import Settings

__all__ = ["DGTContinuousBandit"]

_check_feedback = choice("one-point", "two-point")


class DGTContinuousBandit(BatchedTree):
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
    recipe : "default", "paper", BanditRecipe or Recipe
        A `Recipe` of training, which the paper's is, makes one step of the training engine for
        `batch_size` answers; its rate falls over `steps` of these. Such a tree has linear layers
        before its nodes while it learns.
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
        recipe: str | BanditRecipe | Recipe = "default",
        encoder: Encoder | None = None,
        random_state: int | None = None,
    ) -> None:
        self.low, self.high = check_range("low and high", low, high)
        _check_feedback(feedback, "feedback")
        self.feedback = feedback
        self.delta = self._check_delta(delta)
        if leaf is None:
            leaf = "constant" if recipe == "paper" else "linear"
        super().__init__(1, max_depth, leaf, recipe, None, encoder, random_state)

    def _check_delta(self, delta: Any) -> float:
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
        two_point = self.feedback == "two-point"
        return told._replace(two_point=two_point, delta=self._delta_share)

    @property
    def _delta_share(self) -> float:
        """Delta where actions go from -1 to 1."""
        return min(self.delta / self._half, 1.0)

    def decide(self, x: ArrayLike) -> ContinuousDecision:
        """The action to take for one row, or the two to try.

        Beside what the parameters that learn would answer; `predict` answers from their average,
        where the recipe has one.
        """
        return self._decide(self._row(x))[0]

    def _decide(self, row: np.ndarray) -> tuple[ContinuousDecision, int]:
        with self._lock:
            if self._by_batches:
                batches = self._ready_batches(len(row))
                asked = row[None], self.n_decisions + 1, self._delta_share
                centre, step, leaf = (found[0].item() for found in batches.perturb(*asked))
            else:
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
        self._learn_encoded(self._row(x), decision, loss)

    def learn_many(
        self, X: ArrayLike, decisions: Iterable[ContinuousDecision], losses: ArrayLike
    ) -> None:
        """Learn from many answers in their order; from none of them if one is refused."""
        self._learn_many(X, decisions, losses)

    def _read_loss(self, decision: ContinuousDecision, loss: Any) -> tuple[float, float]:
        self._check(decision)
        return loss_pair(loss, len(decision.actions))

    def _learn_one(
        self, row: np.ndarray, decision: ContinuousDecision, losses: tuple[float, float]
    ) -> None:
        step = decision.step(self._half)
        if self._by_batches:
            slope = np.array([self._slope(step, *losses)])
            self._ready_batches(len(row)).learn(row[None], slope)
            return
        online.learn_slope(row, step, *losses, *self._with_room(row.shape[0]))

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
        decision.check(2 if self.feedback == "two-point" else 1, self.low, self.high)

    def _stream(
        self, X: np.ndarray, y: np.ndarray, order: np.ndarray, visits: np.ndarray, loss: str
    ) -> np.ndarray:
        if self._by_batches:
            return self._stream_batches(X, y, order, visits, loss)
        losses = np.empty(len(order))
        with self._lock:
            arena = self._with_room(X.shape[1], len(order))
            task = (CODES[loss], self.low, self.high)
            online.simulate_values(X, y, order, *task, losses, visits, *arena)
            self.n_decisions += len(order)
        return losses

    def _stream_batches(
        self, X: np.ndarray, y: np.ndarray, order: np.ndarray, visits: np.ndarray, loss: str
    ) -> np.ndarray:
        """Decide and learn for a batch at a time, within which nothing changes."""
        losses, done = np.empty(len(order)), 0
        two_point = self.feedback == "two-point"
        while done < len(order):
            with self._lock:
                batches = self._ready_batches(X.shape[1])
                some = order[done : done + len(batches.slopes) - batches.waiting]
                rows = X[some].astype(np.float64)
                centre, step, leaf = batches.perturb(rows, self.n_decisions + 1, self._delta_share)
                actions = [self._actions(centre + step), self._actions(centre - step)]
                first, other = (compute_losses(loss, tried, y[some]) for tried in actions)
                base = actions[1] if two_point else self._actions(centre)
                step = (actions[0] - base) / ((2.0 if two_point else 1.0) * self._half)
                other = other if two_point else first
                batches.learn(rows, self._slope(step, first, other))
                self.n_decisions += len(some)
            losses[done : done + len(some)] = 0.5 * (first + other)
            np.add.at(visits, leaf, 1)
            done += len(some)
        return losses

    def _slope(self, step: Any, loss: Any, other: Any) -> Any:
        """Slope of the loss by the place of an action: eqn:twopoint, or eqn:onepoint as it is."""
        return (loss - other) / (2.0 * step) if self.feedback == "two-point" else loss / step

    def _actions(self, places: np.ndarray) -> np.ndarray:
        """Actions from their places between -1 and 1."""
        return np.clip(self._middle + self._half * places, self.low, self.high)

    def _parameters(self) -> dict[str, Any]:
        return super()._parameters() | {
            "low": self.low,
            "high": self.high,
            "feedback": self.feedback,
            "delta": self.delta,
        }
