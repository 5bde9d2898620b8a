"""TAO: what scikit-learn asks for, what the method promises, and its files."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.utils.estimator_checks import check_estimator

import dgtrees
from dgtrees.paper.baselines import TAOClassifier, TAORegressor

IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)


@pytest.mark.parametrize("kind", [TAOClassifier, TAORegressor])
def test_check_estimator(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks provoke warnings on purpose
        results = check_estimator(kind(max_depth=3, n_passes=1), on_skip=None, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed
    assert sum(r["status"] == "passed" for r in results) > 50
    assert not [r for r in results if r["expected_to_fail"]]


@pytest.mark.parametrize("leaf", ["constant", "linear"])
@pytest.mark.parametrize("init", ["cart", "random"])
@pytest.mark.parametrize("kind", [TAOClassifier, TAORegressor])
def test_loss_falls_and_the_model_survives_its_file(kind, init, leaf, tmp_path):
    X, y = IRIS if kind is TAOClassifier else DIABETES
    model = kind(3, init=init, leaf=leaf, n_passes=4, random_state=0).fit(X, y)
    assert np.all(np.diff(model.history_["loss"]) <= 1e-12)
    assert model.n_iter_ == len(model.history_["loss"]) <= 16
    assert model.score(X, y) > (0.95 if kind is TAOClassifier else 0.4)
    assert model.leaf_rows_.sum() == pytest.approx(len(X))
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    model.save(tmp_path / "model.dgt")
    loaded = dgtrees.load(tmp_path / "model.dgt")
    assert type(loaded) is kind and loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_validation_rows_choose_among_passes_and_strengths(tmp_path):
    X, y = DIABETES
    path = TAORegressor(4, alpha=(10.0, 1.0, 0.1), n_passes=4, random_state=0)
    path.fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    assert path.best_score_ == min(path.history_["val_rmse"])
    rmse = np.sqrt(np.mean((path.predict(X[300:]) - y[300:]) ** 2))
    assert rmse / y[:300].std() == pytest.approx(path.best_score_)
    path.save(tmp_path / "model.dgt")
    assert dgtrees.load(tmp_path / "model.dgt").alpha == (10.0, 1.0, 0.1)
    held = TAOClassifier(3, validation_fraction=0.3, random_state=0).fit(*IRIS)
    assert held.best_score_ == max(held.history_["val_accuracy"])


def test_a_strong_penalty_makes_sparse_nodes():
    X, y = DIABETES
    used = [
        np.count_nonzero(TAORegressor(3, alpha=alpha, random_state=0).fit(X, y).tree_.weights)
        for alpha in (20.0, 0.01)
    ]
    assert used[0] < used[1]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"init": "best"}, "init must be one of cart, random, got 'best'"),
        ({"penalty": "l0"}, "penalty must be one of l1, l2, got 'l0'"),
        ({"alpha": 0.0}, r"alpha must be a number above 0, or several of them, got 0\.0"),
        ({"alpha": ()}, r"alpha must be .*, got \(\)"),
        ({"n_passes": 0}, "n_passes must be a whole number of at least 1, got 0"),
        ({"tol": 0}, "tol must be a number above 0, got 0"),
        ({"max_depth": -1}, "max_depth must be a whole number of at least 0, got -1"),
    ],
)
def test_parameters_are_checked(parameters, message):
    with pytest.raises(ValueError, match=message):
        TAOClassifier(**parameters).fit(*IRIS)
