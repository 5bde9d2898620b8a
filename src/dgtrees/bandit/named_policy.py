"""What stands behind DGTBandit: its learner, contexts, names and ids under one lock; copies, files.

The lock guards all of it, so that any number of threads may decide while others learn, and none
sees half an update. What can be refused is refused before anything changes.
"""

from __future__ import annotations

import copy
import os
import secrets
import threading
import uuid
from dataclasses import replace
from typing import Any, Self

import numpy as np

from dgtrees.bandit.action_names import ActionNames
from dgtrees.bandit.answers import Answer
from dgtrees.bandit.cells import read_table
from dgtrees.bandit.checks import shown, whole_number
from dgtrees.bandit.contexts import FixedColumns, check_encoder
from dgtrees.bandit.explore import find_rule
from dgtrees.bandit.forking import watch
from dgtrees.bandit.ids import IdMaker
from dgtrees.bandit.learner import Learner
from dgtrees.bandit.learners import find_learner
from dgtrees.bandit.live_columns import LiveColumns
from dgtrees.bandit.named_policy_file import restore_named, write_named
from dgtrees.bandit.online_recipe import BanditRecipe, find_recipe
from dgtrees.bandit.playing import decide_encoded, grow_rows, learn_encoded, play_stream
from dgtrees.bandit.policy_arguments import read_half_life, read_range
from dgtrees.bandit.recent import Recent
from dgtrees.bandit.tree_learner import TreeLearner
from dgtrees.errors import StateError
from dgtrees.model.answer import Actions
from dgtrees.model.facts import Facts
from dgtrees.model.header import refusing
from dgtrees.model.model import HasModel, Model
from dgtrees.schema import choice
from dgtrees.tables.encoder import Encoder
from dgtrees.tree.forest import ObliqueForest
from dgtrees.tree.oblique import ObliqueTree
from dgtrees.tree.state import Arena

__all__ = ["NamedPolicy"]

_check_leaf = choice("constant", "linear")
_DEEPEST = 16


