"""judging: agrees with scikit-learn, and says what knowing nothing gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from dgtrees.estimators.judging import calibration_gap, judge_classes, judge_values


def test_values_as_scikit_learn_has_them():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=50)
    predicted = truth + rng.normal(size=50)
    found = judge_values(truth, predicted)
    assert found["rmse"] == pytest.approx(metrics.root_mean_squared_error(truth, predicted))
    assert found["mae"] == pytest.approx(metrics.mean_absolute_error(truth, predicted))
    assert found["r2"] == pytest.approx(metrics.r2_score(truth, predicted))
    assert found["mean_rmse"] == pytest.approx(truth.std())


def test_values_that_do_not_vary_have_no_r2():
    assert judge_values(np.ones(3), np.zeros(3))["r2"] is None


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 5), st.integers(1, 60), st.integers(0, 10**6))
def test_classes_as_scikit_learn_has_them(n_classes, rows, seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=rows)
    shares = rng.dirichlet(np.ones(n_classes), size=rows)
    predicted = shares.argmax(axis=1)
    found = judge_classes(truth, shares, predicted, list("abcde")[:n_classes])
    labels = np.arange(n_classes)
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(truth, predicted))
    assert found["log_loss"] == pytest.approx(metrics.log_loss(truth, shares, labels=labels))
    recall = metrics.recall_score(truth, predicted, labels=np.unique(truth), average="macro")
    assert found["balanced_accuracy"] == pytest.approx(recall)
    confusion = metrics.confusion_matrix(truth, predicted, labels=labels)
    assert found["confusion"] == confusion.tolist()
    if len(np.unique(truth)) == n_classes == 2:
        assert found["auc"] == pytest.approx(metrics.roc_auc_score(truth, shares[:, 1]))
    elif len(np.unique(truth)) == n_classes:
        auc = metrics.roc_auc_score(truth, shares, multi_class="ovr", labels=labels)
        assert found["auc"] == pytest.approx(auc)
    elif len(np.unique(truth)) == 1:
        assert found["auc"] is None
    assert 0.0 <= found["calibration_gap"] <= 1.0


def test_unknown_classes_count_as_wrong_and_nowhere_else():
    shares = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    found = judge_classes(np.array([0, 1, -1]), shares, shares.argmax(axis=1), ["no", "yes"])
    assert found["unknown_rows"] == 1 and found["accuracy"] == pytest.approx(2 / 3)
    assert found["log_loss"] == pytest.approx(-np.log([0.9, 0.8]).mean())
    assert found["majority_class"] == "no" and found["majority_accuracy"] == pytest.approx(1 / 3)


def test_a_probability_of_zero_is_no_infinite_loss():
    found = judge_classes(np.array([1]), np.array([[1.0, 0.0]]), np.array([0]), [0, 1])
    assert found["log_loss"] == pytest.approx(-np.log(1e-15))


def test_probabilities_that_come_true_have_no_gap():
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.5, 1.0, size=20_000)
    assert calibration_gap(rng.random(20_000) < confidence, confidence) < 0.02
    assert calibration_gap(rng.random(20_000) < confidence - 0.3, confidence) > 0.25
