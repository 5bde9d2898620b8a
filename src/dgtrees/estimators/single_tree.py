"""Fit of one tree in scikit-learn's interface, however it is trained."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike

from dgtrees.estimators.callbacks import CallbackSupportMixin, with_callbacks
from dgtrees.estimators.delegation import TreeEstimator
from dgtrees.estimators.parameters import unchanged_on_error

__all__ = ["SingleTree"]


class SingleTree(CallbackSupportMixin, TreeEstimator):
    """Base of estimators that train one tree; subclasses say how in `_fit`."""

    @with_callbacks
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
        """Train the tree.

        Parameters
        ----------
        X : array-like or DataFrame of shape (rows, features)
            Numbers; DataFrames may also hold strings or categories. Missing values are welcome.
        y : array-like of shape (rows,) or, for regression, (rows, outputs)
            Targets.
        sample_weight : array-like of shape (rows,), optional
            A weight of 2 is the same as giving the row twice, a weight of 0 as leaving it out.
        X_val, y_val, sample_weight_val : optional
            Validation rows: the weights of the epoch that does best on them are kept.

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
        raise NotImplementedError

    @property
    def history_(self) -> dict[str, list[float]]:
        """Loss and, with validation rows, scores, an entry an epoch."""
        return self.model_.facts.scores["history"]

    @property
    def n_iter_(self) -> int:
        """Epochs trained."""
        return self.model_.facts.scores["n_iter"]

    @property
    def best_score_(self) -> float | None:
        """Best validation score; None without validation rows."""
        return self.model_.facts.scores["best_score"]
