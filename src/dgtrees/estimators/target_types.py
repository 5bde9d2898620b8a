"""What a target is, for every estimator that ends in a tree: classes, or one or several numbers.

Reads y, turns a tree's outputs into answers, and says what of the target a model file holds. Rows
and their encoding are `tables`', training is the estimators' own.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d

from dgtrees.errors import StateError
from dgtrees.estimators.tables import TableEstimator
from dgtrees.schema import shown

__all__ = ["ClassTarget", "ValueTarget"]

_LABELS: dict[str, tuple[type, ...]] = {
    "b": (bool,),
    "i": (int,),
    "u": (int,),
    "f": (float,),
    "U": (str,),
    "O": (str, int, float, bool),
}
"""Kind of NumPy's types to what labels are in a file."""

_ROOM = 1024


class ClassTarget(ClassifierMixin, TableEstimator):
    """Labels of any kind, one a row; a model's outputs are class scores."""

    _task = "classification"
    classes_: np.ndarray
    class_weight: Any = None
    """ "balanced", or a dict, where an estimator has such a parameter."""

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
        self.classes_ = classes

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
        return factors

    def _row_factors(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray | None:
        if self.class_weight is None:
            return None
        return self._class_factors(np.bincount(y, weight, len(self.classes_)))[y]

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Most probable class of every row."""
        scores = self._outputs(X)
        return self.classes_[scores.argmax(axis=1)]

    def predict_row(self, x: ArrayLike) -> Any:
        """Class of one row of numbers, `predict([x])[0]` in a few microseconds.

        NaN is a missing value. Models with columns of categories have `predict` only.
        """
        scores = self._row_outputs(x)
        return self.classes_[scores.argmax()]

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Class probabilities of every row, (rows, classes)."""
        scores = self._outputs(X)
        return softmax(scores, axis=1)

    def predict_log_proba(self, X: ArrayLike) -> np.ndarray:
        """Logarithm of `predict_proba`."""
        return np.log(self.predict_proba(X))

    def _target_for_file(self) -> dict[str, Any]:
        if self.classes_.dtype.kind not in "biufUO":
            raise StateError(
                f"classes of type {self.classes_.dtype} cannot be saved: use strings or numbers"
            )
        return {"classes": self.classes_.tolist(), "classes_dtype": self.classes_.dtype.str}

    def _target_from_file(self, header: dict[str, Any]) -> None:
        self.classes_ = _stored_classes(header["classes"], header["classes_dtype"])


def _stored_classes(labels: list, dtype: str) -> np.ndarray:
    """Classes of a file as they were in fit: in order, and of the type that the file names."""
    kind, size = re.fullmatch(r"[<>|=]?(\w)(\d*)", dtype).groups()  # type: ignore[union-attr]
    allowed = _LABELS[kind]
    if not all(type(label) in allowed for label in labels):
        raise ValueError(f"classes must be labels of the type {dtype}, got {shown(labels)}")
    if any(not one < next_ for one, next_ in pairwise(labels)):
        raise ValueError(f"classes must be in order and differ, got {shown(labels)}")
    if kind == "U":
        longest = max(map(len, labels))
        if not longest <= int(size or 0):
            raise ValueError(f"classes must fit {dtype}, got {shown(labels)}")
        # Room that no label needs is kept up to a point: files must not ask for memory.
        dtype = f"<U{min(int(size), max(longest, _ROOM))}"
    return np.array(labels, dtype=np.dtype(dtype))


class ValueTarget(RegressorMixin, TableEstimator):
    """One or several numbers a row; a model's outputs are those numbers."""

    _task = "regression"

    @property
    def _outputs_per_leaf(self) -> int:
        return self._n_outputs

    def _learn_target(self, y: Any) -> None:
        y = self._values(y)
        self._n_outputs, self._single = 1 if y.ndim == 1 else y.shape[1], y.ndim == 1
        columns = y.reshape(len(y), self._n_outputs)
        self._target_range = columns.min(axis=0), columns.max(axis=0)

    def _read_target(self, y: Any) -> np.ndarray:
        y = self._values(y)
        outputs = 1 if y.ndim == 1 else y.shape[1]
        if outputs != self._n_outputs:
            raise ValueError(f"y must have {self._n_outputs} outputs as in fit, got {outputs}")
        return y.reshape(len(y), outputs)

    def _values(self, y: Any) -> np.ndarray:
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
        return outputs[:, 0] if self._single else outputs

    def predict_row(self, x: ArrayLike) -> Any:
        """Value of one row of numbers, `predict([x])[0]` in a few microseconds.

        NaN is a missing value. Models with columns of categories have `predict` only.
        """
        outputs = self._row_outputs(x)
        # A copy: a tree may answer with a view of its leaf, which nobody may write to.
        return outputs[0] if self._single else outputs.copy()

    def _outputs(self, X: Any) -> np.ndarray:
        return self._bounded(super()._outputs(X))

    def _row_outputs(self, x: Any) -> np.ndarray:
        return self._bounded(super()._row_outputs(x))

    def _bounded(self, outputs: np.ndarray) -> np.ndarray:
        tree = getattr(self, "tree_", None)
        if tree is not None and tree.leaf_weights is not None:
            # Linear leaves know no bounds; the targets had some.
            outputs = np.clip(outputs, *self._target_range)
        return outputs

    def _target_for_file(self) -> dict[str, Any]:
        return {
            "single_output": bool(self._single),
            "outputs": int(self._n_outputs),
            "target_range": [bound.tolist() for bound in self._target_range],
        }

    def _target_from_file(self, header: dict[str, Any]) -> None:
        self._single, self._n_outputs = header["single_output"], header["outputs"]
        low, high = (np.array(bound, dtype=np.float64) for bound in header["target_range"])
        if not low.shape == high.shape == (self._n_outputs,) or (low > high).any():
            raise ValueError(
                f"target_range must be {self._n_outputs} numbers each, low and high, "
                f"got {shown(header['target_range'])}"
            )
        if self._single and self._n_outputs != 1:
            raise ValueError(f"single_output must be false with {self._n_outputs} outputs")
        self._target_range = low, high

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags
