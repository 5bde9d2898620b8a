"""Boosted sums of trees as estimators."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.model_selection import train_test_split

from dgtrees import DGTBoostingClassifier, DGTBoostingRegressor, contributions, load
from exported import COMPILER, CModel, OnnxModel

QUICK = {"n_estimators": 20, "random_state": 0}
IRIS, DIABETES = load_iris(return_X_y=True), load_diabetes(return_X_y=True)
MODELS = [
    (DGTBoostingClassifier(**QUICK), IRIS),
    (DGTBoostingClassifier(**QUICK, linear=False, class_weight={0: 1, 1: 3, 2: 1}), IRIS),
    (DGTBoostingRegressor(**QUICK, linear=True), DIABETES),
    (DGTBoostingRegressor(**QUICK, linear=False, loss="quantile", quantile=0.8), DIABETES),
    (DGTBoostingRegressor(**QUICK, loss="poisson"), DIABETES),
    (DGTBoostingClassifier(**QUICK, leaf="mixed"), IRIS),
    (DGTBoostingRegressor(**QUICK, leaf="linear"), DIABETES),
    (DGTBoostingClassifier(**QUICK, tune=True), IRIS),
    (DGTBoostingRegressor(**QUICK, leaf="mixed", tune=True), DIABETES),
]


def outputs(model, X):
    return model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)[:, None]


@pytest.mark.parametrize(("model", "rows"), MODELS)
def test_the_same_bits_from_threads_files_and_single_rows(model, rows, tmp_path):
    X, y = rows
    answer = outputs(model.fit(X, y), X)
    again = type(model)(**(model.get_params() | {"n_jobs": 2})).fit(X, y)
    assert np.array_equal(outputs(again, X), answer)
    model.save(tmp_path / "model.dgt")
    loaded = load(tmp_path / "model.dgt")
    assert np.array_equal(outputs(loaded, X), answer)
    assert (loaded.n_iter_, loaded.best_score_) == (model.n_iter_, model.best_score_)
    assert [model.predict_row(x) for x in X[:9]] == model.predict(X[:9]).tolist()
    stages = list(loaded.staged_predict(X))
    assert len(stages) == model.n_iter_ and np.allclose(stages[-1], model.predict(X))


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
@pytest.mark.parametrize(("model", "rows"), MODELS)
def test_onnx_and_c_agree_with_python(model, rows, tmp_path):
    X, y = rows
    model.fit(X, y)
    graph, code = OnnxModel(model).run(X), CModel(model, tmp_path)
    assert np.array_equal(graph["leaf"], model.apply(X))
    assert np.array_equal(code.apply(X), model.apply(X))
    classes = hasattr(model, "classes_")
    # Each has its own exp.
    tolerance = 1e-15 if classes or getattr(model, "loss", "") == "poisson" else 0.0
    for found in (graph["probabilities" if classes else "variable"], code.predict(X)):
        assert np.allclose(found, outputs(model, X), rtol=tolerance, atol=tolerance)
    if classes:
        assert np.array_equal(graph["label"], model.predict(X))
        assert np.array_equal(model.classes_[code.label(X)], model.predict(X))


@pytest.mark.parametrize(("model", "rows"), MODELS)
def test_contributions_add_up(model, rows):
    X, y = rows
    found = contributions(model.fit(X, y), X[:20])
    said = model.model_.outputs(X[:20])
    assert np.allclose(found.predictions.reshape(said.shape), said)
    sampled = contributions(model, X[:3], method="sampling", background=X, n_permutations=3)
    assert np.allclose(sampled.predictions.reshape(said[:3].shape), said[:3])


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
@pytest.mark.parametrize(
    "given", [{"leaf": "constant"}, {"linear": True, "leaf": "constant"}, {"leaf": "mixed"}]
)
def test_monotonic_columns_have_no_violation(given, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 4))
    y = np.sin(3 * X[:, 0]) + X[:, 0] - X[:, 1] ** 2 + X[:, 2] + 0.5 * rng.normal(size=1000)
    model = DGTBoostingRegressor(monotonic=[1, -1, 0, 0], random_state=0, **given).fit(X, y)
    low = rng.normal(size=(10_000, 4)) * 2
    ahead = np.abs(rng.normal(size=(10_000, 2)))
    high = low + np.column_stack([ahead[:, 0], -ahead[:, 1], np.zeros((10_000, 2))])
    assert (model.predict(high) >= model.predict(low)).all()
    assert (model.predict(high) > model.predict(low)).mean() > 0.5
    code, graph = CModel(model, tmp_path), OnnxModel(model)
    assert (code.predict(high) >= code.predict(low)).all()
    assert (graph.run(high)["variable"] >= graph.run(low)["variable"]).all()


def test_monotonic_probabilities_of_a_frame():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = DGTBoostingClassifier(50, monotonic={"mean radius": -1}, random_state=0).fit(X, y)
    larger = X.assign(**{"mean radius": X["mean radius"] + 3.0})
    assert (model.predict_proba(larger)[:, 1] <= model.predict_proba(X)[:, 1]).all()


def test_quantiles_cover_their_share():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(4000, 2))
    y = X[:, 0] + rng.normal(size=4000) * (1.2 + X[:, 1])
    for level in (0.1, 0.9):
        model = DGTBoostingRegressor(loss="quantile", quantile=level, random_state=0)
        model.fit(X[:3000], y[:3000])
        assert abs((y[3000:] < model.predict(X[3000:])).mean() - level) < 0.04


def test_counts_are_means_of_their_rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(3000, 3))
    mean = np.exp(2 * X[:, 0] + np.where(X[:, 1] > 0, 1.0, -1.0))
    y = rng.poisson(mean)
    fits = {
        loss: DGTBoostingRegressor(loss=loss, tune=False, random_state=0).fit(X[:2000], y[:2000])
        for loss in ("poisson", "squared")
    }
    found = {loss: model.predict(X[2000:]) for loss, model in fits.items()}
    assert (found["poisson"] > 0).all()
    assert abs(found["poisson"].sum() / y[2000:].sum() - 1.0) < 0.05
    error = {loss: np.abs(said - mean[2000:]).mean() for loss, said in found.items()}
    assert error["poisson"] < 0.9 * error["squared"]
    with pytest.raises(ValueError, match=r"y must not be negative with loss='poisson', got -1"):
        DGTBoostingRegressor(loss="poisson").fit(X, y - 1)


def test_robust_losses_mind_outliers_less():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = X[:, 0] + np.where(rng.random(600) < 0.05, 100.0, 0.0)
    fits = {
        loss: DGTBoostingRegressor(loss=loss, random_state=0).fit(X[:400], y[:400])
        for loss in ("squared", "huber", "absolute")
    }
    error = {loss: np.abs(m.predict(X[400:]) - X[400:, 0]).mean() for loss, m in fits.items()}
    assert max(error["huber"], error["absolute"]) < error["squared"]


def test_oblique_trees_beat_the_linear_model_and_a_guess():
    X, X_test, y, y_test = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)
    model = DGTBoostingClassifier(random_state=0).fit(X, y)
    assert model.score(X_test, y_test) > 0.95
    assert model.feature_importances_.shape == (30,)
    assert np.isclose(model.feature_importances_.sum(), 1.0)


def test_class_weights_change_what_is_predicted_and_not_how_likely_it_is():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    y = rng.random(3000) < 1 / (1 + np.exp(2.5 - X[:, 0]))
    plain = DGTBoostingClassifier(random_state=0).fit(X, y)
    balanced = DGTBoostingClassifier(class_weight="balanced", random_state=0).fit(X, y)
    assert balanced.predict(X).mean() > 2 * plain.predict(X).mean()
    assert abs(balanced.predict_proba(X)[:, 1].mean() - y.mean()) < 0.02


def test_frames_with_gaps_and_names():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"town": rng.choice(["a", "b", None], 300), "n": rng.normal(size=300)})
    frame.loc[::5, "n"] = np.nan
    y = np.where(frame["town"] == "a", 2.0, 0.0) + frame["n"].fillna(3.0)
    model = DGTBoostingRegressor(random_state=0).fit(frame, y)
    assert model.score(frame, y) > 0.9


def test_warm_start_goes_on_where_it_was():
    X, y = DIABETES
    model = DGTBoostingRegressor(5, warm_start=True, n_folds=None, random_state=0).fit(X, y)
    model.set_params(n_estimators=12).fit(X, y)
    whole = DGTBoostingRegressor(12, n_folds=None, random_state=0).fit(X, y)
    assert model.n_iter_ == 12 and np.array_equal(model.predict(X), whole.predict(X))
    with pytest.raises(ValueError, match="n_estimators must not fall below the 12 rounds"):
        model.set_params(n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match="some have changed"):
        model.set_params(n_estimators=20, learning_rate=0.3).fit(X, y)


def test_warm_starts_refuse_other_weights_and_other_validation_rows():
    X, y = DIABETES
    given = {"n_estimators": 3, "warm_start": True, "random_state": 0}
    model = DGTBoostingRegressor(**given).fit(X, y)
    others = {"X_val": X[:99], "y_val": y[:99]}
    for changed in ({"sample_weight": np.arange(1, len(X) + 1)}, others):
        with pytest.raises(ValueError, match="some have changed"):
            model.fit(X, y, **changed)
    model.fit(X, y, sample_weight=np.ones(len(X)))
    model = DGTBoostingRegressor(**given).fit(X, y, **others)
    with pytest.raises(ValueError, match="some have changed"):
        model.fit(X, y, X_val=X[99:], y_val=y[99:])


def test_numbers_of_any_size():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=200)
    plain = DGTBoostingRegressor(**QUICK).fit(X, y)
    for size in (1e-170, 1e200):  # whose squares are 0, or infinite
        model = DGTBoostingRegressor(**QUICK).fit(X, size * y)
        assert np.allclose(model.predict(X) / size, plain.predict(X), atol=0.05)
    for size in (1e-315, 1e-307, 1e200):
        sized = X * [size, 1.0, 1.0]
        model = DGTBoostingRegressor(**QUICK, tune=True).fit(sized, y)
        assert model.score(sized, y) > 0.7 and model.feature_importances_[0] > 0.2


@pytest.mark.parametrize("signs", [(1, 1, 1), (1, -1, 1), (-1, -1, -1)])
def test_validation_rows_that_are_too_far_off_for_a_float(signs):
    rng = np.random.default_rng(0)
    X = 1e-160 * rng.normal(size=(200, 3))
    y = X.sum(axis=1) * 1e160
    X_val = np.vstack([X[:50], 1e200 * np.array([signs])])
    model = DGTBoostingRegressor(**QUICK, linear=False)
    assert model.fit(X, y, X_val=X_val, y_val=np.append(y[:50], 0.0)).score(X, y) > 0.7


@pytest.mark.parametrize("leaf", ["linear", "mixed"])
def test_linear_leaves_without_a_penalty(leaf):
    X, y = DIABETES
    X = np.column_stack([X, X[:, 0], np.ones(len(X))])
    assert DGTBoostingRegressor(**QUICK, l2=0, leaf=leaf).fit(X, y).score(X, y) > 0.4


@pytest.mark.parametrize("leaf", ["linear", "mixed"])
def test_warm_starts_of_linear_leaves(leaf):
    X, y = IRIS
    given = {"leaf": leaf, "n_folds": None, "random_state": 0, "max_features": 0.5}
    model = DGTBoostingClassifier(3, warm_start=True, **given).fit(X, y)
    model.set_params(n_estimators=8).fit(X, y)
    whole = DGTBoostingClassifier(8, **given).fit(X, y)
    assert np.array_equal(model.predict_proba(X), whole.predict_proba(X))
    assert [tree.linear for tree in whole.forest_.trees[:3]] == [True, leaf == "linear", True]


def test_trees_are_tuned_together_where_held_out_rows_say_so():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = np.sin(2 * X[:, 0]) + np.abs(X[:, 1] + X[:, 2])
    given = {"n_estimators": 60, "leaf": "constant", "random_state": 0}
    plain, leaves, nodes = (
        DGTBoostingRegressor(**given, tune=tune).fit(X[:400], y[:400])
        for tune in (False, "auto", True)
    )
    assert leaves.tuned_ and nodes.tuned_ and not plain.tuned_
    assert nodes.best_score_ < leaves.best_score_ < plain.best_score_
    assert nodes.score(X[400:], y[400:]) > plain.score(X[400:], y[400:])
    assert leaves.score(X[400:], y[400:]) > plain.score(X[400:], y[400:])
    assert nodes.n_iter_ == leaves.n_iter_ == plain.n_iter_
    for grown, moved in zip(plain.forest_.trees, leaves.forest_.trees, strict=True):
        assert np.array_equal(grown.weights, moved.weights)
        assert np.array_equal(grown.bias, moved.bias)
    signed = DGTBoostingRegressor(**given, monotonic=[1, 0, 0]).fit(X[:400], y[:400])
    assert not signed.tuned_
    few = DGTBoostingRegressor(5, tune=True, random_state=0).fit(X[:12], y[:12])
    assert not few.tuned_  # there are too few rows to hold any out


def test_leaves_are_not_tuned_where_there_are_too_many_rows(monkeypatch):
    X, y = DIABETES
    given = {"n_estimators": 10, "learning_rate": 0.03, "random_state": 0}
    assert DGTBoostingRegressor(**given).fit(X, y).tuned_
    monkeypatch.setattr("dgtrees.estimators.boosting_base._MOST_TUNED_ROWS", len(X) - 1)
    assert not DGTBoostingRegressor(**given).fit(X, y).tuned_
    assert DGTBoostingRegressor(**given, tune=True).fit(X, y).tuned_


def test_warm_starts_go_on_from_trees_that_are_not_tuned():
    X, y = DIABETES
    given = {"tune": True, "learning_rate": 0.03, "random_state": 0}
    model = DGTBoostingRegressor(10, warm_start=True, **given).fit(X, y)
    assert model.tuned_
    model.set_params(n_estimators=20).fit(X, y)
    whole = DGTBoostingRegressor(20, **given).fit(X, y)
    assert np.array_equal(model.predict(X), whole.predict(X))
    plain = DGTBoostingRegressor(20, **given | {"tune": False}).fit(X, y)
    model.set_params(tune=False).fit(X, y)
    assert np.array_equal(model.predict(X), plain.predict(X))


def test_rows_that_are_far_off_are_taken_for_the_end_of_the_range():
    X, y = DIABETES
    model = DGTBoostingRegressor(**QUICK, leaf="linear").fit(X, y)
    far, farther = X[:5].copy(), X[:5].copy()
    far[:, 2], farther[:, 2] = 1e3, 1e9
    assert np.array_equal(model.predict(far), model.predict(farther))
    assert y.min() <= model.predict(farther).min() and model.predict(farther).max() <= y.max()


def test_leaves_are_chosen_on_held_out_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 4))
    bends = np.abs(X @ [1.0, -1.0, 0.5, 0.0]) + X[:, 3]
    model = DGTBoostingRegressor(random_state=0).fit(X, bends)
    assert model.chosen_.leaf != "constant" and model.score(X, bends) > 0.95
    steps = np.floor(2 * X[:, 0]) + 3 * (X[:, 1] > 0.3)
    assert DGTBoostingRegressor(random_state=0).fit(X, steps).chosen_.leaf != "linear"
    assert DGTBoostingRegressor(oblique=False, random_state=0).fit(X, bends).chosen_.leaf == (
        "constant"
    )
    few = DGTBoostingRegressor(random_state=0).fit(X[:1999], bends[:1999])
    assert few.chosen_.leaf == "constant"


def test_validation_rows_stop_one_sum():
    X, y = DIABETES
    model = DGTBoostingRegressor(random_state=0).fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    assert len(model.forest_) in (model.n_iter_, 1) and model.best_score_ is not None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"n_estimators": 0}, "n_estimators must be 'auto' or a whole number of at least 1, got 0"),
        ({"max_leaves": 1}, "max_leaves must be a whole number of at least 2, got 1"),
        ({"learning_rate": 2}, "learning_rate must be a number above 0.0 and at most 1.0, got 2"),
        ({"linear": "yes"}, "linear must be 'auto', True or False, got 'yes'"),
        ({"loss": "log"}, "loss must be one of squared, huber, absolute, quantile, poisson, got"),
        ({"loss": "poisson", "linear": True}, "linear must be 'auto' or False with loss='poisson'"),
        ({"leaf": "flat"}, "leaf must be 'auto', 'constant', 'linear' or 'mixed', got 'flat'"),
        ({"leaf": "mixed", "oblique": False}, "leaf must be 'auto' or 'constant' with oblique"),
        ({"leaf": "linear", "loss": "poisson"}, "leaf must be 'auto' or 'constant' with loss='poi"),
        ({"tune": "yes"}, "tune must be 'auto', True or False, got 'yes'"),
        ({"tune": True, "monotonic": [0] * 10}, "tune must be 'auto' or False with monotonic"),
        (
            {"tune": True, "n_folds": None},
            "tune must be 'auto' or False without held-out rows",
        ),
        ({"quantile": 1.0}, "quantile must be between 0 and 1, got 1.0"),
        ({"monotonic": [1]}, "monotonic must be 10 numbers, -1, 0 or 1"),
        ({"monotonic": 1}, "monotonic must be 10 numbers, -1, 0 or 1, or a dict of columns, got 1"),
        ({"leaf": ["linear"]}, "leaf must be 'auto', 'constant', 'linear' or 'mixed', got"),
        ({"tune": np.ones(2)}, "tune must be 'auto', True or False, got array"),
        ({"n_estimators": np.ones(2)}, "n_estimators must be 'auto' or a whole number"),
        ({"monotonic": {"z": 1}}, "monotonic must name columns of X, got 'z'"),
    ],
)
def test_errors_are_one_line(given, said):
    with pytest.raises(ValueError, match=re.escape(said)) as caught:
        DGTBoostingRegressor(**given).fit(*DIABETES)
    assert "\n" not in str(caught.value)
