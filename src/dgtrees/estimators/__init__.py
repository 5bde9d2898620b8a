"""scikit-learn estimators."""

from dgtrees.estimators.classifier import DGTClassifier
from dgtrees.estimators.regressor import DGTRegressor

__all__ = ["DGTClassifier", "DGTRegressor"]
