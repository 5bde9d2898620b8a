"""Few labels in scikit-learn's interface."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgtrees import (
    DGTClassifier,
    DGTRegressor,
    DGTSelfTrainingClassifier,
    DGTSelfTrainingRegressor,
    explain,
    export_text,
    load,
)
from dgtrees.estimators.unlabelled import are_labelled, have_values

SMALL = {"max_depth": 3, "n_neighbors": 5, "max_epochs": 10, "random_state": 0}


def blobs(rows=120, labels=12, seed=0):
    random = np.random.default_rng(seed)
    truth = np.arange(rows) % 3
    X = random.normal(size=(rows, 3)) + 4 * np.eye(3)[truth]
    return X, np.where(np.arange(rows) < labels, truth, -1), truth


# Marks of unlabelled rows


@pytest.mark.parametrize(
    ("y", "labels"),
    [
        (np.array([0, 1, -1, 2]), [0, 1, 2]),
        (np.array([0.0, 1.0, np.nan, -1.0]), [0, 1]),
        (np.array([0.5, np.nan]), [0.5]),
        (np.array(["a", None, "b", -1], dtype=object), ["a", "b"]),
        (pd.Series(["a", None, np.nan, "b"]), ["a", "b"]),
        (pd.Series(["a", pd.NA, "b"], dtype="string"), ["a", "b"]),
        (pd.Series([1, None, 2], dtype="Int64"), [1, 2]),
        (pd.Series(["a", None, "b"], dtype="category"), ["a", "b"]),
        (np.array([True, None, False], dtype=object), [True, False]),
        (["-1", "1"], ["-1", "1"]),
        ([1, None, 0], [1, 0]),
    ],
)
def test_marks_of_unlabelled_rows(y, labels):
    found, labelled = are_labelled(y)
    assert found[labelled].tolist() == labels
    assert len(found) == len(labelled) == len(y)


@given(st.lists(st.sampled_from([None, float("nan"), -1, "a", "b", 3]), min_size=1, max_size=9))
def test_any_mixture_is_told_apart(values):
    y = np.empty(len(values), dtype=object)
    y[:] = values
    _, labelled = are_labelled(y)
    assert labelled.tolist() == [value in ("a", "b", 3) for value in values]


def test_rows_with_all_their_values():
    assert have_values([1.0, np.nan, 2.0]).tolist() == [True, False, True]
    assert have_values(np.array([[1, 2], [np.nan, 2]])).tolist() == [True, False]
    assert have_values(np.array([1, None], dtype=object)).tolist() == [True, False]


# Classes


def test_a_tree_from_few_labels():
    X, y, truth = blobs()
    clf = DGTSelfTrainingClassifier(**SMALL).fit(X, y)
    assert clf.score(X, truth) > 0.95
    assert clf.classes_.tolist() == [0, 1, 2]
    assert clf.get_depth() <= 3
    assert clf.transduction_.shape == (120, 3)
    np.testing.assert_allclose(clf.transduction_.sum(axis=1), 1.0)
    assert np.array_equal(clf.transduction_[:12], np.eye(3)[truth[:12]])
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1.0)
    assert clf.leaf_rows_.sum() == 120
    assert clf.feature_importances_.sum() == pytest.approx(1.0)
    assert clf.n_iter_ == 10
    assert "their average" in str(clf.chosen_)


def test_a_saved_tree_is_the_same(tmp_path):
    X, y, _ = blobs()
    clf = DGTSelfTrainingClassifier(**SMALL).fit(X, y)
    clf.save(tmp_path / "model.dgt")
    again = load(tmp_path / "model.dgt")
    assert isinstance(again, DGTSelfTrainingClassifier)
    assert np.array_equal(again.predict_proba(X), clf.predict_proba(X))
    assert again.get_params() == clf.get_params()
    assert export_text(again) == export_text(clf)
    assert explain(clf, X[:1]) is not None


def test_labels_on_all_rows_give_the_tree_of_labels():
    X, _, truth = blobs()
    clf = DGTSelfTrainingClassifier(**SMALL).fit(X, truth)
    alone = DGTClassifier(max_depth=3, max_epochs=10, random_state=0).fit(X, truth)
    assert np.array_equal(clf.predict_proba(X), alone.predict_proba(X))
    assert np.array_equal(clf.transduction_, np.eye(3)[truth])
    assert not hasattr(clf, "chosen_")


def test_the_tree_of_labels_alone_is_kept_where_it_does_better(monkeypatch):
    X, y, truth = blobs(labels=30)
    monkeypatch.setattr("dgtrees.learn.few_labels.SpreadingChoice.helps", False)
    clf = DGTSelfTrainingClassifier(n_neighbors=5, random_state=0, max_epochs=5).fit(X, y)
    alone = DGTClassifier(random_state=0).fit(X[:30], truth[:30])
    assert np.array_equal(clf.predict_proba(X), alone.predict_proba(X))
    np.testing.assert_allclose(clf.transduction_[30:], alone.predict_proba(X[30:]))
    assert clf.model_.kind == "DGTSelfTrainingClassifier"


def test_weights_are_repetitions_and_order_is_nothing():
    X, y, _ = blobs()
    weight = np.where(np.arange(120) % 4 == 0, 2.0, 1.0)
    weight[100:] = 0.0
    weighted = DGTSelfTrainingClassifier(**SMALL).fit(X, y, weight)
    rows = np.random.default_rng(0).permutation(np.repeat(np.arange(120), weight.astype(int)))
    repeated = DGTSelfTrainingClassifier(**SMALL).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)
    assert weighted.transduction_.shape == (120, 3)
    np.testing.assert_allclose(weighted.transduction_[rows], repeated.transduction_, atol=1e-9)


def test_frames_with_categories_and_words():
    X, y, truth = blobs()
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.where(truth == 2, "yes", "no")})
    frame.loc[3, "a"] = np.nan
    labels = pd.Series(np.array(["x", "y", "z"])[truth]).where(y >= 0)
    clf = DGTSelfTrainingClassifier(**SMALL).fit(frame, labels)
    assert clf.score(frame, np.array(["x", "y", "z"])[truth]) > 0.9
    assert clf.feature_names_in_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.full(120, -1), "y must have a label for at least one row, got none for 120 rows"),
        (np.where(np.arange(120) < 4, 1, -1), "y must have at least 2 classes, got 1 class"),
    ],
)
def test_too_few_labels_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        DGTSelfTrainingClassifier().fit(blobs()[0], y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_depth": -1}, "max_depth must be a whole number of at least 0, or 'auto', got -1"),
        ({"max_depth": "deep"}, "max_depth must be .*, got 'deep'"),
        ({"n_neighbors": 2.5}, "n_neighbors must be a whole number, 0 for no graph, or 'auto'"),
        ({"n_rounds": 0}, "n_rounds must be a whole number of at least 1, got 0"),
        ({"max_epochs": 0}, "max_epochs must be a whole number of at least 1, got 0"),
    ],
)
def test_parameters_are_checked(parameters, message):
    X, y, _ = blobs()
    with pytest.raises(ValueError, match=message):
        DGTSelfTrainingClassifier(**parameters).fit(X, y)


def test_shares_are_no_loss_for_users():
    with pytest.raises(ValueError, match="loss 'shares' is for targets that are class shares"):
        DGTRegressor(loss="shares", max_depth=2).fit([[0.0], [1.0]], [0.0, 1.0])


# Values


def numbers(rows=150, labels=40):
    random = np.random.default_rng(1)
    X = random.normal(size=(rows, 3))
    truth = 10 * X[:, 0] + 3 * X[:, 1] + 50
    return X, np.where(np.arange(rows) < labels, truth, np.nan), truth


def test_values_from_few_labels(tmp_path):
    X, y, truth = numbers()
    reg = DGTSelfTrainingRegressor(max_depth=4, n_neighbors=5, max_epochs=60, random_state=0).fit(
        X, y
    )
    assert reg.score(X, truth) > 0.7
    assert reg.transduction_.shape == (150,)
    assert np.array_equal(reg.transduction_[:40], y[:40])
    reg.save(tmp_path / "model.dgt")
    assert np.array_equal(load(tmp_path / "model.dgt").predict(X), reg.predict(X))


def test_several_values_at_once():
    X, y, truth = numbers()
    both = np.column_stack([y, -y])
    reg = DGTSelfTrainingRegressor(**SMALL).fit(X, both)
    assert reg.predict(X).shape == reg.transduction_.shape == (150, 2)
    assert np.corrcoef(reg.predict(X)[:, 1], truth)[0, 1] < -0.7


def test_a_single_label_is_too_few():
    X, y, _ = numbers(labels=1)
    with pytest.raises(ValueError, match=r"a label for at least 2 rows of positive weight .*got 1"):
        DGTSelfTrainingRegressor().fit(X, y)


def test_two_labels_are_enough_for_a_tree():
    X, y, _ = numbers(labels=2)
    assert np.isfinite(DGTSelfTrainingRegressor(**SMALL).fit(X, y).predict(X)).all()
