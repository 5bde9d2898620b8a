"""Locally constant networks: the network is a tree, and the tree behaves as an estimator."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.utils.estimator_checks import check_estimator

from dgtrees.paper.baselines.lcn import LCNClassifier, LCNRegressor


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
@pytest.mark.parametrize("dropout", [0.0, 0.25])
def test_it_learns(optimizer, dropout):
    X, y = make_classification(600, 6, n_informative=4, n_classes=3, random_state=0)
    model = LCNClassifier(
        4,
        optimizer=optimizer,
        learning_rate=0.02 if optimizer == "adam" else 0.2,
        unit_rate=1.0,
        dropout=dropout,
        hidden_width=64,
        max_epochs=12,
        random_state=0,
    )
    model.fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:])
    assert model.score(X[400:], y[400:]) > 0.6
    best = max(model.history_["val_accuracy"])
    # Pruning leaves without training rows may move a few validation rows.
    assert abs(model.score(X[400:], y[400:]) - best) < 0.02
    assert model.tree_.depth <= 4
    again = LCNClassifier(**model.get_params()).fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:])
    np.testing.assert_array_equal(again.tree_.weights, model.tree_.weights)


def test_the_last_epoch_can_be_kept():
    X, y = make_regression(200, 4, random_state=0)
    model = LCNRegressor(3, keep="last", max_epochs=5, validation_fraction=0.2, random_state=0)
    model.fit(X, y)
    assert model.best_epoch_ == model.n_iter_ == 5
    assert len(model.history_["val_rmse"]) == 5


@pytest.mark.parametrize("kind", [LCNClassifier, LCNRegressor])
def test_a_table_of_leaves_fits_the_training_rows_better(kind):
    X, y = make_classification(300, 6, n_informative=4, random_state=0)
    network, table = (
        kind(3, leaves=leaves, hidden_width=16, max_epochs=4, random_state=0).fit(X, y)
        for leaves in ("network", "table")
    )
    np.testing.assert_array_equal(network.tree_.weights, table.tree_.weights)
    assert table.score(X, y) > network.score(X, y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dropout": 1.0}, "dropout must be a number of at least 0 and below 1, got 1.0"),
        ({"optimizer": "lbfgs"}, "optimizer must be one of adam, sgd, got 'lbfgs'"),
        ({"max_depth": 0}, "max_depth must be a whole number of at least 1"),
        ({"learning_rate": 0.0}, "learning_rate must be a number above 0, got 0.0"),
        ({"validation_fraction": 2}, "validation_fraction must be between 0 and 1"),
    ],
)
def test_bad_parameters_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        LCNClassifier(**change).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("kind", [LCNClassifier, LCNRegressor])
def test_check_estimator(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks provoke warnings on purpose
        quick = kind(2, hidden_width=32, learning_rate=0.02, unit_rate=1.0, max_epochs=12)
        results = check_estimator(quick, on_skip=None, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed
    assert sum(r["status"] == "passed" for r in results) > 40
