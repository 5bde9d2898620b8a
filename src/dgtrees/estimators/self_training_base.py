"""What the two self-training estimators have in common.

Reads rows and marks of unlabelled ones, hands them to `learn.self_training`, and delivers the
finished `Model`. With labels on all rows, and where held-out labels say that unlabelled rows do not
help, the model is that of `DGTClassifier` or `DGTRegressor`.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_consistent_length

from dgtrees.errors import Problems
from dgtrees.estimators.callbacks import tell
from dgtrees.estimators.classifier import DGTClassifier
from dgtrees.estimators.constructors import SelfTrainingParameters
from dgtrees.estimators.delegation import TreeEstimator
from dgtrees.estimators.log_copies import add_log_copies
from dgtrees.estimators.parameters import check_size, unchanged_on_error
from dgtrees.estimators.regressor import DGTRegressor
from dgtrees.learn.part_labelled import PartLabelled
from dgtrees.learn.recipe import RECIPES
from dgtrees.learn.scaling import moments
from dgtrees.learn.self_training import choose, self_train
from dgtrees.learn.spreading import SpreadingChoice
from dgtrees.learn.student import student_importance
from dgtrees.learn.tails import find_tails
from dgtrees.tables.encoder import Targets
from dgtrees.tables.examples import Examples, merge_repeated
from dgtrees.tree.leaf import LEAF_KINDS

__all__ = ["SelfTraining"]


class SelfTraining(SelfTrainingParameters, TreeEstimator):
    """Base of the two; subclasses say what a target is, and which tree labels alone would give."""

    _task: str
    _alone: ClassVar[type[DGTClassifier] | type[DGTRegressor]]
    """What is trained on labelled rows alone."""

    _labelled: np.ndarray
    supervised_: DGTClassifier | DGTRegressor
    chosen_: SpreadingChoice
    transduction_: np.ndarray

    @property
    def n_iter_(self) -> int:
        """Passes over the rows of the last training."""
        return self.model_.facts.scores["n_iter"]

    def _mark(self, y: Any) -> tuple[Any, np.ndarray]:
        """Targets of all rows, and which rows have one."""
        raise NotImplementedError

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train the tree on labelled and unlabelled rows.

        Parameters
        ----------
        X : array-like or DataFrame of shape (rows, features)
            Numbers; DataFrames may also hold strings or categories. Missing values are welcome.
        y : array-like of shape (rows,) or, for regression, (rows, outputs)
            Targets. An unlabelled row has the class -1, None or NaN; a value of NaN.
        sample_weight : array-like of shape (rows,), optional
            A weight of 2 is the same as giving the row twice, a weight of 0 as leaving it out.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            self._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._check_parameters()
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        for name in ("supervised_", "chosen_", "transduction_"):
            self.__dict__.pop(name, None)
        y, labelled = self._mark(y)
        if not labelled.any():
            raise ValueError(
                f"y must have a label for at least one row, got none for {len(labelled)} rows: "
                "-1, None and NaN mean unlabelled"
            )
        if labelled.all():
            self._take_supervised(X, y, sample_weight)
            self._end(self._soft(self._outputs(X)), self._read_target(y), labelled)
            return
        self._learn_target(y[labelled])
        self._labelled = labelled
        table = self._read_table(X, first=True)
        rows = table if isinstance(table, np.ndarray) else table[0][1]
        check_consistent_length(rows, y)
        weight = _check_sample_weight(
            sample_weight, rows, dtype=np.float64, ensure_non_negative=True
        )
        if np.count_nonzero(weight * labelled) < 2:
            raise ValueError(
                f"y must have a label for at least 2 rows of positive weight where others have "
                f"none, got {np.count_nonzero(weight * labelled)}: label a few more"
            )
        target = self._read_target(y[labelled])
        self._learn_range(target[weight[labelled] > 0])
        encoded = self._learn_encoding(table, weight, target)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        whole = np.zeros((len(labelled), target.size // len(target)))
        whole[labelled] = target.reshape(len(target), -1)
        merged = merge_repeated(encoded, np.column_stack([whole, labelled]), weight)
        train = Examples(merged[0], merged[1][:, :-1], *merged[2:])
        soft = self._train(train, merged[1][:, -1] > 0, seed)[merged[3]]
        if self.max_depth == "auto":
            self._compare(X, y, sample_weight, labelled)
        outputs = self._soft(self._outputs(X))
        # Rows of no weight took no part: of those, and of all where labels alone do better, the
        # targets are what the model says.
        told = (merged[3] < 0) if self.chosen_.helps else np.ones(len(labelled), dtype=bool)
        soft[told] = outputs[told]
        self._end(soft, target, labelled)

    def _check_parameters(self) -> None:
        problems, depth, near = Problems(), self.max_depth, self.n_neighbors
        problems.require(
            self.leaf in ("auto", *LEAF_KINDS),
            f"leaf must be 'auto' or one of {', '.join(LEAF_KINDS)}, got {self.leaf!r}",
        )
        problems.require(
            depth == "auto" if isinstance(depth, str) else _whole(depth, 0),
            f"max_depth must be a whole number of at least 0, or 'auto', got {depth!r}",
        )
        problems.require(
            near == "auto" if isinstance(near, str) else _whole(near, 0),
            f"n_neighbors must be a whole number, 0 for no graph, or 'auto', got {near!r}",
        )
        for name, value in (("n_rounds", self.n_rounds), ("max_epochs", self.max_epochs)):
            problems.require(
                _whole(value, 1) or (name == "max_epochs" and value is None),
                f"{name} must be a whole number of at least 1, got {value!r}",
            )
        problems.settle()

    def _targets(self, target: np.ndarray) -> Targets:
        """Statistics of categories are of labelled rows; others say the mean, which is nothing."""
        told = super()._targets(target)
        values = np.tile(told.values.mean(axis=0), (len(self._labelled), 1))
        values[self._labelled] = told.values
        return replace(told, values=values)

    def _train(self, train: Examples, labelled: np.ndarray, seed: int) -> np.ndarray:
        """Train the tree and deliver it; targets of all (distinct) rows, in the labels' unit."""
        columns, classes = train.X, self._n_classes
        if not classes:  # a few extreme values would be most of a distance, and of a slope
            columns = find_tails(columns, train.weight, self._encoder.medians)[1].bend(columns)
        guessed = _standardised(columns, train.weight)[2]
        recipe = RECIPES["default"][self._task]
        self._encoder, train, _ = add_log_copies(self._encoder, recipe, train, None)
        center, scale, X = _standardised(train.X, train.weight)
        known = np.flatnonzero(labelled)
        target, unit, middle = train.y[known], np.ones(1), np.zeros(1)
        if classes:
            target = np.eye(classes)[target[:, 0].astype(np.int64)]
        else:
            middle, unit = moments(target, train.weight[known])
            unit = np.where(unit > 0, unit, 1.0)
            target = (target - middle) / unit
        part = PartLabelled(guessed, known, target, train.weight, bool(classes), seed)
        near = None if self.n_neighbors == "auto" else int(self.n_neighbors)
        self.chosen_ = choose(part, columns, near)
        depth = None if self.max_depth == "auto" else int(self.max_depth)
        check_size(depth or 0, self.leaf, X.shape[1], target.shape[1])
        made = self_train(
            part,
            X,
            columns,
            self.chosen_,
            max_depth=depth,
            leaf=self.leaf,
            n_rounds=self.n_rounds,
            max_epochs=self.max_epochs,
            seed=seed,
            n_threads=effective_n_jobs(self.n_jobs),
        )
        gains = student_importance(made.tree, X, made.targets, train.weight, bool(classes))
        tree = made.tree.on_unscaled_inputs(center, scale)
        if not classes:
            tree = tree.on_scaled_outputs(middle, unit)
        leaf_rows = tree.visits(train.X, train.weight)[1]
        self._deliver(tree, gains, scale, leaf_rows, {}, made.epochs, None)
        return made.targets if classes else made.targets * unit + middle

    def _take_supervised(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Become the tree of the labelled rows alone."""
        alone = self._fit_alone(X, y, sample_weight)
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        self._take(replace(alone.model_, kind=type(self).__name__))

    def _fit_alone(self, X: Any, y: Any, sample_weight: Any) -> DGTClassifier | DGTRegressor:
        self.supervised_ = self._alone(
            self.max_depth,
            max_epochs=self.max_epochs if self.max_depth != "auto" else None,
            leaf=self.leaf,
            encoder=self.encoder,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )
        return self.supervised_.fit(X, y, sample_weight)

    def _compare(self, X: Any, y: Any, sample_weight: Any, labelled: np.ndarray) -> None:
        """Keep the tree of the labelled rows alone where that does better on held-out labels."""
        some = np.flatnonzero(labelled)
        weight = None if sample_weight is None else np.asarray(sample_weight)[some]
        alone = self._fit_alone(_safe_indexing(X, some), y[some], weight)
        self.chosen_.alone = alone.chosen_.score(alone.chosen_.plan)
        if not self.chosen_.helps:
            self._take(replace(alone.model_, kind=type(self).__name__))
        if self.verbose:
            tell(str(self.chosen_))

    def _soft(self, outputs: np.ndarray) -> np.ndarray:
        """Class shares or values, from outputs of the model."""
        return self._probabilities(outputs) if self._n_classes else outputs

    def _end(self, soft: np.ndarray, target: np.ndarray, labelled: np.ndarray) -> None:
        """Keep the targets of all rows, with the labels of those that have one."""
        given = np.eye(self._n_classes)[target] if self._n_classes else target
        soft[labelled] = given
        self.transduction_ = self._shown(soft)

    def _shown(self, soft: np.ndarray) -> np.ndarray:
        """Targets of all rows as users see them."""
        return soft


def _standardised(X: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centre and scale of every column, and the rows in those units, float32."""
    center, spread = moments(X, weight)
    scale = np.where(spread > 0, spread, 1.0)
    return center, scale, np.ascontiguousarray(((X - center) / scale).astype(np.float32))


def _whole(value: Any, least: int) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least
