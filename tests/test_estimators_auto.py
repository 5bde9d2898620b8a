"""Estimators that choose what their tree is."""

import pickle
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

import dgtrees
from dgtrees import DGTClassifier, DGTRegressor, Recipe, explain, export_text, plot_tree
from dgtrees.errors import StateError
from dgtrees.estimators import base
from dgtrees.learn.choice import Choice
from dgtrees.learn.plans import Plan
from exported import COMPILER, CModel, OnnxModel, boundary_rows

ARRAYS = ("weights", "bias", "left", "right", "leaf_values", "leaf_weights")
KINDS = [DGTClassifier, DGTRegressor]
by_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)

PLANS = {
    "linear": Plan(penalty=1.0),
    "grown": Plan(max_leaves=6, min_rows=5, strength=3.0),
    "linear and grown": Plan(1.0, 6, 5, strength=3.0),
    "linear and descended": Plan(1.0, 6, 5, epochs=10, strength=3.0, learnt=0.5),
    "layers": Plan(max_depth=3, noise=0.1, epochs=60, strength=1.0, learnt=1.0),
}


def rows(kind, n=100, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = 10.0 + 2.0 * rng.normal(size=(n, d))
    signal = X[:, 0] + 2.0 * np.abs(X[:, 1] - 10.0) + 0.5 * rng.normal(size=n)
    return X, signal if kind is DGTRegressor else np.digitize(signal, [12.0, 15.0])


def same_tree(a, b):
    return all(np.array_equal(getattr(a.tree_, name), getattr(b.tree_, name)) for name in ARRAYS)


def planned(monkeypatch, plan):
    """Let every fit choose this plan."""
    monkeypatch.setattr("dgtrees.learn.auto.choose", lambda *_: Choice({plan: [0.5]}, plan))


# The same table, the same tree


@by_kind
def test_a_seed_is_a_tree_for_any_number_of_threads(kind):
    X, y = rows(kind)
    one = kind(random_state=3, n_jobs=1).fit(X, y)
    assert same_tree(one, kind(random_state=3, n_jobs=2).fit(X, y))
    assert same_tree(one, kind(random_state=np.random.RandomState(3)).fit(X, y))
    assert one.chosen_.losses != kind(random_state=4).fit(X, y).chosen_.losses


@by_kind
def test_a_weight_is_a_number_of_rows_and_their_order_means_nothing(kind):
    X, y = rows(kind)
    rng = np.random.default_rng(1)
    weight = rng.integers(0, 4, len(X))
    again = rng.permutation(np.repeat(np.arange(len(X)), weight))
    weighted = kind(random_state=3).fit(X, y, sample_weight=weight)
    repeated = kind(random_state=3).fit(X[again], y[again])
    assert same_tree(weighted, repeated)
    assert weighted.chosen_.losses == repeated.chosen_.losses
    np.testing.assert_array_equal(weighted.leaf_rows_, repeated.leaf_rows_)
    np.testing.assert_array_equal(weighted.feature_importances_, repeated.feature_importances_)


def test_a_row_of_no_weight_does_not_widen_the_range_of_predictions(monkeypatch):
    planned(monkeypatch, Plan(penalty=1.0))
    X, y = rows(DGTRegressor)
    with_far = np.append(y, 1e6), np.vstack([X, X[:1] + 1.0]), np.append(np.ones(100), 0.0)
    without = DGTRegressor(random_state=0).fit(X, y)
    weighted = DGTRegressor(random_state=0).fit(with_far[1], with_far[0], with_far[2])
    far = X + 1e5
    np.testing.assert_array_equal(weighted.predict(far), without.predict(far))
    assert (weighted.predict(far) <= y.max()).all()


@by_kind
def test_weights_below_one_a_row_have_no_scale(kind):
    X, y = rows(kind, 60)
    weight = np.random.default_rng(1).choice([0.5, 1.0], 60)
    one = kind(random_state=0).fit(X, y, weight)
    assert same_tree(one, kind(random_state=0).fit(X, y, weight / 64))


# What is chosen, and when


@by_kind
def test_the_choice_is_told_and_forgotten_with_the_next_fit(kind, capsys):
    X, y = rows(kind, 60)
    model = kind(random_state=0, verbose=1).fit(X, y)
    told = str(model.chosen_)
    lines = told.splitlines()
    assert lines[0] == "held-out loss   folds  what"
    assert sum(line.endswith("<- kept") for line in lines) == 1
    assert 4 <= len(lines) <= 12 and max(map(len, lines)) < 100
    assert lines[1].split()[0] <= lines[-1].split()[0]
    heard = capsys.readouterr()
    assert told in heard.out + heard.err
    assert model.n_iter_ >= 0 and model.history_ == {} and model.best_score_ is None
    model.set_params(max_depth=2, max_epochs=2, verbose=0).fit(X, y)
    assert not hasattr(model, "chosen_")


TRAINING = {
    "recipe": "paper",
    "n_layers": 2,
    "hidden": 4,
    "max_epochs": 2,
    "batch_size": 16,
    "learning_rate": 0.1,
    "l1": 0.1,
    "l2": 0.1,
    "refine": "polish",
    "warm_start": True,
}


@by_kind
@pytest.mark.parametrize("name", TRAINING)
def test_whoever_says_how_to_train_gets_a_complete_tree_of_the_default_height(kind, name):
    model = kind(**{name: TRAINING[name]})
    assert not model._chooses
    assert model._height == (8 if kind is DGTClassifier else 6)
    assert kind()._chooses and not kind(max_depth=8)._chooses
    assert not kind(recipe=Recipe())._chooses


@by_kind
@pytest.mark.parametrize("depth", [0, 1, 3])
def test_a_height_is_still_a_height(kind, depth):
    X, y = rows(kind)
    model = kind(depth, max_epochs=3, random_state=0).fit(X, y)
    assert not hasattr(model, "chosen_")
    assert model.get_depth() <= depth
    assert model.get_n_leaves() <= 2**depth
    assert model.n_iter_ == 3
    assert not model.tree_.linear


@by_kind
@pytest.mark.parametrize("most", [2, 3, 7])
def test_there_are_no_more_leaves_than_allowed_however_it_is_trained(kind, most):
    X, y = rows(kind)
    for told in ({}, {"max_epochs": 3}, {"recipe": "paper", "max_epochs": 3}, {"warm_start": True}):
        small = {"max_epochs": 3} if "warm_start" in told else {}
        model = kind(max_leaves=most, random_state=0, **told, **small).fit(X, y)
        assert 1 <= model.get_n_leaves() <= most
    model = kind(max_leaves=most, max_epochs=3)
    first = {"classes": [0, 1, 2]} if kind is DGTClassifier else {}
    assert model.partial_fit(X, y, **first).get_n_leaves() <= most


@by_kind
@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_leaves_are_of_the_kind_that_was_asked_for(kind, leaf):
    X, y = rows(kind, 60)
    model = kind(leaf=leaf, random_state=0).fit(X, y)
    assert model.tree_.linear == (leaf == "linear")
    assert all((plan.penalty is None) == (leaf == "constant") for plan in model.chosen_.losses)


@by_kind
def test_validation_rows_decide_and_are_not_trained_on(kind):
    X, y = rows(kind)
    X_val, y_val = rows(kind, 40, seed=5)
    given = kind(random_state=0).fit(X, y, X_val=X_val, y_val=y_val)
    assert {len(losses) for losses in given.chosen_.losses.values()} == {1}
    assert given.leaf_rows_.sum() == 100
    doubled = kind(random_state=0).fit(X, y, X_val=X_val, y_val=y_val, sample_weight_val=[2] * 40)
    assert same_tree(given, doubled)
    held = kind(random_state=0, validation_fraction=0.3).fit(X, y)
    assert {len(losses) for losses in held.chosen_.losses.values()} == {1}
    assert held.leaf_rows_.sum() == 70
    folds = kind(random_state=0, validation_fraction=None).fit(X, y)
    assert folds.leaf_rows_.sum() == 100


@by_kind
def test_partial_fit_begins_anew_after_a_chosen_tree_and_goes_on_after_that(kind):
    X, y = rows(kind)
    model = kind(random_state=0).fit(X, y)
    model.partial_fit(X, y)
    assert not hasattr(model, "chosen_") and model.n_iter_ == 1
    afresh = kind(random_state=0)
    afresh.partial_fit(X, y, **({"classes": [0, 1, 2]} if kind is DGTClassifier else {}))
    assert same_tree(model, afresh)
    assert model.partial_fit(X, y).n_iter_ == 2
    model.fit(X, y)
    assert same_tree(model, kind(random_state=0).fit(X, y))


@by_kind
def test_partial_fit_cannot_go_on_from_a_loaded_tree(kind, tmp_path):
    X, y = rows(kind, 60)
    kind(random_state=0).fit(X, y).save(tmp_path / "model")
    with pytest.raises(StateError, match="cannot go on from a model that was loaded"):
        dgtrees.load(tmp_path / "model").partial_fit(X, y)


@by_kind
def test_warm_start_begins_with_a_complete_tree_and_goes_on_from_it(kind):
    X, y = rows(kind, 60)
    model = kind(random_state=0).fit(X, y)
    model.set_params(warm_start=True, max_epochs=2).fit(X, y)
    assert not hasattr(model, "chosen_")
    before = model.tree_
    assert model.n_iter_ == 2 and model.fit(X, y).n_iter_ == 4
    assert model.tree_.n_nodes != before.n_nodes or not np.array_equal(
        model.tree_.weights, before.weights
    )


@by_kind
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"max_depth": "deep"},
            "max_depth must be a whole number of at least 0 or 'auto', got 'de",
        ),
        ({"max_depth": None}, "max_depth must be a whole number of at least 0 or 'auto', got None"),
        ({"max_depth": 2.0}, "max_depth must be a whole number"),
        ({"max_depth": True}, "max_depth must be a whole number"),
        ({"max_depth": -1}, "max_depth must be a whole number"),
        ({"leaf": "soft"}, "leaf must be 'auto' or 'constant' or 'linear', got 'soft'"),
        ({"leaf": None}, "leaf must be 'auto' or 'constant' or 'linear', got None"),
        ({"max_leaves": 1}, "max_leaves must be a whole number of at least 2, or None, got 1"),
        ({"max_leaves": "many"}, "max_leaves must be a whole number of at least 2"),
        ({"max_leaves": 8, "max_depth": 3}, "max_leaves=8 is for max_depth='auto', got max_dep"),
    ],
)
def test_wrong_values_are_refused_in_one_line(kind, wrong, message):
    X, y = rows(kind, 20)
    with pytest.raises(ValueError, match=f"^{message}") as refused:
        kind(**wrong).fit(X, y)
    assert "\n" not in str(refused.value)


