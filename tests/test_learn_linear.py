"""Linear models for many penalties."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression, Ridge

from dgtrees.learn import linear
from dgtrees.learn.linear import PENALTIES, Linear, linear_models


def rows(n=60, d=5, classes=0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    weight = rng.integers(1, 4, n).astype(float)
    signal = X[:, :2] @ [[1.0, 0.3], [-2.0, 0.5]] + rng.normal(size=(n, 2))
    if not classes:
        return X, signal, weight
    return X, np.eye(classes)[np.digitize(signal[:, 0], np.arange(classes - 1) - 0.5)], weight


@pytest.mark.parametrize(("n", "d"), [(60, 5), (20, 60), (30, 30), (2, 1), (1, 3)])
def test_ridge_is_that_of_scikit_learn(n, d):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, d)).astype(np.float32), rng.normal(size=(n, 2))
    weight = rng.integers(1, 4, n).astype(float)
    for penalty, model in zip(
        PENALTIES, linear_models(X, y, weight, PENALTIES, False), strict=True
    ):
        twin = Ridge(alpha=penalty).fit(X.astype(float), y, sample_weight=weight)
        np.testing.assert_allclose(model.weights, twin.coef_, atol=1e-7)
        np.testing.assert_allclose(model.predict(X), twin.predict(X.astype(float)), atol=1e-6)


def test_duplicated_and_constant_columns_share_and_get_nothing():
    X, y, weight = rows()
    X = np.hstack([X, X[:, :1], np.zeros((60, 1), np.float32)])
    for model in linear_models(X, y, weight, PENALTIES, False):
        np.testing.assert_allclose(model.weights[:, 0], model.weights[:, 5], atol=1e-8)
        np.testing.assert_allclose(model.weights[:, 6], 0.0, atol=1e-12)


@pytest.mark.parametrize("classes", [0, 2, 4])
def test_a_row_of_weight_2_is_two_rows(classes):
    X, y, weight = rows(classes=classes)
    again = np.repeat(np.arange(len(X)), weight.astype(int))
    penalties = PENALTIES[:4]
    once = linear_models(X, y, weight, penalties, classes > 0)
    twice = linear_models(X[again], y[again], np.ones(len(again)), penalties, classes > 0)
    for a, b in zip(once, twice, strict=True):
        np.testing.assert_allclose(a.predict(X), b.predict(X), atol=2e-3 if classes else 1e-9)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_logistic_regression_is_that_of_scikit_learn(classes):
    X, y, weight = rows(200, classes=classes)
    for penalty, model in zip(PENALTIES, linear_models(X, y, weight, PENALTIES, True), strict=True):
        twin = LogisticRegression(C=1 / penalty, max_iter=1000)
        twin.fit(X.astype(float), y.argmax(axis=1), sample_weight=weight)
        p = softmax(model.predict(X), axis=1)
        np.testing.assert_allclose(p, twin.predict_proba(X.astype(float)), atol=5e-3)


@pytest.mark.parametrize("present", [[0, 3], [1, 2, 4], [2]])
def test_a_class_that_no_row_has_is_improbable_but_possible(present):
    X, _, weight = rows(80)
    label = np.array(present)[np.arange(80) % len(present)]
    for model in linear_models(X, np.eye(5)[label], weight, PENALTIES, True):
        p = softmax(model.predict(X), axis=1)
        absent = np.setdiff1d(np.arange(5), present)
        assert (p[:, absent] > 0).all()
        assert p[:, absent].max() < 0.05
        assert np.isfinite(model.weights).all() and model.weights.shape == (5, 5)


def test_models_that_do_not_converge_are_taken_as_they_are(monkeypatch):
    monkeypatch.setattr(linear, "_ITERATIONS", 1)  # warnings are errors here
    X, y, weight = rows(200, classes=3)
    assert len(linear_models(X, y, weight, PENALTIES, True)) == len(PENALTIES)


def test_outputs_are_weights_times_rows_plus_bias():
    model = Linear(np.array([[1.0, 2.0], [0.0, -1.0]]), np.array([0.5, 0.0]))
    np.testing.assert_array_equal(model.predict(np.array([[1.0, 1.0]])), [[3.5, -1.0]])
