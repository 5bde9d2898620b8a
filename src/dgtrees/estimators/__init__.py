"""scikit-learn estimators."""

from dgtrees.estimators.classifier import DGTClassifier
from dgtrees.estimators.forest import DGTForestClassifier, DGTForestRegressor
from dgtrees.estimators.regressor import DGTRegressor

__all__ = ["DGTClassifier", "DGTForestClassifier", "DGTForestRegressor", "DGTRegressor"]