# Classes and their weights


def test_balanced_weights_are_those_of_the_rows():
    X, y = rows(DGTClassifier, 60)
    y = (y == 2).astype(int)
    balanced = DGTClassifier(random_state=0, class_weight="balanced").fit(X, y)
    factors = len(y) / (2.0 * np.bincount(y))
    given = DGTClassifier(random_state=0, class_weight={0: factors[0], 1: factors[1]}).fit(X, y)
    assert same_tree(balanced, given)
    plain = DGTClassifier(random_state=0).fit(X, y)
    assert plain.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), abs=0.05)
    assert balanced.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), abs=0.1)
    assert balanced.predict(X).mean() > plain.predict(X).mean()
    np.testing.assert_allclose(balanced.leaf_rows_.sum(), 60)


@pytest.mark.parametrize("counted", [(0,), (0, 2)])
def test_a_class_of_no_weight_is_as_good_as_absent(counted):
    X, y = rows(DGTClassifier)
    weights = {label: float(label in counted) for label in range(3)}
    model = DGTClassifier(random_state=0, class_weight=weights).fit(X, y)
    absent = DGTClassifier(random_state=0).fit(X, y, sample_weight=np.isin(y, counted))
    assert same_tree(model, absent)
    p = model.predict_proba(X)
    assert set(model.predict(X)) <= set(counted)
    assert (p > 0).all() and p[:, [k for k in range(3) if k not in counted]].max() < 0.1


