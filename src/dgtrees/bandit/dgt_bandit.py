"""DGTBandit: a tree that chooses among finitely many actions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from dgtrees.bandit.checks import shown, whole_number
from dgtrees.bandit.decision import Decision
from dgtrees.bandit.explore import Exploration
from dgtrees.bandit.feedback import check_range, loss_share
from dgtrees.bandit.online_recipe import BanditRecipe
from dgtrees.bandit.online_tree import OnlineTree
from dgtrees.model.answer import Actions
from dgtrees.tables.encoder import Encoder
from dgtrees.tree import online

__all__ = ["DGTBandit"]


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
        self.loss_range = check_range("loss_range", *loss_range)
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

    def learn_many(self, X: ArrayLike, decisions: Iterable[Decision], losses: ArrayLike) -> None:
        """Learn from many answers in their order; from none of them if one is refused."""
        self._learn_many(X, decisions, losses)

    def _read_loss(self, decision: Decision, loss: Any) -> float:
        self._check(decision)
        return loss_share(loss, *self.loss_range)

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
        decision.check(self.n_actions)

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
