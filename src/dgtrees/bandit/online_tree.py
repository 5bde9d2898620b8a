"""What both policies share: a tree that learns online, its state under a lock.

The lock guards the state, so that any number of threads may decide while one learns, and none sees
half an update. Rows are read by `contexts`, files by `policy_file`.
"""

from __future__ import annotations

import os
import threading
import uuid
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dgtrees.bandit.arena_tree import tree_of
from dgtrees.bandit.checks import shown, whole_number
from dgtrees.bandit.contexts import check_encoder, read_row, read_rows
from dgtrees.bandit.explore import find_rule
from dgtrees.bandit.online_recipe import BanditRecipe, find_recipe
from dgtrees.bandit.policy_arguments import pair_up
from dgtrees.bandit.policy_file import describe_policy, pack_state, restore_policy
from dgtrees.errors import StateError
from dgtrees.model import file as model_file
from dgtrees.model.answer import Answer
from dgtrees.model.facts import Facts
from dgtrees.model.header import refusing
from dgtrees.model.model import HasModel, Model
from dgtrees.schema import choice
from dgtrees.tables.encoder import Encoder
from dgtrees.tree.forest import ObliqueForest
from dgtrees.tree.oblique import ObliqueTree
from dgtrees.tree.online_answer import outputs
from dgtrees.tree.state import Arena, Settings, count_answers, make_arena, make_room

__all__ = ["OnlineTree"]

_check_leaf = choice("constant", "linear")
_DEEPEST = 16