def test_class_weights_that_leave_nothing_are_refused():
    X, y = rows(DGTClassifier, 30)
    with pytest.raises(ValueError, match="class_weight must be above 0 for a class that has"):
        DGTClassifier(class_weight={0: 0, 1: 0, 2: 0}).fit(X, y)
    with pytest.raises(ValueError, match="class_weight must be above 0 for a class that has"):
        DGTClassifier(3, max_epochs=1, class_weight={0: 0, 1: 0, 2: 0}).fit(X, y)


@pytest.mark.parametrize("seed", [0, 1])
def test_one_percent_of_positives_are_ranked_as_logistic_regression_does(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6000, 6))
    w = rng.normal(size=6)
    scores = 1.5 * X @ w / np.linalg.norm(w) - 5.3
    y = (rng.random(6000) < 1 / (1 + np.exp(-scores))).astype(int)
    assert 0.005 < y.mean() < 0.02
    model = DGTClassifier(random_state=0).fit(X[:3000], y[:3000])
    twin = LogisticRegression().fit(X[:3000], y[:3000])
    p, q = (m.predict_proba(X[3000:])[:, 1] for m in (model, twin))
    assert roc_auc_score(y[3000:], p) > roc_auc_score(y[3000:], q) - 0.02
    assert log_loss(y[3000:], p) < 1.2 * log_loss(y[3000:], q)


