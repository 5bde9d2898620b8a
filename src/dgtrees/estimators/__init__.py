"""scikit-learn estimators."""

from dgtrees.estimators.bagged_forests import DGTForestClassifier, DGTForestRegressor
from dgtrees.estimators.classifier import DGTClassifier
from dgtrees.estimators.regressor import DGTRegressor

__all__ = ["DGTClassifier", "DGTForestClassifier", "DGTForestRegressor", "DGTRegressor"]
