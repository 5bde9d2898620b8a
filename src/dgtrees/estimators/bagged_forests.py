"""DGTForestClassifier and DGTForestRegressor: bagged oblique trees that answer together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from dgtrees.errors import StateError
from dgtrees.estimators.forest_base import ForestEstimator
from dgtrees.estimators.prediction_intervals import Intervals
from dgtrees.estimators.target_types import ClassTarget, ValueTarget
from dgtrees.learn.recipe import Recipe
from dgtrees.learn.sharpening import fit_exponent
from dgtrees.tables.examples import Examples

__all__ = ["DGTForestClassifier", "DGTForestRegressor"]

_VOTING = {"hard": "vote", "soft": "softmax"}


@dataclass(eq=False, repr=False)
class DGTForestClassifier(ClassTarget, ForestEstimator):
    """A forest of hard oblique trees for classification, each of a bootstrap sample.

    By default what the trees are, is chosen once, on rows that a few trial trees have not seen:
    deep trees whose nodes split by the best of some columns and directions, drawn at random.

    Parameters
    ----------
    n_estimators : int or "auto", default "auto"
        Number of trees; "auto" is 100, and 30 where they are trained by gradient descent.
    max_depth : int or "auto", default "auto"
        Height of trees that are trained by gradient descent; with "auto" trees are grown, or, where
        a parameter says how to train, of height 8.
    max_leaves : int, optional
        Most leaves of a tree, with max_depth="auto".
    voting : {"hard", "soft"}, default "soft"
        "soft" averages the trees' class shares, and where it was chosen what the trees are,
        `predict_proba` is these to a power that out-of-bag rows make right; with "hard" each tree
        has one vote, as in the paper, and `predict_proba` is the share of votes.
    max_samples : float, default 1.0
        Rows drawn, with replacement, for each tree, as a share of the rows there are.
    bootstrap : bool, default True
        False trains every tree on all rows; they then differ by their random starts only.
    oob_score : bool, default False
        Judge the forest by rows that trees have not seen.
    class_weight
        As in `DGTClassifier`.
    leaf, recipe, n_layers, hidden, loss, max_epochs, batch_size, learning_rate, l1, l2 : optional
        As in `DGTClassifier`, for every tree that is trained by gradient descent.
    n_jobs : int, optional
        Trees trained at the same time, -1 for as many as there are cores. The active joblib
        backend does it (processes, Ray, Dask); the forest is the same whichever it is.
    warm_start : bool, default False
        Let the next fit, on the same rows, add trees up to `n_estimators`.
    encoder : Encoder, optional
        Settings for columns of a frame: which to drop, what they are, how many categories.
    random_state : int, RandomState or None
        Seed. The same seed gives the same forest on any number of workers.
    verbose : int, default 0
        1 shows a progress bar.

    Attributes
    ----------
    forest_ : ObliqueForest
        The trees (`forest_.trees`), on unscaled features.
    chosen_ : MemberChoice
        What the trees could have been, and the out-of-bag error of each; print it.
    classes_ : ndarray of shape (classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, when X had names.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Mean over the trees.
    leaf_rows_ : list of ndarray
        For every tree, the training rows that each of its leaves holds.
    oob_score_ : float
        Accuracy on out-of-bag rows, with oob_score=True.
    oob_decision_function_ : ndarray of shape (rows, classes)
        What the trees that have not seen a row say of it; NaN where all have, or its weight is 0.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dgtrees import DGTForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = DGTForestClassifier(n_estimators=5, max_depth=3, random_state=0).fit(X, y)
    >>> bool(forest.score(X, y) > 0.9), forest.apply(X).shape
    (True, (150, 5))
    """

    _: KW_ONLY
    voting: str = "soft"
    class_weight: str | Mapping[Any, float] | None = None
    _default_height = 8

    def _checked_recipe(self) -> Recipe:
        if self.voting not in _VOTING:
            raise ValueError(f"voting must be one of {', '.join(_VOTING)}, got {self.voting!r}")
        return super()._checked_recipe()

    @property
    def _combine(self) -> str:
        return _VOTING[self.voting]

    def _learn_factors(self, factors: np.ndarray, shares: bool = True) -> None:
        if self._combine != "vote":  # votes are decisions, which weights have had their part in
            super()._learn_factors(factors, shares)

    def _judge_out_of_bag(self, train: Examples, outputs: np.ndarray, spread: np.ndarray) -> None:
        known = ~np.isnan(outputs[:, 0])
        if self._chooses and self._combine == "softmax" and known.any():
            rows = outputs[known], train.y[known], train.weight[known]
            self._answer = replace(self._answer, exponent=fit_exponent(*rows))
        if not self.oob_score:
            return
        hit = self._answer.predict(outputs[known]) == self.classes_[train.y[known]]
        self.oob_score_ = (
            float(np.average(hit, weights=train.weight[known])) if known.any() else float("nan")
        )
        said = self._answer.sharpened(outputs)
        self.oob_decision_function_ = self._by_given_row(train, said)


@dataclass(eq=False, repr=False)
class DGTForestRegressor(ValueTarget, ForestEstimator):
    """A forest of hard oblique trees for regression, each of a bootstrap sample.

    By default what the trees are, is chosen once, on rows that a few trial trees have not seen:
    deep trees whose nodes split by the best of some columns and directions, drawn at random, alone
    or beside linear functions.

    Parameters
    ----------
    n_estimators : int or "auto", default "auto"
        Number of trees, whose mean is the prediction; "auto" is 100, and 30 where they are trained
        by gradient descent.
    max_depth : int or "auto", default "auto"
        Height of trees that are trained by gradient descent; with "auto" trees are grown, or, where
        a parameter says how to train, of height 6.
    max_leaves : int, optional
        Most leaves of a tree, with max_depth="auto".
    max_samples : float, default 1.0
        Rows drawn, with replacement, for each tree, as a share of the rows there are.
    bootstrap : bool, default True
        False trains every tree on all rows; they then differ by their random starts only.
    oob_score : bool, default False
        Judge the forest by rows that trees have not seen.
    leaf : {"auto", "constant", "linear"}, default "auto"
        Whether grown trees stand beside linear functions; of trained trees, what leaves hold.
    loss, recipe, n_layers, hidden, max_epochs, batch_size, learning_rate, l1, l2
        As in `DGTRegressor`, for every tree that is trained by gradient descent.
    n_jobs : int, optional
        Trees trained at the same time, -1 for as many as there are cores. The active joblib
        backend does it (processes, Ray, Dask); the forest is the same whichever it is.
    warm_start : bool, default False
        Let the next fit, on the same rows, add trees up to `n_estimators`.
    encoder : Encoder, optional
        Settings for columns of a frame: which to drop, what they are, how many categories.
    random_state : int, RandomState or None
        Seed. The same seed gives the same forest on any number of workers.
    verbose : int, default 0
        1 shows a progress bar.

    Attributes
    ----------
    forest_ : ObliqueForest
        The trees (`forest_.trees`), on unscaled features and targets, and `forest_.base`, the
        linear function that is added to their sum, where there is one.
    chosen_ : MemberChoice
        What the trees could have been, and the out-of-bag error of each; print it.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, when X had names.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Mean over the trees.
    leaf_rows_ : list of ndarray
        For every tree, the training rows that each of its leaves holds.
    oob_score_ : float
        R squared on out-of-bag rows, with oob_score=True.
    oob_prediction_ : ndarray of shape (rows,) or (rows, outputs)
        Mean of the trees that have not seen a row; NaN where all have, or its weight is 0.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dgtrees import DGTForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = DGTForestRegressor(n_estimators=4, max_depth=3, random_state=0).fit(X, y)
    >>> low, high = forest.predict_interval(X[:1], coverage=0.9)[0]
    >>> bool(low < forest.predict(X[:1])[0] < high)
    True
    """

    _default_height = 6

    def _judge_out_of_bag(self, train: Examples, outputs: np.ndarray, spread: np.ndarray) -> None:
        if self.oob_score:
            known = ~np.isnan(outputs[:, 0])
            truth, guess, weight = train.y[known], outputs[known], train.weight[known]
            # One row has no variance that could be explained.
            enough = known.sum() > 1
            score = r2_score(truth, guess, sample_weight=weight) if enough else np.nan
            self.oob_score_ = float(score)
            values = self._by_given_row(train, outputs)
            self.oob_prediction_ = self._answer.predict(values)
        known = ~np.isnan(spread[:, 0])
        self._intervals = None
        if known.any():
            errors = train.y[known] - outputs[known]
            self._intervals = Intervals.learnt(errors, spread[known], train.weight[known])

    def predict_interval(self, X: ArrayLike, coverage: float = 0.9) -> np.ndarray:
        """Interval around `predict` that holds about the share `coverage` of new targets.

        Wide where the trees disagree. How wide, is learnt from the errors on out-of-bag rows, so
        that the intervals are about right for rows like those of training, on the whole though
        not for every kind of row.

        Returns
        -------
        ndarray of shape (rows, 2) or, where y had several outputs, (rows, outputs, 2)
            Lower and upper end.
        """
        check_is_fitted(self, self._fitted)
        if not isinstance(coverage, Real) or not 0.0 < float(coverage) < 1.0:
            raise ValueError(f"coverage must be between 0 and 1, got {coverage!r}")
        if self._intervals is None:
            raise StateError(
                "intervals need rows that two trees have not seen, and there are none: fit with "
                "bootstrap=True, more trees, or smaller sample weights (100 is 100 rows)"
            )
        rows = self._rows_to_predict(X)
        spread = self.forest_.outputs_by_tree(rows).std(axis=0, ddof=1)
        if self.forest_.combine == "sum":  # where a tree says its part of the mean
            spread = spread * len(self.forest_)
        half = self._intervals.half_width(spread, float(coverage))
        center = self.forest_.predict(rows)
        interval = np.stack([center - half, center + half], axis=-1)
        return interval[:, 0] if self._answer.single_output else interval

    def _more_arrays(self) -> dict[str, np.ndarray]:
        if self._intervals is None:
            return {}
        parts = vars(self._intervals)
        return {f"intervals.{name}": array for name, array in parts.items()}

    def _take_more_arrays(self, arrays: dict[str, np.ndarray]) -> None:
        if "intervals.errors" in arrays:
            parts = arrays["intervals.typical_spread"], arrays["intervals.errors"]
            outputs = self._outputs_per_leaf
            if parts[0].shape != (outputs,):
                raise ValueError(f"intervals of {outputs} outputs, got {parts[0].shape}")
            self._intervals = Intervals(*parts)