def test_thirty_classes_and_classes_that_folds_lack():
    rng = np.random.default_rng(0)
    centers = 4.0 * rng.normal(size=(30, 3))
    y = np.concatenate([np.arange(30), rng.integers(25, size=270)])  # five of a single row
    X = centers[y] + rng.normal(size=(300, 3))
    model = DGTClassifier(random_state=0).fit(X, y)
    p = model.predict_proba(X)
    assert p.shape == (300, 30)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert p.min() > 0 and p.max() < 1
    assert model.score(X, y) > 0.7


@pytest.mark.filterwarnings("ignore:The number of unique classes")  # said once, by scikit-learn
def test_one_row_of_every_class():
    X = np.random.default_rng(0).normal(size=(12, 2))
    p = DGTClassifier(random_state=0).fit(X, np.arange(12)).predict_proba(X)
    assert np.isfinite(p).all() and p.min() > 0 and p.max() < 1


def test_a_few_values_of_one_column_are_learnt_from_their_repetitions():
    rng = np.random.default_rng(0)
    x = rng.integers(6, size=2000)
    share = np.array([0.9, 0.1, 0.8, 0.2, 0.9, 0.1])[x]
    y = (rng.random(2000) < share).astype(int)
    model = DGTClassifier(random_state=0).fit(x[:, None], y)
    p = model.predict_proba(np.arange(6)[:, None])[:, 1]
    np.testing.assert_allclose(p, [0.9, 0.1, 0.8, 0.2, 0.9, 0.1], atol=0.08)
    xor = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], 25, axis=0)
    model = DGTClassifier(random_state=0).fit(xor, xor[:, 0] ^ xor[:, 1])
    assert model.score(xor, xor[:, 0] ^ xor[:, 1]) == 1.0


# Noise and structure


@pytest.mark.parametrize("seed", [0, 1])
def test_noise_of_many_columns_is_hardly_worse_than_the_mean(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(150, 600)), rng.normal(size=150)
    far = rng.normal(size=(1000, 600))
    added = np.square(DGTRegressor(random_state=0).fit(X, y).predict(far) - y.mean()).mean()
    assert added < 0.05  # the targets of new rows have variance 1


