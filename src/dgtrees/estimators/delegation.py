"""What every estimator that ends in a `Model` shares: answers, attributes and files are its.

Reading rows with scikit-learn's checks is `tables`' part, targets are `target_types`'.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from dgtrees.estimators.stored_parameters import parameters_of, unfitted
from dgtrees.estimators.tables import TableEstimator
from dgtrees.model import file as model_file
from dgtrees.model.contents import describe, restore
from dgtrees.model.facts import Facts
from dgtrees.model.header import refusing
from dgtrees.model.model import HasModel, Model, forest_of
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["ModelEstimator", "TreeEstimator"]


class ModelEstimator(HasModel, TableEstimator):
    """Base of what ends in a `Model`."""

    def _finished(
        self,
        trees: Sequence[ObliqueTree],
        combine: str | None = None,
        *,
        base: ObliqueTree | None = None,
        importance: np.ndarray | None = None,
        scale: np.ndarray | None = None,
        leaf_rows: Sequence[np.ndarray] | None = None,
        **scores: Any,
    ) -> Model:
        """The model of these trees, which are a forest if it is said how to combine them."""
        names = getattr(self, "feature_names_in_", None)
        facts = Facts(
            None if names is None else tuple(names.tolist()),
            None if leaf_rows is None else tuple(leaf_rows),
            scale,
            importance,
            scores,
        )
        forest = forest_of(trees, self._answer, combine or "mean", base)
        kind = type(self).__name__
        return Model(forest, self._answer, self._encoder, combine is None, kind, facts)

    # Answers

    def _outputs(self, X: Any) -> np.ndarray:
        rows = self._rows_to_predict(X)
        return self.model_.encoded_outputs(rows)

    def _row_outputs(self, x: Any) -> np.ndarray:
        row = self._row_to_predict(x)
        return self.model_.row_outputs(row)

    def _probabilities(self, outputs: np.ndarray) -> np.ndarray:
        return self.model_.probabilities(outputs)

    def apply(self, X: ArrayLike) -> np.ndarray:
        """Leaf that every row ends in: (rows,) or, of a forest, (rows, trees)."""
        rows = self._rows_to_predict(X)
        return self.model_.leaves(rows)

    # What is known

    @property
    def feature_importances_(self) -> np.ndarray | None:
        """Importance of every input column."""
        return self.model_.facts.importances

    @property
    def encoded_feature_scale_(self) -> np.ndarray | None:
        """Spread of every encoded column in training."""
        return self.model_.facts.feature_scale

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, which `dgtrees.load` reads without torch."""
        check_is_fitted(self, self._fitted)
        header, arrays = describe(self.model_, self._more_arrays())
        kind = {"kind": type(self).__name__, **parameters_of(self)}
        model_file.write(path, kind | header, arrays)

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        with refusing(cls):
            estimator = unfitted(cls, header)
            estimator._take(restore(cls.__name__, header, arrays))
            estimator._take_more_arrays(arrays)
        return estimator

    def _take(self, model: Model) -> None:
        """Become the estimator of a finished model."""
        assert model.encoder is not None
        self.model_, self._answer, self._encoder = model, model.answer, model.encoder
        self.n_features_in_ = len(model.columns)
        if model.facts.feature_names is not None:
            self.feature_names_in_ = np.array(model.facts.feature_names, dtype=object)

    def _more_arrays(self) -> dict[str, np.ndarray]:
        """Arrays that a file holds besides the model's."""
        return {}

    def _take_more_arrays(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore what `_more_arrays` gave."""


class TreeEstimator(ModelEstimator):
    """Base of what ends in one tree."""

    @property
    def tree_(self) -> ObliqueTree:
        """The tree itself, on unscaled features."""
        return self.model_.forest.trees[0]

    @property
    def leaf_rows_(self) -> np.ndarray | None:
        """Training rows of every leaf; None where nobody counted."""
        return self.model_.leaf_rows()

    def apply(self, X: ArrayLike) -> np.ndarray:
        """Leaf that every row ends in, (rows,)."""
        plain = self._plain_rows(X)
        leaves = None if plain is None else self.tree_.apply_finite(plain)
        return super().apply(X) if leaves is None else leaves

    def decision_path(self, X: ArrayLike) -> Any:
        """Sparse indicator of the nodes and leaves that every row passes."""
        rows = self._rows_to_predict(X)
        return self.tree_.decision_path(rows)

    def get_depth(self) -> int:
        """Most decisions a row can meet."""
        check_is_fitted(self, self._fitted)
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        check_is_fitted(self, self._fitted)
        return self.tree_.n_leaves

    # The end of a fit

    def _deliver(
        self,
        tree: ObliqueTree,
        importance: np.ndarray,
        scale: np.ndarray,
        leaf_rows: np.ndarray | None,
        history: dict[str, list[float]],
        n_iter: int,
        best_score: float | None,
    ) -> None:
        """End the fit: with the model, and nothing else that prediction needs."""
        features = np.zeros(self.n_features_in_)
        np.add.at(features, self._encoder.source, importance)
        self.model_ = self._finished(
            (self._without_weights(tree),),
            importance=features,
            scale=scale,
            leaf_rows=None if leaf_rows is None else (leaf_rows,),
            history=history,
            n_iter=int(n_iter),
            best_score=best_score,
        )
