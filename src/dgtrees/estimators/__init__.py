"""scikit-learn estimators."""

from dgtrees.estimators.autoencoder import DGTAutoencoder
from dgtrees.estimators.bag_classifier import DGTBagClassifier
from dgtrees.estimators.bagged_forests import DGTForestClassifier, DGTForestRegressor
from dgtrees.estimators.boosted import DGTBoostingClassifier, DGTBoostingRegressor
from dgtrees.estimators.classifier import DGTClassifier
from dgtrees.estimators.clusterer import DGTClusterer
from dgtrees.estimators.regressor import DGTRegressor
from dgtrees.estimators.self_training import (
    DGTSelfTrainingClassifier,
    DGTSelfTrainingRegressor,
)

__all__ = [
    "DGTAutoencoder",
    "DGTBagClassifier",
    "DGTBoostingClassifier",
    "DGTBoostingRegressor",
    "DGTClassifier",
    "DGTClusterer",
    "DGTForestClassifier",
    "DGTForestRegressor",
    "DGTRegressor",
    "DGTSelfTrainingClassifier",
    "DGTSelfTrainingRegressor",
]
