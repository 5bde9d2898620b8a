"""TreeLearner: the online tree of the first release, as a learner.

What `recipe="paper"`, a `BanditRecipe`, `explore=` or `leaf=` ask for. Its state is an arena that
the compiled step of `tree.online` changes in place; here is what a policy needs around it. The
number of features and of actions is settled when it is made.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from scipy.special import expit

from dgtrees.bandit.arena_tree import tree_of
from dgtrees.bandit.explore import find_rule
from dgtrees.bandit.feedback import loss_share
from dgtrees.bandit.online_recipe import BanditRecipe
from dgtrees.bandit.policy_file import pack_state, unpack_state
from dgtrees.tree import online
from dgtrees.tree.exploration import sample_action
from dgtrees.tree.oblique import ObliqueTree
from dgtrees.tree.online_answer import DECIDE, outputs
from dgtrees.tree.random_numbers import draw_uniform
from dgtrees.tree.state import Arena, count_answers, make_arena, make_room, view_state

__all__ = ["TreeLearner"]

_SIZES = ("n_features", "n_actions", "max_depth", "linear")
_VIEWS = ("_drawn", "_random")  # of the arena


class TreeLearner:
    """The online tree behind the protocol of `dgtrees.bandit.learner`.

    Parameters
    ----------
    n_features, n_actions, max_depth : int
    linear : bool
        Whether linear scores shared by all leaves are added.
    recipe : BanditRecipe
    loss_range : pair of floats
        Rewards must be its losses with the sign turned.
    seed : int
    """

    def __init__(
        self,
        n_features: int,
        n_actions: int,
        max_depth: int,
        linear: bool,
        recipe: BanditRecipe,
        loss_range: tuple[float, float],
        seed: int,
    ) -> None:
        self.n_features, self.n_actions = n_features, n_actions
        self.max_depth, self.linear, self.recipe = max_depth, linear, recipe
        self.loss_range = loss_range
        self.capacity = recipe.capacity if recipe.replay else 0
        settings = recipe.settings(n_features, n_actions, max_depth, linear)
        self.arena = make_arena(settings, seed, recipe.leaf_spread)

    @property
    def arena(self) -> Arena:
        """Everything the tree knows, in arrays that the compiled step changes."""
        return self._arena

    @arena.setter
    def arena(self, arena: Arena) -> None:
        state = view_state(arena)
        self._arena, self._drawn, self._random = arena, state.probabilities, state.random

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in self.__dict__.items() if name not in _VIEWS}
        return kept | {"_arena": Arena(*(array.copy() for array in self._arena))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.arena = self._arena  # and views of it

    @property
    def n_answers(self) -> int:
        """Answers learnt from so far."""
        return count_answers(self.arena)

    def decide(self, x: np.ndarray, allowed: np.ndarray) -> tuple[int, np.ndarray]:
        """See `Learner`."""
        if allowed.all():
            action, _, _ = online.decide(x, *self.arena)
            return action, self._drawn.copy()
        chances = self.probabilities(x, allowed)
        return int(sample_action(chances, draw_uniform(self._random, DECIDE))), chances

    def probabilities(self, x: np.ndarray, allowed: np.ndarray) -> np.ndarray:
        """See `Learner`."""
        scores = self.outputs(x[None])[1][0]
        chances = np.zeros(self.n_actions)
        chances[allowed] = self.recipe.explore.probabilities(scores[allowed], self.n_answers)
        return chances

    def learn(self, x: np.ndarray, action: int, reward: float, probability: float) -> None:
        """See `Learner`."""
        share = loss_share(-reward, *self.loss_range)
        self._make_room(1)
        online.learn_one(x, action, share, probability, *self.arena)

    def expected(self, X: np.ndarray) -> np.ndarray:
        """See `Learner`."""
        low, high = self.loss_range
        return -(low + (high - low) * expit(-self.scores(X)))

    def scores(self, X: np.ndarray) -> np.ndarray:
        """What actions are compared by, (rows, actions): differs where losses are rounded."""
        return self.outputs(X)[1]

    def outputs(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Leaf (rows,) and scores (rows, actions)."""
        leaves, scores = np.empty(len(X), dtype=np.int64), np.empty((len(X), self.n_actions))
        outputs(X, leaves, scores, *self.arena)
        return leaves, scores

    def add_features(self, count: int) -> None:
        """Refused: nodes and memory have the width of the first row."""
        raise ValueError(
            f"this recipe takes rows of {self.n_features} features, got {count} more: "
            "use recipe='default' without leaf and explore"
        )

    def add_action(self, similar: np.ndarray | None) -> None:
        """Refused: leaves have a place for every action from the start."""
        raise ValueError(
            f"this recipe keeps its {self.n_actions} actions, got one more: "
            "use recipe='default' without leaf and explore"
        )

    def reseed(self, seed: int) -> None:
        """See `Learner`."""
        words = np.random.default_rng(seed).integers(2**64, size=2, dtype=np.uint64)
        self._random[:] = words

    def stream(
        self,
        X: np.ndarray,
        y: np.ndarray,
        order: np.ndarray,
        right: float,
        wrong: float,
        visits: np.ndarray | None = None,
    ) -> np.ndarray:
        """See `Learner`; `visits` counts the rows of every leaf."""
        losses = np.empty(len(order))
        shares = [loss_share(-reward, *self.loss_range) for reward in (right, wrong)]
        visits = np.zeros(2**self.max_depth, dtype=np.int64) if visits is None else visits
        self._make_room(len(order))
        online.simulate_classes(X, y, order, *shares, losses, visits, *self.arena)
        return losses

    def _make_room(self, more: int) -> None:
        if len(self.arena.memory) < self.capacity:
            self.arena = make_room(self.arena, more, self.capacity)

    def tree(self) -> ObliqueTree:
        """See `Learner`; scores, not rewards."""
        return tree_of(self.arena, self.recipe.averaging > 0)

    def pack(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """See `Learner`."""
        settings = {
            "n_features": self.n_features,
            "n_actions": self.n_actions,
            "max_depth": self.max_depth,
            "linear": self.linear,
            "recipe": asdict(self.recipe) | {"explore": self.recipe.explore.to_json()},
            "loss_range": list(self.loss_range),
        }
        return settings, pack_state(self.arena)

    @classmethod
    def unpack(cls, settings: dict[str, Any], arrays: dict[str, np.ndarray]) -> TreeLearner:
        """See `Learner`."""
        told = dict(settings["recipe"])
        recipe = BanditRecipe(**told | {"explore": find_rule(told["explore"])})
        told = {name: value for name, value in settings.items() if name in _SIZES}
        low, high = settings["loss_range"]
        made = cls(**told, recipe=recipe, loss_range=(low, high), seed=0)
        made.arena = unpack_state(made.arena, arrays, made.capacity)
        return made