class NamedPolicy(HasModel):
    """Base of DGTBandit."""

    _task = ""  # which recipes of the online tree are meant

    def _begin_policy(
        self,
        names: list[Any],
        max_depth: Any,
        leaf: Any,
        explore: Any,
        recipe: Any,
        loss_range: Any,
        encoder: Encoder | None,
        random_state: Any,
        half_life: Any,
    ) -> None:
        """Check arguments and set everything up; nothing has been seen yet."""
        if leaf is not None:
            _check_leaf(leaf, "leaf")
        self.max_depth = whole_number("max_depth", max_depth, 1, _DEEPEST)
        if random_state is not None:
            random_state = whole_number("random_state", random_state, 0, 2**63 - 1)
        check_encoder(encoder)
        self.recipe, self.encoder, self.random_state = recipe, encoder, random_state
        make = find_learner(recipe) if leaf is None and explore is None else None
        self._is_tree = make is None
        self.leaf: str | None = (leaf or "constant") if self._is_tree else None
        self.recipe_: BanditRecipe | None = None
        if self._is_tree:
            found: Any = find_recipe(recipe, self._task + str(self.leaf))
            self.recipe_ = found if explore is None else replace(found, explore=find_rule(explore))
        self.loss_range = read_range(loss_range, self._is_tree)
        self.half_life = read_half_life(half_life, self._is_tree)
        self.id = uuid.uuid4().hex
        self.n_decisions = 0
        self._seed = uuid.uuid4().int % (2**63 - 1) if random_state is None else random_state
        self._actions = ActionNames(names)
        fixed = self._is_tree or encoder is not None
        self._contexts: Any = FixedColumns(encoder) if fixed else LiveColumns()
        self._recent = Recent()
        self._learner: Learner | None = None
        self._set_up()
        if encoder is not None:
            self._begin(encoder.width)

    def _set_up(self) -> None:
        """What belongs to this object in this process."""
        self._lock = threading.Lock()
        self._ids = IdMaker()
        watch(self)

    # What there is

    @property
    def actions(self) -> list[Any]:
        """Names of the actions in use."""
        return self._actions.active

    @property
    def n_actions(self) -> int:
        """How many actions there are, retired ones included."""
        return len(self._actions)

    @property
    def n_answers(self) -> int:
        """Answered queries learnt from so far."""
        return 0 if self._learner is None else self._learner.n_answers

    @property
    def n_features(self) -> int | None:
        """Length of a row after encoding; None before the first."""
        return None if self._learner is None else self._learner.n_features

    @property
    def feature_names_(self) -> list[str]:
        """Columns of an encoded row, of which contexts with new keys or texts make more."""
        return list(self._contexts.names)

    def encode(self, X: Any) -> np.ndarray:
        """Contexts as rows of numbers, as the learner sees them, (rows, n_features)."""
        with self._lock:
            self._need_learner()
            return self._rows(X)

    # Parts of a decision and of an answer; under the lock

    def _rows(self, X: Any) -> np.ndarray:
        """Rows as the learner takes them; float32 or float64."""
        rows: np.ndarray = self._contexts.table(X)
        return rows

    def _ready(self, context: Any) -> tuple[np.ndarray, Learner]:
        """The row of a context, and the learner, made by the first row that comes."""
        parsed = self._contexts.read(context)
        self._contexts.settle(parsed)
        learner = self._learner or self._begin(self._contexts.row_width)
        return self._contexts.encode(parsed), learner

    def _begin(self, n_features: int) -> Any:
        """Make the learner."""
        make = find_learner(self.recipe)
        if self._is_tree or make is None:
            assert self.recipe_ is not None and self.loss_range is not None
            self._contexts.width = n_features
            linear = self.leaf == "linear"
            sizes = n_features, self.n_actions, self.max_depth, linear
            tree: Any = TreeLearner(*sizes, self.recipe_, self.loss_range, self._seed)
            self._learner = tree
            return tree
        options = {} if self.half_life is None else {"half_life": self.half_life}
        self._learner = make(n_features, self.n_actions, seed=self._seed, **options)
        return self._learner

    def _need_learner(self) -> Any:
        if self._learner is None:
            raise StateError("the policy has not seen a row yet: call decide first")
        return self._learner

    def _learn(self, parsed: Any, answer: Answer) -> str:
        """Learn from one checked answer to a context that has been read."""
        if answer.key is not None and answer.key in self._recent:
            return "duplicate"
        row = self._contexts.grow(parsed)
        learner = self._learner or self._begin(self._contexts.row_width)
        if len(row) > learner.n_features:
            learner.add_features(len(row) - learner.n_features)
        learner.learn(row, answer.action, answer.reward, answer.probability)
        if answer.key is not None:
            self._recent.add(answer.key)
        return "learnt"

    def _read_contexts(self, X: Any) -> list[Any]:
        """Contexts of many answers, all of them read before one is learnt."""
        contexts = self._contexts
        if isinstance(contexts, FixedColumns):
            return [np.ascontiguousarray(row, dtype=np.float64) for row in contexts.table(X)]
        found = list(read_table(X, by_position=contexts.positions is not None))
        contexts.check_alike(found)
        return found

    def _add_action(self, name: Any, features: Any) -> None:
        if self._is_tree and name not in self._actions.retired:
            raise ValueError(
                f"this recipe keeps its {self.n_actions} actions, got {shown(name)}: "
                "use recipe='default' without leaf and explore"
            )
        weights = self._actions.add(name, features)
        if self._learner is not None and (weights is None or len(weights)):
            self._learner.add_action(weights)

    def _by_name(self, chances: np.ndarray, mask: np.ndarray) -> dict[Any, float]:
        names = self._actions.names
        return {names[k]: float(chances[k]) for k in np.flatnonzero(mask).tolist()}

    # Rows that are encoded already, for `simulate`

    _stream_rows, _stream = grow_rows, play_stream
    _decide, _learn_encoded = decide_encoded, learn_encoded

    # The tree

    @property
    def _arena(self) -> Arena | None:
        """Of an online tree: what its file holds."""
        return self._learner.arena if isinstance(self._learner, TreeLearner) else None

    @_arena.setter
    def _arena(self, arena: Arena) -> None:
        self._need_learner().arena = arena

    def _need_arena(self) -> Arena:
        arena: Arena = self._need_learner().arena
        return arena

    @property
    def _capacity(self) -> int:
        return int(self._need_learner().capacity)

    @property
    def tree_(self) -> ObliqueTree:
        """The learner as a hard tree on encoded rows, where it is one.

        It answers as `predict` does, except for rows with a feature beyond the standard deviations
        at which the recipe clips, and for rows within rounding of a node's boundary.
        """
        with self._lock:
            tree: ObliqueTree | None = self._need_learner().tree()
        if tree is None:
            raise StateError(
                "the policy is no single tree as it now is: distil() makes one that answers nearly "
                "as it does"
            )
        return tree

    def apply(self, X: Any) -> np.ndarray:
        """Leaf of every row, shape (rows,)."""
        with self._lock:
            learner, rows = self._need_learner(), self._rows(X)
            if isinstance(learner, TreeLearner):
                return learner.outputs(rows)[0]
        return self.tree_.apply(rows)

    @property
    def model_(self) -> Model:  # type: ignore[override]
        """The policy as it now is, as a model: what explain, plot and export take."""
        names = None if self.encoder is None else [c.name for c in self.encoder.columns]
        return self._as_model(self.tree_, self.encoder, names)

    def _as_model(
        self, tree: ObliqueTree, encoder: Encoder | None = None, names: list[str] | None = None
    ) -> Model:
        """A tree as a model; of encoded rows where there is no encoder."""
        if names is None and isinstance(self._contexts, LiveColumns) and self._contexts.named:
            names = self._contexts.names or None
        facts = Facts(None if names is None else tuple(names))
        forest = ObliqueForest((tree,), "mean", None)
        labels = Actions(np.array(self._actions.names))
        return Model(forest, labels, encoder, True, type(self).__name__, facts)

    # Copies and files

    def fork(self, seed: int | None = None) -> Self:
        """A policy that knows the same and explores for itself: one per server process.

        Its decisions carry the same policy's name, so that either may learn them, and ids of their
        own. With a seed, what it draws can be repeated.
        """
        if seed is not None:
            seed = whole_number("seed", seed, 0, 2**63 - 1)
        twin = copy.deepcopy(self)
        twin.random_state = seed
        twin._explore_anew(seed)
        return twin

    def _explore_anew(self, seed: int | None = None) -> None:
        """Draw other random numbers, and make other ids."""
        self._seed = secrets.randbits(63) if seed is None else seed
        self._ids = IdMaker()
        if self._learner is not None:
            self._learner.reseed(self._seed)

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            own = ("_lock", "_ids")
            state = {name: value for name, value in self.__dict__.items() if name not in own}
            # Which goes on changing once the lock is free.
            return {name: _own_copy(value) for name, value in state.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._set_up()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file; the policy that `load` makes of it goes on the same way.

        What was learnt, columns, random state, names and the ids of the last answers included.
        """
        write_named(self, path)

    def _parameters(self) -> dict[str, Any]:
        """Arguments of the constructor besides recipe, encoder and names."""
        return {
            "max_depth": self.max_depth,
            "leaf": self.leaf,
            "random_state": self.random_state,
            "n_actions": self.n_actions,
            "loss_range": None if self.loss_range is None else list(self.loss_range),
            **({} if self._is_tree else {"half_life": self.half_life}),
        }

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> NamedPolicy:
        with refusing(cls):
            return restore_named(cls, header, arrays)


def _own_copy(value: Any) -> Any:
    plain = isinstance(value, (str, int, float, tuple, type(None), Encoder, BanditRecipe))
    return value if plain else copy.deepcopy(value)