class OnlineTree(HasModel):
    """Base of the policies: a tree that learns online, and its file."""

    _task = ""

    def __init__(
        self,
        n_outputs: int,
        max_depth: int,
        leaf: str,
        recipe: Any,
        explore: Any,
        encoder: Encoder | None,
        random_state: int | None,
    ) -> None:
        _check_leaf(leaf, "leaf")
        self.max_depth = whole_number("max_depth", max_depth, 1, _DEEPEST)
        if random_state is not None:
            random_state = whole_number("random_state", random_state, 0, 2**63 - 1)
        check_encoder(encoder)
        self.leaf = leaf
        self.recipe = recipe
        self.encoder = encoder
        self.random_state = random_state
        found: Any = find_recipe(recipe, self._task + leaf)
        if explore is not None:
            found = replace(found, explore=find_rule(explore))
        self.recipe_ = found
        self.id = uuid.uuid4().hex
        self.n_decisions = 0
        self._n_outputs = n_outputs
        self._seed = uuid.uuid4().int % (2**63 - 1) if random_state is None else random_state
        remembers = isinstance(self.recipe_, BanditRecipe) and self.recipe_.replay
        self._capacity = self.recipe_.capacity if remembers else 0
        self._lock = threading.Lock()
        self._arena: Arena | None = None
        if encoder is not None:
            self._begin(encoder.width)

    def _settings(self, n_features: int) -> Settings:
        """What the compiled step is told."""
        return self.recipe_.settings(
            n_features, self._n_outputs, self.max_depth, self.leaf == "linear"
        )

    def _begin(self, n_features: int) -> Arena:
        arena = make_arena(self._settings(n_features), self._seed, self.recipe_.leaf_spread)
        self._arena = arena
        return arena

    @property
    def n_answers(self) -> int:
        """Answered queries learnt from so far."""
        return 0 if self._arena is None else count_answers(self._arena)

    @property
    def n_features(self) -> int | None:
        """Length of a row after encoding; None before the first."""
        return None if self._arena is None else self._arena.memory.shape[1]

    # Rows

    def _row(self, x: Any) -> np.ndarray:
        """One row as a float64 vector, or an error."""
        row = read_row(x, self.encoder)
        self._check_width(row.shape[0])
        return row

    def _rows(self, X: Any) -> np.ndarray:
        """Rows as a float32 or float64 array, or an error."""
        rows = read_rows(X, self.encoder)
        self._check_width(rows.shape[1])
        return rows

    def _check_width(self, width: int) -> None:
        if self.n_features is not None and width != self.n_features:
            raise ValueError(
                f"a row must have {self.n_features} features as the first one had, "
                f"got {width}: start a new policy for other features"
            )

    def _ready(self, width: int) -> Arena:
        """The arena, made by the first row that comes; under the lock."""
        # Again: another thread may have brought the first row since this one was checked.
        self._check_width(width)
        return self._begin(width) if self._arena is None else self._arena

    def _with_room(self, width: int, more: int = 1) -> Arena:
        """The arena, with room to remember more answers."""
        arena = self._ready(width)
        if len(arena.memory) < self._capacity:
            arena = self._arena = make_room(arena, more, self._capacity)
        return arena

    def _need_arena(self) -> Arena:
        if self._arena is None:
            raise StateError("the policy has not seen a row yet: call decide first")
        return self._arena

    # Decisions that come back

    def _check_decision(self, decision: Any, kind: type[Any]) -> None:
        if type(decision) is not kind:
            raise TypeError(
                f"decision must be the {kind.__name__} that decide returned, "
                f"got {shown(decision)}: read logged ones with from_json"
            )
        if decision.policy != self.id:
            raise ValueError(
                f"decision must be one of this policy ({self.id}), got one of {decision.policy!r}: "
                "learn with the policy that decided, or with one loaded from its file"
            )

    def _read_loss(self, decision: Any, loss: Any) -> Any:
        """The loss of a decision in the units of the step; refuses either if it cannot be."""
        raise NotImplementedError

    def _learn_one(self, row: np.ndarray, decision: Any, loss: Any) -> None:
        """Learn from one checked answer; under the lock."""
        raise NotImplementedError

    def _learn_encoded(self, row: np.ndarray, decision: Any, loss: Any) -> None:
        read = self._read_loss(decision, loss)
        with self._lock:
            self._learn_one(row, decision, read)

    def _learn_many(self, X: Any, decisions: Any, losses: Any) -> None:
        X, decisions, losses = pair_up(X, decisions, losses)
        read = [self._read_loss(*pair) for pair in zip(decisions, losses, strict=True)]
        rows = self._rows(X) if decisions else np.empty((0, 0))
        for row, decision, loss in zip(rows, decisions, read, strict=True):
            row = np.ascontiguousarray(row, dtype=np.float64)
            with self._lock:  # for one answer at a time: others may decide in between
                self._learn_one(row, decision, loss)

    # Answers

    def _outputs(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        arena, X = self._need_arena(), self._rows(X)
        leaves = np.empty(len(X), dtype=np.int64)
        scores = np.empty((len(X), self._n_outputs))
        with self._lock:
            outputs(X, leaves, scores, *arena)
        return leaves, scores

    def apply(self, X: ArrayLike) -> np.ndarray:
        """Leaf of every row, shape (rows,)."""
        return self._outputs(X)[0]

    @property
    def tree_(self) -> ObliqueTree:
        """The tree as it now is, on unscaled features.

        It answers as `predict` does, except for rows with a feature beyond the standard deviations
        at which the recipe clips, and for rows within rounding of a node's boundary.
        """
        arena = self._need_arena()
        with self._lock:
            return tree_of(arena, self.recipe_.averaging > 0)

    @property
    def model_(self) -> Model:  # type: ignore[override]
        """The policy as it now is, as a model: what explain, plot and export take."""
        columns = () if self.encoder is None else self.encoder.columns
        facts = Facts(tuple(column.name for column in columns) or None)
        forest = ObliqueForest((self.tree_,), "mean", self._answer.bounds)
        return Model(forest, self._answer, self.encoder, True, type(self).__name__, facts)

    @property
    def _answer(self) -> Answer:
        """What outputs mean."""
        raise NotImplementedError

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file; the policy that `load` makes of it goes on the same way.

        Random state, optimiser state, remembered queries and running statistics included.
        """
        with self._lock:
            header = describe_policy(self)
            arrays = {} if self._arena is None else pack_state(self._arena)
        model_file.write(path, header, arrays)

    def _parameters(self) -> dict[str, Any]:
        """Arguments of the constructor besides recipe and encoder."""
        return {"max_depth": self.max_depth, "leaf": self.leaf, "random_state": self.random_state}

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> OnlineTree:
        with refusing(cls):
            return restore_policy(cls, header, arrays)

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            state = {name: value for name, value in self.__dict__.items() if name != "_lock"}
            if self._arena is not None:  # which goes on changing once the lock is free
                state["_arena"] = Arena(*(array.copy() for array in self._arena))
            return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()
