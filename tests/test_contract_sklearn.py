"""scikit-learn's own checks, all of them, with default settings and no list of exceptions."""

import warnings

import pytest
from sklearn.utils.estimator_checks import check_estimator

from dgtrees import DGTClassifier, DGTRegressor


@pytest.mark.parametrize("kind", [DGTClassifier, DGTRegressor])
def test_check_estimator(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks provoke warnings on purpose
        results = check_estimator(kind(), on_skip=None, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed
    assert sum(r["status"] == "passed" for r in results) > 50
    assert not [r for r in results if r["expected_to_fail"]]
