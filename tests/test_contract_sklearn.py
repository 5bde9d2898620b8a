"""scikit-learn's own checks: all of them, but one where our mark of unlabelled rows is a class."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from dgtrees import (
    DGTAutoencoder,
    DGTBagClassifier,
    DGTBoostingClassifier,
    DGTBoostingRegressor,
    DGTClassifier,
    DGTClusterer,
    DGTForestClassifier,
    DGTForestRegressor,
    DGTRegressor,
    DGTSelfTrainingClassifier,
    DGTSelfTrainingRegressor,
)

ESTIMATORS = [
    DGTBagClassifier(max_leaves=1),
    DGTClassifier(),
    DGTRegressor(),
    DGTBoostingClassifier(),
    DGTBoostingRegressor(),
    DGTClusterer(),
    DGTAutoencoder(),
    # Shorter trainings and fewer trees than the default: the checks fit several hundred models.
    DGTClassifier(max_epochs=50),
    DGTRegressor(max_epochs=50),
    DGTForestClassifier(n_estimators=2, max_depth=4, max_epochs=25),
    DGTForestRegressor(n_estimators=2, max_depth=4, max_epochs=25),
    # With labels on all rows: the trees of the labelled rows alone.
    DGTSelfTrainingClassifier(max_depth=4, max_epochs=25),
    DGTSelfTrainingRegressor(max_depth=4, max_epochs=25),
]


UNLABELLED = {"check_classifiers_classes": "has a class -1, which here means unlabelled"}


def expected_to_fail(estimator):
    return UNLABELLED if isinstance(estimator, DGTSelfTrainingClassifier) else {}


@pytest.mark.filterwarnings("ignore")  # the checks provoke warnings on purpose
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_to_fail)
def test_check_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_there_are_checks_enough(estimator):
    assert len(list(estimator_checks_generator(estimator))) > 50
