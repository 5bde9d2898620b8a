"""Tree ensemble layer: the smooth step, the cost of softness, and an estimator's interface."""

import warnings

import numpy as np
import pytest
import torch
from sklearn.datasets import make_classification, make_regression
from sklearn.utils.estimator_checks import check_estimator

from dgtrees.paper.baselines.soft_trees import SmoothStep
from dgtrees.paper.baselines.tel import SoftTree, TELClassifier, TELRegressor, smooth_step


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(600, 6, n_informative=4, n_classes=3, random_state=0)
    return X[:400], y[:400], X[400:], y[400:]


@pytest.mark.parametrize("gamma", [0.01, 1.0, 3.0])
def test_both_smooth_steps_are_the_published_cubic(gamma):
    a = np.linspace(-2.0, 2.0, 101)
    cubic = -2.0 * a**3 / gamma**3 + 3.0 * a / (2.0 * gamma) + 0.5
    expected = np.where(a <= -gamma / 2, 0.0, np.where(a >= gamma / 2, 1.0, cubic))
    np.testing.assert_allclose(smooth_step(a, gamma), expected, atol=1e-12)
    decision = SmoothStep(gamma)(torch.from_numpy(a)).numpy()
    np.testing.assert_allclose((decision + 1.0) / 2.0, expected, atol=1e-12)


@pytest.mark.parametrize("n_trees", [1, 3])
def test_numpy_trees_predict_as_the_network_did(n_trees):
    X, y = make_regression(300, 5, noise=1.0, random_state=0)
    y = y + 100.0
    model = TELRegressor(3, n_trees=n_trees, max_epochs=20, validation_fraction=0.3, random_state=0)
    model.fit(X, y)
    assert model.score(X, y) > 0.8
    assert abs(np.mean(model.predict(X)) - np.mean(y)) < 30.0


def test_leaves_and_multiply_adds_are_counted():
    # Two nodes deep; rows at 0 are in every band, rows far out in none.
    tree = SoftTree(np.array([[1.0, 0.0]] * 3), np.zeros(3), np.arange(8.0).reshape(4, 2), 1.0)
    assert [np.count_nonzero(s) for s in tree.reach(np.array([[0.0, 1.0]]))] == [1, 2, 4]
    assert [np.count_nonzero(s) for s in tree.reach(np.array([[9.0, 1.0]]))] == [1, 1, 1]
    np.testing.assert_allclose(tree.predict(np.array([[9.0, 1.0]])), [[6.0, 7.0]])
    np.testing.assert_allclose(tree.predict(np.array([[0.0, 1.0]])), [[3.0, 4.0]])


def test_a_narrow_band_is_cheaper(data):
    X, y, X_val, y_val = data
    soft, hard = (
        TELClassifier(4, gamma=gamma, max_epochs=15, random_state=0).fit(
            X, y, X_val=X_val, y_val=y_val
        )
        for gamma in (3.0, 1e-4)
    )
    assert 1.0 <= hard.mean_leaves_reached(X_val) < 1.1 < soft.mean_leaves_reached(X_val) <= 16.0
    assert hard.flops(X_val) < 4 * 6 * 1.1 + 3 * 1.1 < soft.flops(X_val)
    assert soft.score(X_val, y_val) > 0.65
    assert soft.score(X_val, y_val) == pytest.approx(max(soft.history_["val_accuracy"]), abs=0.006)


def test_bad_parameters_are_named(data):
    with pytest.raises(ValueError, match="gamma must be a number above 0, got 0"):
        TELClassifier(gamma=0).fit(*data[:2])


@pytest.mark.parametrize("kind", [TELClassifier, TELRegressor])
def test_check_estimator(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks provoke warnings on purpose
        quick = kind(2, learning_rate=0.05, node_rate=1.0, max_epochs=8)
        results = check_estimator(quick, on_skip=None, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed
    assert sum(r["status"] == "passed" for r in results) > 40
