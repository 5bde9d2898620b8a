"""BatchedTree: a policy's tree that learns online or, by a `Recipe` of training, batch by batch.

With a `BanditRecipe` everything is `OnlineTree`'s. With a `Recipe` a `BatchLearner` takes the place
of the online state: here is what differs then, and its file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from dgtrees.bandit.batch_learner import BatchLearner
from dgtrees.bandit.online_recipe import find_recipe
from dgtrees.bandit.online_tree import OnlineTree
from dgtrees.bandit.policy_file import describe_origin
from dgtrees.errors import StateError
from dgtrees.learn.guided import count_parameters
from dgtrees.learn.recipe import Recipe
from dgtrees.model import file as model_file
from dgtrees.model.header import refusing
from dgtrees.tables.encoder import Encoder
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["BatchedTree"]

_PREFIX = "batches."


class BatchedTree(OnlineTree):
    """Base of policies whose recipe may be one of online learning or one of training."""

    _batches: BatchLearner | None = None

    @property
    def _by_batches(self) -> bool:
        return isinstance(self.recipe_, Recipe)

    def _begin_batches(self, n_features: int) -> BatchLearner:
        size = n_features, self.max_depth, self.leaf
        self._batches = BatchLearner(*size, self.recipe_, self._seed)
        return self._batches

    def _begin(self, n_features: int) -> Any:
        return (self._begin_batches if self._by_batches else super()._begin)(n_features)

    def _ready_batches(self, width: int) -> BatchLearner:
        """The learner, made by the first row that comes; under the lock."""
        self._check_width(width)
        return self._begin_batches(width) if self._batches is None else self._batches

    def _need_batches(self) -> BatchLearner:
        if self._batches is None:
            raise StateError("the policy has not seen a row yet: call decide first")
        return self._batches

    @property
    def n_answers(self) -> int:
        """Answered queries learnt from so far."""
        return super().n_answers if self._batches is None else self._batches.seen

    @property
    def n_features(self) -> int | None:
        """Length of a row after encoding; None before the first."""
        return super().n_features if self._batches is None else len(self._batches.mean)

    def _outputs(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        if not self._by_batches:
            return super()._outputs(X)
        batches, rows = self._need_batches(), self._rows(X)
        with self._lock:
            leaves, places = batches.answer(rows)
        return leaves, places[:, None]

    @property
    def tree_(self) -> ObliqueTree:
        """The tree as it now is, on unscaled features; see `OnlineTree.tree_`."""
        if not self._by_batches:
            return super().tree_
        batches = self._need_batches()
        with self._lock:
            return batches.tree

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        with self._lock:  # which guards what goes on changing once it is free
            return state | {"_batches": deepcopy(self._batches)}

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file; the policy that `load` makes of it goes on the same way."""
        if not self._by_batches:
            super().save(path)
            return
        with self._lock:
            recipe = asdict(self.recipe_)
            if not isinstance(recipe["hidden"], (int, str)):
                recipe["hidden"] = {str(i): width for i, width in enumerate(recipe["hidden"])}
            header = describe_origin(self) | {"recipe": recipe}
            packed = {} if self._batches is None else self._batches.pack()
        model_file.write(path, header, {_PREFIX + name: packed[name] for name in packed})

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> OnlineTree:
        if "n_layers" not in header["recipe"]:
            return super()._from_file(header, arrays)
        with refusing(cls):
            return cls._restored(header, arrays)

    @classmethod
    def _restored(cls, header: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> BatchedTree:
        told = dict(header["recipe"])
        names = {field.name for field in fields(Recipe)}
        if set(told) != names:
            raise ValueError(f"recipe must have {sorted(names)}, the file has {sorted(told)}")
        if isinstance(told["hidden"], dict):
            told["hidden"] = tuple(told["hidden"].values())
        encoder = None if header["encoder"] is None else Encoder.from_json(header["encoder"])
        width = header["n_features"]
        if encoder is not None and encoder.width != width:
            raise ValueError(f"n_features must be the encoder's {encoder.width}, got {width}")
        recipe, parameters = Recipe(**told), header["parameters"]
        if width is not None:
            # Before anything of the size that the header tells is allocated.
            stored = arrays[_PREFIX + "values"].size
            size = width, parameters["max_depth"], parameters["leaf"], recipe
            if 2 ** parameters["max_depth"] > stored or count_parameters(*size) != stored:
                raise ValueError(f"the tree must have the file's {stored} parameters")
        policy = cls(recipe=recipe, encoder=None, **parameters)
        policy.encoder = encoder
        if header["recipe_name"] is not None:
            find_recipe(header["recipe_name"], cls._task + policy.leaf)
            policy.recipe = header["recipe_name"]
        policy.id, policy.n_decisions = header["policy"], header["n_decisions"]
        policy._seed = int(header["seed"])
        if width is not None:
            packed = {name.removeprefix(_PREFIX): array for name, array in arrays.items()}
            policy._begin_batches(width).restore(packed)
        return policy
