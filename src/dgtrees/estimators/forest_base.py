"""What DGTForestClassifier and DGTForestRegressor share: bagging, out-of-bag rows.

Every tree is trained on its own bootstrap sample (`learn.bagged_tree`), in parallel through joblib
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

from dgtrees.estimators.callbacks import progress_bar
from dgtrees.estimators.constructors import ForestParameters
from dgtrees.estimators.delegation import ModelEstimator
from dgtrees.estimators.parallel import run
from dgtrees.estimators.parameters import check_size, checked_recipe, unchanged_on_error
from dgtrees.estimators.prediction_intervals import Intervals
from dgtrees.learn.bagged_tree import Growing, grow
from dgtrees.learn.recipe import Recipe
from dgtrees.learn.scaling import moments
from dgtrees.model.model import Model, forest_of
from dgtrees.tables.examples import Examples, bootstrap, hash_rows
from dgtrees.tree.forest import ObliqueForest
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["ForestEstimator"]


class ForestEstimator(ForestParameters, ModelEstimator):
    """Base of the forests; subclasses say what a target is and how trees are combined."""

    _task: str
    _intervals: Intervals | None = None
    _total_importances: np.ndarray
    _seed: int

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
        check_size(self.max_depth, self.leaf, train.X.shape[1], self._outputs_per_leaf)
        growing = self._growing(recipe)
        grown_from = _content(train), growing, repr(getattr(self, "class_weight", None))
        trees: list[ObliqueTree] = []
        importances = np.zeros(self.n_features_in_)
        if self.warm_start and hasattr(self, "forest_"):
            self._check_kept(grown_from)
            trees, seed = list(self.forest_.trees), self._seed
            importances = self._total_importances.copy()
        for name in ("oob_score_", "oob_prediction_", "oob_decision_function_", "_intervals"):
            self.__dict__.pop(name, None)  # they judged another forest
        numbers = list(range(len(trees), self.n_estimators))
        grown = self._grown(train, validation, growing, numbers, seed)
        for tree, importance in grown:
            trees.append(self._without_weights(tree))
            np.add.at(importances, self._encoder.source, importance)
        self._seed, self._grown_from = seed, grown_from
        self._total_importances = importances
        if self.bootstrap:
            self._look_out_of_bag(train, forest_of(trees, self._answer, self._combine))
        _, scale = moments(train.X, train.weight, recipe.scaling)
        total = importances.sum()
        self.model_ = self._finished(
            trees,
            self._combine,
            importance=importances / total if total > 0 else importances,
            scale=np.where(scale > 0, scale, 1.0),
            leaf_rows=[tree.visits(train.X, train.weight)[1] for tree in trees],
            oob_score=vars(self).get("oob_score_"),
        )

    def _checked_recipe(self) -> Recipe:
        recipe = checked_recipe(self, self._task)
        if not _whole(self.n_estimators) or self.n_estimators < 1:
            raise ValueError(
                f"n_estimators must be a whole number of at least 1, got {self.n_estimators!r}"
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

    def _growing(self, recipe: Recipe) -> Growing:
        share = float(self.max_samples) if self.bootstrap else None
        return Growing(int(self.max_depth), self.leaf, recipe, self._n_classes, share)

    def _check_kept(self, grown_from: tuple) -> None:
        """Refuse to add trees that would not belong to the same forest."""
        have = len(self.forest_)
        if self.n_estimators < have:
            raise ValueError(
                f"with warm_start n_estimators must not fall below the {have} trees there are, got "
                f"{self.n_estimators}: set it higher, or warm_start=False"
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
        if self.n_estimators == have:
            warnings.warn(
                f"warm_start with n_estimators={have}, which there are already: nothing was "
                "trained; raise n_estimators to add trees",
                UserWarning,
                stacklevel=4,
            )

    def _grown(
        self,
        train: Examples,
        validation: Examples | None,
        growing: Growing,
        numbers: list[int],
        seed: int,
    ) -> list[tuple[ObliqueTree, np.ndarray]]:
        emphasis = self._row_factors(train.y, train.weight)
        # Sent to every worker: without the numbers of the table's rows, which only we need.
        shared = (replace(train, number=None), emphasis, validation, growing)
        seeds = [_tree_seed(seed, number) for number in numbers]
        with progress_bar(bool(self.verbose), type(self).__name__, "tree") as bars:

            def report(done: int) -> None:
                for bar in bars:
                    bar(done, len(numbers), {})

            return run(grow, shared, seeds, self.n_jobs, report)

    # Rows that a tree has not seen

    def _look_out_of_bag(self, train: Examples, forest: ObliqueForest) -> None:
        """Ask every tree about the rows that it was not trained on."""
        rows = (len(train.X), self._outputs_per_leaf)
        # Welford's running mean and sum of squares: targets may be far from 0.
        mean, squares, asked = np.zeros(rows), np.zeros(rows), np.zeros((rows[0], 1))
        for number, tree in enumerate(forest.trees):
            seed = _tree_seed(self._seed, number)
            unseen = np.flatnonzero(bootstrap(train.weight, self.max_samples, seed) == 0)
            outputs = forest.said_by(tree, train.X[unseen])
            asked[unseen] += 1
            step = outputs - mean[unseen]
            mean[unseen] += step / asked[unseen]
            squares[unseen] += step * (outputs - mean[unseen])
        mean[asked[:, 0] == 0] = np.nan
        squares[asked[:, 0] < 2] = np.nan
        spread = np.sqrt(squares / np.maximum(asked - 1, 1))
        if self.oob_score and np.isnan(mean).all():
            warnings.warn(
                f"oob_score is NaN: {self.n_estimators} trees have seen all {rows[0]} rows; train "
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


def _tree_seed(seed: int, number: int) -> int:
    """Seed of one tree, whichever worker trains it and however many others there are."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0] >> 1)


def _content(train: Examples) -> int:
    """A number that tells one set of training rows from another."""
    columns = (train.X, np.reshape(train.y, (len(train.y), -1)), train.weight[:, None])
    hashes = [hash_rows(column.astype(np.float64, copy=False)) for column in columns]
    mixed = sum(h * np.uint64(2 * i + 3) for i, h in enumerate(hashes))
    return int(np.sum(mixed, dtype=np.uint64))