@pytest.mark.parametrize("seed", range(3))
def test_noisy_classes_are_hardly_worse_than_the_shares(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(300, 5)), (rng.random(300) < 0.35).astype(int)
    model = DGTClassifier(random_state=0).fit(X, y)
    p = model.predict_proba(rng.normal(size=(4000, 5)))[:, 1]
    loss = -(0.35 * np.log(p) + 0.65 * np.log(1 - p)).mean()
    known = -(0.35 * np.log(0.35) + 0.65 * np.log(0.65))
    assert loss < known + 0.05
    assert np.where(p > 0.5, 0.35, 0.65).mean() > 0.65 - 0.06


def test_a_rule_on_skewed_columns_is_found_as_cart_finds_it():
    rng = np.random.default_rng(0)
    X = rng.lognormal(0.0, 2.0, size=(3000, 8))
    y = ((X[:, 0] > 1.5) & (X[:, 1] < 3.0)).astype(int)
    train, test = slice(0, 1500), slice(1500, None)
    model = DGTClassifier(random_state=0).fit(X[train], y[train])
    cart = DecisionTreeClassifier(random_state=0).fit(X[train], y[train])
    assert model.score(X[test], y[test]) > cart.score(X[test], y[test]) - 0.02


def test_several_targets_are_learnt_together():
    X, _ = rows(DGTRegressor, 200)
    Y = np.stack([X[:, 0], np.abs(X[:, 1] - 10.0), np.full(200, 4.2)], axis=1)
    model = DGTRegressor(random_state=0).fit(X, Y)
    found = model.predict(X)
    assert found.shape == (200, 3)
    np.testing.assert_allclose(found[:, 2], 4.2)
    assert np.square(found - Y).mean() < 0.2 * Y[:, :2].var()


# Hard tables


@by_kind
@pytest.mark.parametrize("n", [2, 3, 4, 5, 8])
def test_tables_of_hardly_any_rows(kind, n):
    X = np.random.default_rng(n).normal(size=(n, 2))
    y = np.arange(n) % 2 if kind is DGTClassifier else np.arange(n, dtype=float)
    model = kind(random_state=0).fit(X, y)
    assert np.isfinite(model.tree_.predict(X)).all()
    assert set(model.predict(X)) <= {0, 1} or model.predict(X).min() >= 0


@by_kind
@pytest.mark.parametrize("columns", ["constant", "all constant", "one", "twice the same"])
def test_columns_that_say_little(kind, columns):
    X, y = rows(kind)
    if columns == "constant":
        X = np.hstack([X, np.full((100, 1), 1e6 / 3)])
    if columns == "all constant":
        X = np.full((100, 2), 3.0)
    if columns == "one":
        X = X[:, 1:2]
    if columns == "twice the same":
        X = np.hstack([X, X])
    model = kind(random_state=0).fit(X, y)
    assert np.isfinite(model.feature_importances_).all()
    if columns == "all constant":
        assert model.get_n_leaves() == 1
        answer = model.predict_proba(X[:1])[0] if kind is DGTClassifier else model.predict(X[:1])
        known = np.bincount(y) / 100 if kind is DGTClassifier else y.mean()
        np.testing.assert_allclose(answer, known, rtol=0.01)
    if columns == "constant":
        assert model.feature_importances_[3] == 0
        far = X.copy()
        far[:, 3] = -1e9
        np.testing.assert_array_equal(model.predict(far), model.predict(X))
    if columns == "twice the same":
        assert model.score(X, y) > 0.6


def test_a_constant_target_is_answered_exactly():
    X, _ = rows(DGTRegressor)
    model = DGTRegressor(random_state=0).fit(X, np.full(100, 0.1))
    assert (model.predict(X) == 0.1).all()


@by_kind
@pytest.mark.parametrize("size", [1e100, 1e-100])
def test_columns_of_any_size(kind, size):
    X, y = rows(kind)
    X[:, 0] *= size
    model = kind(random_state=0).fit(X, y)
    assert model.score(X, y) > 0.7
    assert np.isfinite(model.feature_importances_).all()
    if kind is DGTRegressor:
        scaled = kind(random_state=0).fit(X, y * size)
        np.testing.assert_allclose(scaled.predict(X), model.predict(X) * size, rtol=0.5)


# What is done with the tree


