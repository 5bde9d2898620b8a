"""Estimators of columns with long tails and of single values that are far off."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.metrics import log_loss
from sklearn.tree import DecisionTreeClassifier

import dgtrees
from dgtrees import (
    DGTClassifier,
    DGTRegressor,
    contributions,
    explain,
    export_dot,
    export_text,
)
from dgtrees.learn.choice import Choice
from dgtrees.learn.plans import Plan
from dgtrees.learn.recipe import RECIPES
from exported import COMPILER, CModel, OnnxModel

PLANS = {
    "linear": Plan(penalty=1.0, bent=True),
    "linear and grown": Plan(1.0, 6, 5, strength=3.0, bent=True),
    "descended": Plan(None, 6, 5, epochs=10, strength=3.0, bent=True),
    "layers": Plan(max_depth=3, noise=0.1, epochs=60, strength=1.0, bent=True),
}
by_kind = pytest.mark.parametrize("kind", [DGTClassifier, DGTRegressor])
by_plan = pytest.mark.parametrize("plan", PLANS.values(), ids=list(PLANS))


def rows(kind, n=300, gaps=False):
    rng = np.random.default_rng(0)
    X = rng.lognormal(0.0, 2.0, size=(n, 4))
    X[:, 3] = rng.normal(size=n)
    signal = np.log(X[:, 0]) + np.log1p(X[:, 1]) * X[:, 3] + 0.1 * rng.normal(size=n)
    if gaps:
        X[rng.random(X.shape) < 0.05] = np.nan
    return X, signal if kind is DGTRegressor else (signal > 0).astype(int)


def fitted(kind, plan, monkeypatch, gaps=False):
    monkeypatch.setattr("dgtrees.learn.auto.choose", lambda *_: Choice({plan: [0.5]}, plan))
    X, y = rows(kind, gaps=gaps)
    return kind(random_state=0).fit(X, y), X


def answers(model, X):
    return model.predict_proba(X) if is_classifier(model) else model.predict(X)[:, None]


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
@pytest.mark.parametrize("gaps", [False, True])
@by_kind
@by_plan
def test_file_onnx_and_c_answer_as_python_does(plan, kind, gaps, monkeypatch, tmp_path):
    pytest.importorskip("onnxruntime")
    model, X = fitted(kind, plan, monkeypatch, gaps)
    assert [bool(column.bent) for column in model._encoder.columns] == [True, True, True, False]
    check_agreement(model, X, tmp_path)


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_file_onnx_and_c_have_the_copies_too(leaf, gaps, tmp_path):
    pytest.importorskip("onnxruntime")
    X, y = rows(DGTRegressor, gaps=gaps)
    X[:, 3] += 300.0
    model = beside(leaf).fit(X, y)
    assert [column.beside for column in model._encoder.columns] == [True, True, True, False]
    check_agreement(model, X, tmp_path)


def beside(leaf="constant", **options):
    return DGTRegressor(max_depth=3, leaf=leaf, max_epochs=5, random_state=0, **options)


def check_agreement(model, X, tmp_path):
    """File, ONNX and C have the leaves and answers of Python, far beyond the training rows too."""
    rng = np.random.default_rng(1)
    far = 10.0 ** rng.uniform(-9, 12, size=(200, 4)) * rng.choice([-1, 1], size=(200, 4))
    X = np.vstack([X, far, np.full((1, 4), 1e307), np.full((1, 4), -1e307)])
    model.save(tmp_path / "model.dgt")
    loaded, compiled, graph = (
        dgtrees.load(tmp_path / "model.dgt"),
        CModel(model, tmp_path),
        OnnxModel(model).run(X),
    )
    leaves, wanted = model.apply(X), answers(model, X)
    assert np.array_equal(loaded.apply(X), leaves)
    assert np.array_equal(answers(loaded, X), wanted)
    assert np.array_equal(compiled.apply(X), leaves)
    assert np.array_equal(graph["leaf"], leaves)
    tolerance = 1e-15 if is_classifier(model) and model.model_.linear else 0.0
    assert np.abs(compiled.predict(X) - wanted).max() <= tolerance
    shown = graph["probabilities" if is_classifier(model) else "variable"]
    assert np.abs(shown - wanted).max() <= tolerance
    assert all(model.predict_row(x) == y for x, y in zip(X, model.predict(X), strict=True))


@by_kind
@by_plan
def test_it_is_told_in_the_names_of_the_columns(plan, kind, monkeypatch):
    model, X = fitted(kind, plan, monkeypatch)
    assert model.encoded_feature_names_ == ["log(x0)", "log(x1)", "log(x2)", "x3"]
    assert "log(x" in export_text(model) + export_dot(model)
    found = explain(model, X[0])
    assert found.prediction == model.predict(X[:1])[0]
    named = {reason.feature for step in found.steps for reason in step.reasons}
    assert named <= {"x0", "x1", "x2", "x3"}
    output = "score" if is_classifier(model) else None
    shares = contributions(model, X[:20], output=output)
    wanted = model.model_.outputs(X[:20])
    np.testing.assert_allclose(np.reshape(shares.predictions, wanted.shape), wanted, atol=1e-9)


def test_a_threshold_is_one_of_the_column(monkeypatch):
    model, X = fitted(DGTRegressor, PLANS["linear and grown"], monkeypatch)
    first = export_text(model, decimals=5).splitlines()[0]
    weight, name, sign, number = first.split()[1:5]
    j = int(name[1:])
    threshold = float(number) * (-1 if sign == "+" else 1) * float(weight)
    right = X[:, j] >= threshold if float(weight) > 0 else X[:, j] < threshold
    taken = model.decision_path(X)[:, [int(model.tree_.right[0])]].toarray()[:, 0] > 0
    assert (right == taken).mean() > 0.99


def test_copies_stand_beside_their_columns():
    X, y = rows(DGTRegressor, gaps=True)
    model = beside().fit(X, y)
    names = [f(f"x{j}") for j in range(4) for f in (str, "log({})".format, "{} is missing".format)]
    assert model.encoded_feature_names_ == names
    assert model.feature_importances_.shape == (4,)
    assert "log(x" in export_text(model)
    found = explain(model, X[0])
    named = {reason.feature for step in found.steps for reason in step.reasons}
    assert named <= {"x0", "x1", "x2", "x3"}
    shares = contributions(model, X[:20])
    np.testing.assert_allclose(shares.predictions, model.predict(X[:20]), atol=1e-9)


def test_copies_are_the_recipes_to_make():
    X, y = rows(DGTRegressor)
    plain = beside(recipe=replace(RECIPES["default"]["regression"], log_copies=False))
    assert plain.fit(X, y).encoded_feature_names_ == ["x0", "x1", "x2", "x3"]
    assert beside(recipe="paper").fit(X, y).encoded_feature_names_ == ["x0", "x1", "x2", "x3"]
    _, labels = rows(DGTClassifier)
    classes = DGTClassifier(max_depth=3, max_epochs=5).fit(X, labels)
    assert classes.encoded_feature_names_ == ["x0", "x1", "x2", "x3"]


def test_training_goes_on_with_the_copies_it_began_with():
    X, y = rows(DGTRegressor)
    model = beside(warm_start=True).fit(X, y)
    names = model.encoded_feature_names_
    assert len(names) == 8
    normal = np.random.default_rng(0).normal(300.0, 1.0, size=X.shape)
    assert model.fit(normal, y).encoded_feature_names_ == names
    assert model.n_iter_ == 10
    assert model.partial_fit(normal, y).encoded_feature_names_ == names
    fresh = beside(warm_start=True).fit(normal, y)
    assert fresh.fit(X, y).encoded_feature_names_ == ["x0", "x1", "x2", "x3"]


def test_copies_help_where_tails_are_long():
    rng = np.random.default_rng(5)
    X = rng.lognormal(0.0, 2.0, size=(2000, 4))
    y = np.log(X) @ [1.0, -1.0, 0.5, 0.0] + 0.1 * rng.normal(size=2000)
    default = RECIPES["default"]["regression"]
    scores = [
        DGTRegressor(max_depth=4, random_state=0, recipe=replace(default, log_copies=copies))
        .fit(X[:1000], y[:1000])
        .score(X[1000:], y[1000:])
        for copies in (False, True)
    ]
    assert scores[1] > scores[0] + 0.05


def test_a_rule_on_eight_skewed_columns_is_found():
    rng = np.random.default_rng(3)
    X = rng.lognormal(0.0, 2.0, size=(3000, 8))
    y = np.log(X) @ np.array([1, -1, 1, 0, 0, 0, 0, 0.5]) > 0
    model = DGTClassifier(random_state=0).fit(X[:1500], y[:1500])
    assert model.chosen_.plan.bent
    cart = DecisionTreeClassifier(random_state=0).fit(X[:1500], y[:1500])
    assert model.score(X[1500:], y[1500:]) > cart.score(X[1500:], y[1500:]) + 0.03


@pytest.mark.parametrize("size", [1e9, 1e15])
def test_one_value_that_is_far_off_does_not_ruin_a_fit(size):
    rng = np.random.default_rng(0)
    X = rng.normal([0, 300, 0, 5], size=(2000, 4))
    signal = 2 * X[:, 0] + X[:, 1] - 300
    y = (rng.random(2000) < 1 / (1 + np.exp(-2 * signal))).astype(int)
    wild = X.copy()
    wild[5, 0], wild[17, 1] = size, -size
    loss = [
        log_loss(y[1000:], model.predict_proba(X[1000:]))
        for model in (
            DGTClassifier(random_state=0).fit(rows[:1000], y[:1000]) for rows in (X, wild)
        )
    ]
    assert loss[1] < 1.3 * loss[0]
    values = DGTRegressor(random_state=0).fit(wild[:1000], signal[:1000])
    assert values.score(X[1000:], signal[1000:]) > 0.8


@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_one_value_that_is_far_off_does_not_ruin_an_answer(leaf):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 4))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=1000) > 0).astype(int)
    model = DGTClassifier(random_state=0, leaf=leaf).fit(X[:500], y[:500])
    far = X[500:].copy()
    far[:, 3] = 1e9  # a column that says nothing
    loss = [log_loss(y[500:], model.predict_proba(rows)) for rows in (X[500:], far)]
    assert loss[1] < loss[0] + 0.2
