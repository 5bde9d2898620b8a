"""What DGTForestClassifier and DGTForestRegressor share: bagging, out-of-bag rows.

Every tree has its own bootstrap sample, on which it is grown by a plan that is chosen once
(`learn.members`) or trained by gradient descent (`learn.bagged_tree`), in parallel through joblib
(`parallel`); the finished trees answer together as a `Model`. What a target is, is
`target_types`' part, as for single trees.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from dgtrees.estimators.base import reach
from dgtrees.estimators.callbacks import tell
from dgtrees.estimators.constructors import ForestParameters
from dgtrees.estimators.delegation import ModelEstimator
from dgtrees.estimators.forest_growth import choose_plan, grow_all
from dgtrees.estimators.out_of_bag import ask_unseen, rows_of_leaves, together, tree_seed
from dgtrees.estimators.parameters import (
    RECIPE_OVERRIDES,
    check_size,
    checked_recipe,
    unchanged_on_error,
)
from dgtrees.estimators.prediction_intervals import Intervals
from dgtrees.learn.bagged_tree import Growing, grow
from dgtrees.learn.member_choice import MemberChoice
from dgtrees.learn.members import Member, MemberRows, grow_member
from dgtrees.learn.recipe import Recipe
from dgtrees.learn.scaling import moments
from dgtrees.model.model import Model, forest_of
from dgtrees.tables.examples import Examples, hash_rows
from dgtrees.tree.forest import ObliqueForest

__all__ = ["ForestEstimator"]

_GROWN_TREES, _TRAINED_TREES = 100, 30
"""Trees of "auto": grown ones are made in milliseconds, and trained ones are better each."""


class ForestEstimator(ForestParameters, ModelEstimator):
    """Base of the forests; subclasses say what a target is and how trees are combined."""

    _task: str
    _default_height: int
    _intervals: Intervals | None = None
    _members: list[Member]
    _seed: int
    chosen_: MemberChoice

    def _held_out_share(self, rows: int) -> float | None:
        return None  # rows that a tree has not drawn are held out anyway

    # Subclasses' part

    @property
    def _combine(self) -> str:
        """How trees are combined."""
        return "mean"

    def _judge_out_of_bag(self, train: Examples, outputs: np.ndarray, spread: np.ndarray) -> None:
        """Learn from the mean and deviation of what trees say about rows they have not seen.

        Both (rows, outputs), with NaN where too few trees have not seen a row.
        """
        raise NotImplementedError

    # Fitting

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: ArrayLike | None = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
    ) -> Self:
        """Train the trees, each on a bootstrap sample of the rows.

        Parameters
        ----------
        X : array-like or DataFrame of shape (rows, features)
            Numbers; DataFrames may also hold strings or categories. Missing values are welcome.
        y : array-like of shape (rows,) or, for regression, (rows, outputs)
            Targets.
        sample_weight : array-like of shape (rows,), optional
            A weight of 2 is the same as giving the row twice, a weight of 0 as leaving it out.
        X_val, y_val, sample_weight_val : optional
            Validation rows: every tree keeps the epoch that does best on them. Without, a tree
            keeps its last, averaged weights: a forest does not need them.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            self._fit(X, y, sample_weight, X_val, y_val, sample_weight_val)
        return self

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any, sample_weight_val: Any
    ) -> None:
        recipe = self._checked_recipe()
        if recipe.patience is not None and X_val is None:
            raise ValueError(
                f"patience={recipe.patience} needs validation rows, got none: give X_val and y_val"
            )
        train, validation, seed = self._training_rows(
            X, y, sample_weight, X_val, y_val, sample_weight_val
        )
        grown_from = self._identity(train, recipe)
        members: list[Member] = []
        if self.warm_start and hasattr(self, "forest_"):
            self._check_kept(grown_from)
            members, seed = list(self._members), self._seed
        else:
            self.__dict__.pop("chosen_", None)
        for name in ("oob_score_", "oob_prediction_", "oob_decision_function_", "_intervals"):
            self.__dict__.pop(name, None)  # they judged another forest
        seeds = [tree_seed(seed, number) for number in range(self._n_trees)]
        grow = self._grow_chosen if self._chooses else self._train
        for member in grow(train, validation, recipe, seeds, len(members)):
            members.append(replace(member, tree=self._without_weights(member.tree)))
        self._seed, self._grown_from, self._members = seed, grown_from, members
        if self.bootstrap:
            self._look_out_of_bag(train, members, seeds)
        self._deliver(train, members, recipe)

    def _deliver(self, train: Examples, members: list[Member], recipe: Recipe) -> None:
        """End the fit with the model."""
        trees, combine, base = together(members, self._combine)
        importances = np.zeros(self.n_features_in_)
        for member in members:
            np.add.at(importances, self._encoder.source, member.importance)
        _, scale = moments(train.X, train.weight, recipe.scaling)
        if self._chooses and (base is not None or any(tree.mixes for tree in trees)):
            self._encoder = self._encoder.reaching(*reach(train.X))
        total = importances.sum()
        self.model_ = self._finished(
            trees,
            combine,
            base=base,
            importance=importances / total if total > 0 else importances,
            scale=np.where(scale > 0, scale, 1.0),
            leaf_rows=[rows_of_leaves(tree, train) for tree in trees],
            oob_score=vars(self).get("oob_score_"),
        )

    def _checked_recipe(self) -> Recipe:
        recipe = checked_recipe(self, self._task)
        trees = self.n_estimators
        if not (isinstance(trees, str) and trees == "auto") and not (_whole(trees) and trees >= 1):
            raise ValueError(
                f"n_estimators must be a whole number of at least 1, or 'auto', got {trees!r}"
            )
        share = self.max_samples
        if not isinstance(share, Real) or isinstance(share, bool) or not 0 < float(share) <= 1:
            raise ValueError(
                f"max_samples must be a share of the rows above 0 and at most 1, got {share!r}"
            )
        if self.oob_score and not self.bootstrap:
            raise ValueError(
                "oob_score=True needs bootstrap=True: without, every tree sees every row"
            )
        return replace(recipe, tries=1)

    @property
    def _chooses(self) -> bool:
        """Whether what the trees are, is chosen; whoever says how to train means trained trees."""
        return (
            self.max_depth == "auto"
            and self.recipe == "default"
            and all(getattr(self, name, None) is None for name in RECIPE_OVERRIDES)
        )

    @property
    def _n_trees(self) -> int:
        if self.n_estimators != "auto":
            return int(self.n_estimators)
        return _GROWN_TREES if self._chooses else _TRAINED_TREES

    @property
    def _shown(self) -> str | None:
        """Name on the progress bar, if there is one."""
        return type(self).__name__ if self.verbose else None

    @property
    def _share(self) -> float | None:
        """Share of the rows that a tree draws; None gives all of them to every tree."""
        return float(self.max_samples) if self.bootstrap else None

    def _identity(self, train: Examples, recipe: Recipe) -> tuple:
        """Rows and parameters that trees of one forest have in common."""
        shape = self.max_depth, self.max_leaves, self.leaf, self._share, self._chooses
        return _content(train), shape, recipe, repr(getattr(self, "class_weight", None))

    def _check_kept(self, grown_from: tuple) -> None:
        """Refuse to add trees that would not belong to the same forest."""
        have = len(self.forest_)
        if self._n_trees < have:
            raise ValueError(
                f"with warm_start n_estimators must not fall below the {have} trees there are, got "
                f"{self._n_trees}: set it higher, or warm_start=False"
            )
        before = getattr(self, "_grown_from", (None,))
        if grown_from[0] != before[0]:
            raise ValueError(
                "warm_start adds trees to a forest of the same rows, and these are others (or the "
                "forest was loaded from a file): fit with warm_start=False"
            )
        if grown_from != before:
            raise ValueError(
                "warm_start adds trees of the same kind, and a parameter of theirs has been "
                "changed: change it back, or fit with warm_start=False"
            )
        if self._n_trees == have:
            warnings.warn(
                f"warm_start with n_estimators={have}, which there are already: nothing was "
                "trained; raise n_estimators to add trees",
                UserWarning,
                stacklevel=4,
            )

    # Two kinds of trees

    def _grow_chosen(
        self,
        train: Examples,
        validation: Examples | None,
        recipe: Recipe,
        seeds: list[int],
        have: int,
    ) -> list[Member]:
        """Grow what is missing by the plan chosen, after choosing it if nobody has."""
        rows = MemberRows(train, self._row_factors(train.y, train.weight), self._n_classes)
        if not hasattr(self, "chosen_"):
            given = self.leaf, self.max_leaves, seeds[0], self.n_jobs
            self.chosen_ = choose_plan(rows, validation, *given)
            if self.verbose:
                tell(str(self.chosen_))
        shared = rows, self.chosen_.plan, self._share, self.max_leaves
        return grow_all(grow_member, shared, seeds[have:], self.n_jobs, self._shown)

    def _train(
        self,
        train: Examples,
        validation: Examples | None,
        recipe: Recipe,
        seeds: list[int],
        have: int,
    ) -> list[Member]:
        """Train what is missing by gradient descent: complete trees of one height."""
        automatic = self.max_depth == "auto"
        height = self._default_height if automatic else int(self.max_depth)
        if automatic and self.max_leaves is not None:
            height = min(height, int(self.max_leaves).bit_length() - 1)
        leaf = "constant" if self.leaf == "auto" else self.leaf
        check_size(height, leaf, train.X.shape[1], self._outputs_per_leaf)
        growing = Growing(height, leaf, recipe, self._n_classes, self._share)
        emphasis = self._row_factors(train.y, train.weight)
        # Sent to every worker: without the numbers of the table's rows, which only we need.
        shared = replace(train, number=None), emphasis, validation, growing
        return grow_all(grow, shared, seeds[have:], self.n_jobs, self._shown)

    # Rows that a tree has not seen

    def _look_out_of_bag(self, train: Examples, members: list[Member], seeds: list[int]) -> None:
        """Ask every tree about the rows that it was not trained on."""
        forest = forest_of([member.tree for member in members], self._answer, self._combine)
        bounds = getattr(self._answer, "bounds", None)
        mean, spread = ask_unseen(members, forest, train, float(self.max_samples), seeds, bounds)
        if self.oob_score and np.isnan(mean).all():
            warnings.warn(
                f"oob_score is NaN: {len(members)} trees have seen all {len(mean)} rows; train "
                "more trees, lower max_samples, or scale sample_weight down (a weight of 100 is "
                "100 rows)",
                UserWarning,
                stacklevel=4,
            )
        self._judge_out_of_bag(train, mean, spread)

    def _by_given_row(self, train: Examples, outputs: np.ndarray) -> np.ndarray:
        """Outputs of distinct rows as one for every row of the table, NaN for weight 0."""
        assert train.number is not None
        given = outputs[train.number]
        given[train.number < 0] = np.nan
        return given

    # Answers

    @property
    def forest_(self) -> ObliqueForest:
        """The trees, on unscaled features, and how they are combined."""
        return self.model_.forest

    @property
    def leaf_rows_(self) -> list[np.ndarray]:
        """For every tree, the training rows of every leaf."""
        return list(self.model_.facts.leaf_rows or ())

    def _take(self, model: Model) -> None:
        super()._take(model)
        if model.facts.scores["oob_score"] is not None:
            self.oob_score_ = float(model.facts.scores["oob_score"])

    def decision_path(self, X: ArrayLike) -> tuple[Any, np.ndarray]:
        """Nodes and leaves that every row passes, and the first column of every tree.

        As in scikit-learn: columns ``start[i]`` to ``start[i + 1]`` are tree i's, its nodes first.
        """
        rows = self._rows_to_predict(X)
        paths = [tree.decision_path(rows) for tree in self.forest_.trees]
        starts = np.concatenate([[0], np.cumsum([path.shape[1] for path in paths])])
        return sparse.hstack(paths, format="csr"), starts


def _whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _content(train: Examples) -> int:
    """A number that tells one set of training rows from another."""
    columns = (train.X, np.reshape(train.y, (len(train.y), -1)), train.weight[:, None])
    hashes = [hash_rows(column.astype(np.float64, copy=False)) for column in columns]
    mixed = sum(h * np.uint64(2 * i + 3) for i, h in enumerate(hashes))
    return int(np.sum(mixed, dtype=np.uint64))
