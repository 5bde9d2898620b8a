"""Probabilistic trees with annealing: schedules, the soft-max over leaves, hardening."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_friedman1
from sklearn.utils.estimator_checks import check_estimator

from dgtrees.paper.baselines.pat import PATClassifier, PATRegressor


def test_hardening_costs_something():
    X, y = make_friedman1(600, noise=0.5, random_state=0)
    options = {"scale_start": 10.0, "scale_stop": 100.0, "max_epochs": 25, "random_state": 0}
    model = PATRegressor(4, **options).fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:])
    assert model.soft_loss_ < model.hard_loss_
    assert model.score(X[400:], y[400:]) > 0.3
    again = PATRegressor(4, **options).fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:])
    np.testing.assert_array_equal(model.tree_.weights, again.tree_.weights)


def test_classes():
    X, y = make_classification(400, 6, n_informative=4, random_state=0)
    labels = np.array(["no", "yes"])[y]
    model = PATClassifier(3, scale_start=10.0, schedule="linear", max_epochs=25, random_state=0)
    assert model.fit(X, labels).score(X, labels) > 0.8
    with pytest.raises(ValueError, match="schedule must be one of log, linear, got 'cosine'"):
        PATClassifier(schedule="cosine").fit(X, labels)


@pytest.mark.parametrize("kind", [PATClassifier, PATRegressor])
def test_check_estimator(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks provoke warnings on purpose
        quick = kind(2, scale_start=10.0, learning_rate=0.05, max_epochs=8)
        results = check_estimator(quick, on_skip=None, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed
    assert sum(r["status"] == "passed" for r in results) > 40
