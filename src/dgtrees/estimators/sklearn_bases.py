"""scikit-learn's base classes, with types: those of its own are unknown to type checkers.

A class with an unknown base may have any attribute and any parameter, so that nobody would be told
of a misspelt one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike

    class BaseEstimator:
        """Parameters by name, and the tags that tell scikit-learn what an estimator can do."""

        n_features_in_: int
        feature_names_in_: np.ndarray

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def __sklearn_tags__(self) -> Any: ...

    class ClassifierMixin(BaseEstimator):
        """Accuracy as the score."""

        def score(
            self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
        ) -> float: ...

    class RegressorMixin(BaseEstimator):
        """R squared as the score."""

        def score(
            self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
        ) -> float: ...

    class ClusterMixin(BaseEstimator):
        """Labels of the training rows as the answer."""

        def fit_predict(self, X: ArrayLike, y: None = None) -> np.ndarray: ...

    class TransformerMixin(BaseEstimator):
        """`fit_transform`, and outputs in frames with names where they are asked for."""

        def fit_transform(self, X: ArrayLike, y: None = None) -> np.ndarray: ...
        def get_feature_names_out(self, input_features: Any = None) -> np.ndarray: ...
        def set_output(self, *, transform: str | None = None) -> Self: ...

else:
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        ClassNamePrefixFeaturesOutMixin,
        ClusterMixin,
        RegressorMixin,
    )
    from sklearn.base import TransformerMixin as _TransformerMixin

    class TransformerMixin(ClassNamePrefixFeaturesOutMixin, _TransformerMixin):
        """With the class's name before the number of every output."""


__all__ = [
    "BaseEstimator",
    "ClassifierMixin",
    "ClusterMixin",
    "RegressorMixin",
    "TransformerMixin",
]