@by_kind
@pytest.mark.parametrize("plan", PLANS.values(), ids=list(PLANS))
def test_predictions_keep_to_their_range(kind, plan, monkeypatch):
    planned(monkeypatch, plan)
    X, y = rows(kind)
    model = kind(random_state=0).fit(X, y)
    if kind is DGTRegressor:
        far = model.predict(np.vstack([X, X * 1e6, -X * 1e6]))
        assert far.min() >= y.min() and far.max() <= y.max()
    else:
        p = model.predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        assert p.min() > 0 and p.max() < 1


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
@by_kind
@pytest.mark.parametrize("plan", ["linear and grown", "linear and descended", "linear"])
def test_exports_of_shared_linear_leaves_answer_as_predict_does(kind, plan, monkeypatch, tmp_path):
    pytest.importorskip("onnxruntime")
    planned(monkeypatch, PLANS[plan])
    X, y = rows(kind)
    model = kind(random_state=0).fit(X, y)
    edges = boundary_rows(model.tree_, X, 50, np.random.default_rng(0))
    X = np.vstack([X, edges, X * 3.0])
    answer = model.predict_proba(X) if kind is DGTClassifier else model.predict(X)[:, None]
    c, onnx = CModel(model, tmp_path), OnnxModel(model)
    np.testing.assert_array_equal(c.apply(X), model.apply(X))
    np.testing.assert_array_equal(onnx.apply(X), model.apply(X))
    np.testing.assert_allclose(c.predict(X), answer, rtol=1e-9, atol=1e-12)
    name = "probabilities" if kind is DGTClassifier else "variable"
    np.testing.assert_allclose(onnx.output(name, X).reshape(answer.shape), answer, atol=1e-6)


@by_kind
@pytest.mark.parametrize("plan", PLANS.values(), ids=list(PLANS))
def test_trees_are_kept_told_and_drawn(kind, plan, monkeypatch, tmp_path):
    planned(monkeypatch, plan)
    X, y = rows(kind)
    model = kind(random_state=0).fit(X, y)
    model.save(tmp_path / "model")
    kept = dgtrees.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))
    for other in kept:
        assert same_tree(model, other)
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        assert other.get_params() == model.get_params()
    assert str(kept[1].chosen_) == str(model.chosen_)
    assert not hasattr(clone(model), "chosen_")
    assert same_tree(clone(model).fit(X, y), model)
    found = explain(model, X[0])
    assert found.leaf == model.apply(X[:1])[0] and found.prediction == model.predict(X[:1])[0]
    assert len(export_text(model).splitlines()) >= model.get_n_leaves()
    plt.close(plot_tree(model).figure)
    assert np.isclose(model.feature_importances_.sum(), 1.0)
    assert model.leaf_rows_.sum() == 100


def test_epochs_of_layers_are_counted(monkeypatch):
    X, y = rows(DGTClassifier)
    planned(monkeypatch, PLANS["layers"])
    assert DGTClassifier(random_state=0).fit(X, y).n_iter_ == 60
    planned(monkeypatch, PLANS["linear and descended"])
    assert DGTClassifier(random_state=0).fit(X, y).n_iter_ == 10


def test_a_search_may_choose_between_heights_and_auto():
    X, y = rows(DGTRegressor, 40)
    found = GridSearchCV(DGTRegressor(random_state=0), {"max_depth": ["auto", 0]}, cv=2).fit(X, y)
    assert found.best_params_ == {"max_depth": "auto"}


def test_an_error_leaves_the_last_tree(monkeypatch):
    X, y = rows(DGTClassifier, 60)
    model = DGTClassifier(random_state=0).fit(X, y)
    before, chosen = model.tree_, model.chosen_

    def fails(*_, **__):
        raise RuntimeError("out of luck")

    monkeypatch.setattr(base, "fit_automatically", fails)
    with pytest.raises(RuntimeError, match="out of luck"):
        model.fit(X, y)
    assert model.tree_ is before and model.chosen_ is chosen
    assert replace(chosen.plan) == chosen.plan
