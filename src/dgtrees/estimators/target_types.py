"""What a target is, for every estimator that ends in a tree: classes, or one or several numbers.

Reads y and learns the `Answer` that it calls for, which turns outputs into predictions. Rows and
their encoding are `tables`', training is the estimators' own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d

from dgtrees.estimators.sklearn_bases import ClassifierMixin, RegressorMixin
from dgtrees.estimators.tables import TableEstimator
from dgtrees.model.answer import Classes, Values
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["ClassTarget", "ValueTarget"]


class ClassTarget(ClassifierMixin, TableEstimator):
    """Labels of any kind, one a row; a model's outputs are class scores."""

    _task = Classes.task
    _answer: Classes
    class_weight: Any = None
    """ "balanced", or a dict, where an estimator has such a parameter."""

    @property
    def classes_(self) -> np.ndarray:
        """Labels, in the order of `predict_proba`."""
        return self._answer.labels

    @property
    def _n_classes(self) -> int:
        return len(self.classes_)

    def _learn_target(self, y: Any) -> None:
        self._learn_classes(np.unique(self._labels(y)))

    def _learn_classes(self, classes: np.ndarray) -> None:
        if len(classes) == 1:
            raise ValueError(
                f"y must have at least 2 classes, got 1 class, {classes.tolist()[0]!r}: "
                "there is nothing to tell apart; check the target column"
            )
        self._answer = Classes(classes)

    def _read_target(self, y: Any) -> np.ndarray:
        y = self._labels(y)
        unknown = np.setdiff1d(y, self.classes_)
        if unknown.size:
            raise ValueError(
                f"y holds {unknown.tolist()[0]!r}, not one of {self.classes_.tolist()}: "
                "give all classes to fit, or to the first partial_fit"
            )
        return np.searchsorted(self.classes_, y)

    def _labels(self, y: Any) -> np.ndarray:
        y = column_or_1d(y, warn=True)
        if y.dtype.kind in "fO":
            missing = [value is None or value is not value or value != value for value in y]
            bad = np.flatnonzero(missing) if y.dtype == object else np.flatnonzero(~np.isfinite(y))
            if bad.size:
                raise ValueError(
                    f"y must not contain NaN or infinity, got {y[bad[0]]} in row {bad[0]}: "
                    "drop such rows or give them a class"
                )
        check_classification_targets(y)
        return y

    def _class_list(self) -> list:
        return self.classes_.tolist()

    def _class_factors(self, mass: np.ndarray) -> np.ndarray:
        """What class weights multiply rows of every class by, where they weigh `mass` so far."""
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            return mass.sum() / (len(self.classes_) * np.where(mass > 0, mass, 1.0))
        factors = compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_)
        for label, factor in zip(self.classes_.tolist(), factors.tolist(), strict=True):
            if not 0 <= factor < np.inf:
                raise ValueError(
                    f"class_weight must be finite and at least 0, got {factor} for the class "
                    f"{label!r}: give 0 to a class that is not to count"
                )
        if not factors.any():
            raise ValueError(
                "class_weight must be above 0 for a class that has training rows, got 0 for all: "
                "leave it out"
            )
        return factors

    def _row_factors(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray | None:
        if self.class_weight is None:
            return None
        factors = self._class_factors(np.bincount(y, weight, len(self.classes_)))
        self._learn_factors(factors)
        return factors[y]

    def _learn_factors(self, factors: np.ndarray, shares: bool = False) -> None:
        """Let class weights decide which class is predicted, and not what probabilities say.

        A class of no weight keeps the little that a tree gives to what it has not seen.
        """
        known = np.where(factors > 0, factors, factors.max(initial=0.0))
        told = None if (known == known[0]).all() else known
        self._answer = replace(self._answer, factors=told, shares=shares)

    def _without_weights(self, tree: ObliqueTree) -> ObliqueTree:
        """A tree of weighted rows whose probabilities are those of the rows themselves.

        Weights multiply the odds of classes, so that scores are too high by their logarithms.
        """
        if self._answer.emphasis is None:
            return tree
        return tree.with_leaves(tree.leaf_values - self._answer.emphasis, tree.leaf_weights)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Most probable class of every row, or the one that class weights make the best."""
        outputs = self._outputs(X)
        return self._answer.predict(outputs)

    def predict_row(self, x: ArrayLike) -> Any:
        """Class of one row of numbers, `predict([x])[0]` in a few microseconds.

        NaN is a missing value. Models with columns of categories have `predict` only.
        """
        outputs = self._row_outputs(x)
        return self._answer.predict(outputs)

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Class probabilities of every row, (rows, classes)."""
        outputs = self._outputs(X)
        return self._probabilities(outputs)

    def predict_log_proba(self, X: ArrayLike) -> np.ndarray:
        """Logarithm of `predict_proba`; minus infinity for a class without a vote."""
        with np.errstate(divide="ignore"):  # a class may have no vote
            return np.log(self.predict_proba(X))


class ValueTarget(RegressorMixin, TableEstimator):
    """One or several numbers a row; a model's outputs are those numbers."""

    _task = Values.task
    _answer: Values

    @property
    def _outputs_per_leaf(self) -> int:
        assert self._answer.n_outputs is not None
        return self._answer.n_outputs

    def _learn_target(self, y: Any) -> None:
        y = self._values(y)
        columns = y[:, None] if y.ndim == 1 else y
        self._answer = Values((columns.min(axis=0), columns.max(axis=0)), y.ndim == 1)

    def _learn_range(self, y: np.ndarray) -> None:
        self._answer = replace(self._answer, bounds=(y.min(axis=0), y.max(axis=0)))

    def _read_target(self, y: Any) -> np.ndarray:
        y = self._values(y)
        outputs = 1 if y.ndim == 1 else y.shape[1]
        if outputs != self._outputs_per_leaf:
            raise ValueError(
                f"y must have {self._outputs_per_leaf} outputs as in fit, got {outputs}"
            )
        return y.reshape(len(y), outputs)

    def _values(self, y: Any) -> np.ndarray:
        try:
            return self._numbers(y)
        except ValueError as error:
            if "could not convert string to float" not in str(error):
                raise
            text = next(value for value in np.ravel(y).tolist() if not _is_number(value))
            raise ValueError(
                f"y must hold numbers, got {text!r}: take a classifier to predict classes"
            ) from error

    def _numbers(self, y: Any) -> np.ndarray:
        y = check_array(
            y,
            ensure_2d=False,
            dtype=np.float64,
            ensure_all_finite="allow-nan",
            input_name="y",
            estimator=self,
        )
        if np.isnan(y).any():
            row = int(np.argwhere(np.isnan(y))[0, 0])
            raise ValueError(
                f"y must not contain NaN, got NaN in row {row}: drop such rows or fill them in"
            )
        if y.ndim > 2:
            raise ValueError(f"y must have shape (rows,) or (rows, outputs), got {y.shape}")
        return y

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predicted values, (rows,) or (rows, outputs) as y was in fit."""
        outputs = self._outputs(X)
        return self._answer.predict(outputs)

    def predict_row(self, x: ArrayLike) -> Any:
        """Value of one row of numbers, `predict([x])[0]` in a few microseconds.

        NaN is a missing value. Models with columns of categories have `predict` only.
        """
        outputs = self._row_outputs(x)
        # A copy: a tree may answer with a view of its leaf, which nobody may write to.
        return self._answer.predict(outputs.copy())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
