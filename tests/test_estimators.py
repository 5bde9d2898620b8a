"""DGTClassifier and DGTRegressor: what users rely on, and what they are told when it goes wrong."""

import dataclasses
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, load_iris, make_classification, make_regression
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dgtrees
from dgtrees import DGTClassifier, DGTRegressor, Recipe
from dgtrees.errors import ModelFileError, StateError
from dgtrees.learn.recipe import RECIPES


def quick(kind, **options):
    """An estimator that fits in a fraction of a second."""
    return kind(**({"max_depth": 3, "max_epochs": 15, "random_state": 0} | options))


@pytest.fixture(scope="module")
def classes():
    return make_classification(300, 6, n_informative=4, n_classes=3, random_state=0)


@pytest.fixture(scope="module")
def numbers():
    return make_regression(300, 6, noise=1.0, random_state=0)


# Accuracy worth having


def test_iris_is_learnt():
    X, y = load_iris(return_X_y=True)
    a, b, ya, yb = train_test_split(X, y, stratify=y, random_state=0)
    clf = DGTClassifier(max_depth=4, random_state=0).fit(a, ya)
    assert clf.score(b, yb) > 0.85
    np.testing.assert_allclose(clf.predict_proba(b).sum(axis=1), 1.0)
    assert np.array_equal(clf.classes_[clf.predict_proba(b).argmax(axis=1)], clf.predict(b))


def test_diabetes_is_learnt():
    X, y = load_diabetes(return_X_y=True)
    a, b, ya, yb = train_test_split(X, y, random_state=0)
    reg = DGTRegressor(max_depth=3, random_state=0).fit(a, ya)
    assert reg.score(b, yb) > 0.1


def test_linear_leaves_fit_a_linear_function():
    X, y = make_regression(300, 6, noise=0.0, random_state=0)
    reg = quick(DGTRegressor, leaf="linear", max_depth=2, max_epochs=100).fit(X, y)
    assert reg.score(X, y) > 0.95
    # Far outside, a linear leaf stays within the range of what it was trained on.
    far = reg.predict(np.vstack([X * 1e3, X * -1e3]))
    assert y.min() <= far.min() and far.max() <= y.max()
    assert quick(DGTRegressor, max_depth=2).fit(X, y).score(X, y) < 0.9


def test_several_outputs():
    X, y = make_regression(300, 5, n_targets=2, random_state=0)
    reg = quick(DGTRegressor, max_epochs=60).fit(X, y)
    assert reg.predict(X).shape == (300, 2)
    assert reg.score(X, y) > 0.5


@pytest.mark.parametrize("loss", ["huber", "absolute"])
def test_robust_losses_shrug_off_an_outlier(loss):
    X = np.linspace(-1, 1, 200)[:, None]
    y = np.sign(X[:, 0]).copy()
    y[::20] = 50.0
    robust = quick(DGTRegressor, loss=loss, max_depth=1, max_epochs=200).fit(X, y)
    plain = quick(DGTRegressor, max_depth=1, max_epochs=200).fit(X, y)
    error = [np.abs(np.median(m.predict(X[X[:, 0] > 0])) - 1) for m in (robust, plain)]
    assert error[0] < error[1]


def test_a_loss_of_ones_own(numbers):
    X, y = numbers
    calls = []

    def pinball(prediction, target):
        calls.append(1)
        gap = target - prediction
        return torch.maximum(0.9 * gap, -0.1 * gap).mean(dim=1)

    recipe = dataclasses.replace(RECIPES["default"]["regression"], refit_strength=None)
    high = quick(DGTRegressor, loss=pinball, recipe=recipe, max_epochs=60).fit(X, y)
    assert calls
    assert (high.predict(X) >= y).mean() > 0.7


def test_a_loss_may_look_rows_up_by_their_number_and_compare_them(numbers):
    X, y = numbers
    batches = []

    def differences(prediction, number):
        row = number[:, 0].astype(int)
        batches.append(len(np.unique(row)) == len(row))
        gap = prediction[:, 0] - y[row]
        gap = gap - gap.mean()  # the level, which all rows share, does not matter
        return np.square(gap), 2 * gap[:, None]

    recipe = dataclasses.replace(RECIPES["default"]["regression"], target_scaling="none")
    model = quick(DGTRegressor, loss=differences, recipe=recipe, max_epochs=60)
    model.fit(X, np.arange(len(y)))
    assert all(batches)
    assert np.corrcoef(model.predict(X), y)[0, 1] > 0.6
    assert abs(model.predict(X)).max() < 10 * abs(y).max()  # not in units of row numbers


@pytest.mark.parametrize(
    "options",
    [
        {"path": "product"},
        {"quantizer": "sign"},
        {"quantizer": "margin"},
        {"quantizer": "scaled_sign"},
        {"quantizer": "lsq"},
        {"quantizer": "annealed"},
        {"quantizer": "annealed", "path": "product", "anneal_schedule": "linear"},
        {"optimizer": "rmsprop", "momentum": 0.3, "clip": 1e-2, "restarts": 3},
        {"optimizer": "sgd", "momentum": 0.9, "learning_rate": 0.1},
        {"l1": 1e-5},
        {"l2": 1e-4},
        {"averaging": 0.2},
        {"averaging": 0.0},
        {"n_layers": 1},
        {"n_layers": 4, "hidden": (5, 6, 7)},
        {"schedule": "constant"},
        {"refit_strength": 1.0},
        {"label_smoothing": 0.0, "input_noise": 0.0},
    ],
    ids=lambda options: "-".join(f"{k}={v}" for k, v in options.items()),
)
def test_every_training_choice_learns(options, classes):
    X, y = classes
    recipe = dataclasses.replace(
        RECIPES["default"]["classification"], learning_rate=1e-2, epochs=40
    )
    clf = DGTClassifier(4, recipe=dataclasses.replace(recipe, **options), random_state=0)
    assert clf.fit(X, y).score(X, y) > 0.65


def test_the_papers_recipe_is_the_papers_table():
    paper = RECIPES["paper"]["regression"]
    assert (paper.optimizer, paper.learning_rate, paper.clip) == ("rmsprop", 1e-2, 1e-2)
    assert (paper.schedule, paper.restarts, paper.batch_size) == ("cosine", 3, 128)
    X, y = load_iris(return_X_y=True)
    clf = DGTClassifier(2, recipe="paper", n_layers=3, max_epochs=1, random_state=0).fit(X, y)
    assert clf._trainer_.descent.layout(1).widths.tolist() == [240, 240, 3]


def test_the_papers_recipe_learns(numbers):
    X, y = numbers
    reg = DGTRegressor(4, recipe="paper", max_epochs=200, random_state=0).fit(X, y)
    assert reg.score(X, y) > 0.6


# Weights, order, seeds


@pytest.mark.parametrize("kind", [DGTClassifier, DGTRegressor])
def test_the_guise_of_a_table_does_not_matter(kind, classes):
    X, y = classes
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 3, size=len(X))
    weighted = quick(kind).fit(X, y, sample_weight=weight)
    order = rng.permutation(weight.sum())
    repeated = quick(kind).fit(np.repeat(X, weight, axis=0)[order], np.repeat(y, weight)[order])
    assert np.array_equal(weighted.tree_.weights, repeated.tree_.weights)
    assert np.array_equal(weighted.tree_.leaf_values, repeated.tree_.leaf_values)


@pytest.mark.parametrize("kind", [DGTClassifier, DGTRegressor])
def test_seeds(kind, classes):
    X, y = classes
    first, again, other = (quick(kind, random_state=s).fit(X, y) for s in (1, 1, 2))
    assert np.array_equal(first.tree_.weights, again.tree_.weights)
    assert first.history_ == again.history_
    assert not np.array_equal(first.tree_.bias, other.tree_.bias)


def test_the_same_tree_on_any_number_of_threads_and_no_trace_in_global_state(classes):
    X, y = classes
    trees = []
    before = torch.get_num_threads()
    for threads in (1, 2):
        torch.set_num_threads(threads)
        state = torch.get_rng_state()
        trees.append(quick(DGTClassifier).fit(X, y).tree_)
        assert torch.get_num_threads() == threads
        assert torch.equal(torch.get_rng_state(), state)
    torch.set_num_threads(before)
    assert np.array_equal(trees[0].weights, trees[1].weights)


def test_class_weights(classes):
    X, y = classes
    plain = quick(DGTClassifier).fit(X, y)
    heavy = quick(DGTClassifier, class_weight={0: 50.0, 1: 1.0, 2: 1.0}).fit(X, y)
    assert (heavy.predict(X) == 0).sum() > (plain.predict(X) == 0).sum()
    by_weight = quick(DGTClassifier).fit(X, y, sample_weight=np.where(y == 0, 50.0, 1.0))
    assert np.mean(heavy.predict(X) == by_weight.predict(X)) > 0.95
    few = np.flatnonzero(y < 2)
    balanced = quick(DGTClassifier, class_weight="balanced")
    balanced.fit(X, y, X_val=X[few], y_val=y[few])  # validation rows without the third class
    unweighted = np.mean(balanced.predict(X[few]) == y[few])
    assert balanced.best_score_ == pytest.approx(unweighted, abs=0.02)
    with pytest.raises(ValueError, match="class_weight='balanced' needs all rows at once"):
        quick(DGTClassifier, class_weight="balanced").partial_fit(X, y, classes=[0, 1, 2])
    for wrong in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match=f"at least 0, got {wrong} for the class 2"):
            quick(DGTClassifier, class_weight={0: 1.0, 1: 1.0, 2: wrong}).fit(X, y)


# Validation, stopping, going on


def test_validation_rows_choose_the_epoch(classes):
    X, y = classes
    clf = quick(DGTClassifier).fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
    assert clf.best_score_ == max(clf.history_["val_accuracy"][7:])  # of the later half
    assert len(clf.history_["loss"]) == len(clf.history_["val_loss"]) == clf.n_iter_ == 15


def test_the_best_of_several_tries_is_kept():
    X, y = make_classification(900, 6, n_informative=4, n_classes=3, random_state=0)
    parts = X[:600], y[:600]
    held = {"X_val": X[600:], "y_val": y[600:]}
    recipe = RECIPES["default"]["classification"]
    three = quick(DGTClassifier).fit(*parts, **held)
    one = dataclasses.replace(recipe, tries=1, epochs=15)
    seeds = [quick(DGTClassifier, recipe=one, random_state=s).fit(*parts, **held) for s in range(3)]
    assert [recipe.n_tries(rows) for rows in (200, 1000, 10**6)] == [1, 3, 1]
    assert three.best_score_ >= min(clf.best_score_ for clf in seeds)
    assert three.n_iter_ == 15


def test_patience_stops_early(classes):
    X, y = classes
    clf = quick(DGTClassifier, max_epochs=300, patience=5, validation_fraction=0.3).fit(X, y)
    assert clf.n_iter_ < 300
    # The best epoch is the most accurate one, and of those the one with the smallest loss.
    ranks = list(
        zip(clf.history_["val_accuracy"], -np.array(clf.history_["val_loss"]), strict=True)
    )
    assert clf.n_iter_ == ranks.index(max(ranks)) + 1 + 5
    assert clf.best_score_ == max(ranks)[0]


def test_warm_start_goes_on(classes):
    X, y = classes
    clf = quick(DGTClassifier, warm_start=True, max_epochs=2)
    losses = [clf.fit(X, y).history_["loss"][-1] for _ in range(4)]
    assert clf.n_iter_ == 8
    assert losses[-1] < losses[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_depth": 5}, "same max_depth, 3 so far, got 5"),
        ({"leaf": "linear"}, "same leaf, 'constant' so far, got 'linear'"),
        ({"n_layers": 2}, "same n_layers, 3 so far, got 2"),
    ],
)
def test_warm_start_refuses_another_tree(change, message, classes):
    X, y = classes
    clf = quick(DGTClassifier, warm_start=True, max_epochs=2).fit(X, y)
    with pytest.raises(ValueError, match=message):
        clf.set_params(**change).fit(X, y)


def test_warm_start_refuses_other_targets(classes, numbers):
    X, y = classes
    clf = quick(DGTClassifier, warm_start=True, max_epochs=2).fit(X, y)
    with pytest.raises(ValueError, match=r"same classes, \[0, 1, 2\] so far"):
        clf.fit(X, y + 5)
    reg = quick(DGTRegressor, warm_start=True, max_epochs=2).fit(*numbers)
    with pytest.raises(ValueError, match="same outputs, 1 so far, got 2"):
        reg.fit(numbers[0], np.stack([numbers[1]] * 2, axis=1))


@pytest.mark.parametrize("start", ["partial_fit", "fit"])
def test_a_bad_batch_leaves_training_where_it_was(start, numbers):
    X, y = numbers
    good, bad = quick(DGTRegressor), quick(DGTRegressor)
    for reg in (good, bad):
        getattr(reg, start)(X, y)
    with pytest.raises(StateError, match="the loss became"):
        bad.partial_fit(X, y * 1e30)
    for reg in (good, bad):
        reg.partial_fit(X, y)
    assert np.array_equal(good.tree_.weights, bad.tree_.weights)


def test_a_column_that_varies_only_later_is_learnt(classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] > 0).astype(int)
    still = X.copy()
    still[:, 0] = 1.0
    clf = quick(DGTClassifier).partial_fit(still, y, classes=[0, 1])
    for _ in range(60):
        clf.partial_fit(X, y)
    assert clf.score(X, y) > 0.9


def test_partial_fit_learns_from_batches(classes):
    X, y = classes
    clf = quick(DGTClassifier, max_depth=4)
    for _ in range(30):
        for part in np.array_split(np.arange(len(X)), 3):
            clf.partial_fit(X[part], y[part], classes=[0, 1, 2])
    assert clf.score(X, y) > 0.75
    assert clf.n_iter_ == 90
    going_on = pickle.loads(pickle.dumps(clf))
    first, second = (c.partial_fit(X, y).predict_proba(X) for c in (clf, going_on))
    assert np.array_equal(first, second)


def test_partial_fit_of_a_regressor(numbers):
    X, y = numbers
    reg = quick(DGTRegressor)
    for _ in range(80):
        reg.partial_fit(X, y)
    assert reg.score(X, y) > 0.4
    assert reg._trainer_.recipe.local_after == 1.0  # every pass is a first one
    assert reg.feature_importances_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("kind", [DGTClassifier, DGTRegressor])
def test_a_tree_of_one_leaf(kind, classes):
    X, y = classes
    model = quick(kind, max_depth=0).fit(X, y)
    assert (model.get_depth(), model.get_n_leaves()) == (0, 1)
    assert len(np.unique(model.predict(X))) == 1


def test_a_constant_target_is_predicted_exactly(classes):
    X, _ = classes
    assert (quick(DGTRegressor).fit(X, np.full(len(X), 7.1)).predict(X) == 7.1).all()


@pytest.mark.parametrize("factor", [1e200, 1e-200])
def test_values_far_from_one(factor, numbers):
    X, y = numbers
    far = quick(DGTRegressor, max_epochs=30).fit(X * factor, y)
    assert far.score(X * factor, y) > 0.6


def test_fits_in_threads_are_those_in_sequence(classes):
    X, y = classes
    fit = lambda seed: quick(DGTClassifier, random_state=seed, max_epochs=3).fit(X, y).tree_  # noqa: E731
    expected = [fit(seed) for seed in range(6)]
    with ThreadPoolExecutor(3) as pool:
        for mine, other in zip(pool.map(fit, range(6)), expected, strict=True):
            assert np.array_equal(mine.weights, other.weights)


# Looking at it


def test_apply_path_and_shape(classes):
    X, y = classes
    clf = quick(DGTClassifier).fit(X, y)
    leaves = clf.apply(X)
    assert leaves.max() < clf.get_n_leaves() == clf.tree_.n_leaves
    path = clf.decision_path(X)
    assert np.all(path[np.arange(len(X)), clf.tree_.n_nodes + leaves] == 1)
    assert clf.get_depth() == clf.tree_.depth <= 3
    assert clf.tree_.flops == clf.get_depth() * 6


def test_importances_point_at_what_matters():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 5))
    reg = quick(DGTRegressor, max_epochs=60).fit(X, 3 * X[:, 2])
    assert reg.feature_importances_.argmax() == 2
    assert reg.feature_importances_.sum() == pytest.approx(1.0)


# Tables


def people(rows=200):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, rows),
            "city": rng.choice(["Oslo", "Rome", "Lima"], rows),
            "income": rng.normal(1000, 300, rows),
        }
    )
    label = np.where((frame["city"] == "Rome") | (frame["age"] > 50), "yes", "no")
    frame.loc[::7, "income"] = np.nan
    frame.loc[::11, "city"] = None
    return frame, label


def test_frames_with_text_and_gaps():
    frame, label = people()
    clf = quick(DGTClassifier, max_epochs=80).fit(frame, label)
    assert clf.score(frame, label) > 0.9
    assert clf.feature_names_in_.tolist() == ["age", "city", "income"]
    assert len(clf.feature_importances_) == 3
    assert "city=Rome" in clf.encoded_feature_names_
    new = frame.head(2).assign(city="Paris")
    assert set(clf.predict(new)) <= {"yes", "no"}
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        unnamed = clf.predict(frame.to_numpy(dtype=object))
    assert np.array_equal(clf.predict(frame), unnamed)


def test_constant_columns_have_no_say(classes):
    X, y = classes
    wide = np.hstack([X, np.full((len(X), 1), 7.0)])
    clf = quick(DGTClassifier).fit(wide, y)
    moved = wide.copy()
    moved[:, -1] = 1e6
    assert np.array_equal(clf.predict(wide), clf.predict(moved))


def test_gaps_at_prediction_only(classes):
    X, y = classes
    clf = quick(DGTClassifier).fit(X, y)
    row = X[:1].copy()
    row[0, 3] = np.nan
    filled = X[:1].copy()
    filled[0, 3] = np.median(X[:, 3])
    assert np.array_equal(clf.predict_proba(row), clf.predict_proba(filled))


def test_inside_scikit_learns_tools(classes):
    X, y = classes
    search = GridSearchCV(
        make_pipeline(StandardScaler(), quick(DGTClassifier)),
        {"dgtclassifier__max_depth": [1, 3]},
        cv=2,
    ).fit(X, y)
    assert search.best_params_ == {"dgtclassifier__max_depth": 3}


# Files


@pytest.mark.parametrize("leaf", ["constant", "linear"])
@pytest.mark.parametrize("kind", [DGTClassifier, DGTRegressor])
def test_saved_and_loaded_is_the_same_model(kind, leaf, tmp_path):
    frame, label = people()
    y = label if kind is DGTClassifier else frame["age"].to_numpy()
    model = quick(kind, leaf=leaf, recipe=Recipe(n_layers=2, hidden=(16,))).fit(frame, y)
    model.save(tmp_path / "m.dgt")
    again = dgtrees.load(tmp_path / "m.dgt")
    assert type(again) is kind
    assert again.get_params() == model.get_params()
    assert (tmp_path / "m.dgt").stat().st_mode & 0o044
    assert np.array_equal(again.predict(frame), model.predict(frame))
    assert np.array_equal(again.apply(frame), model.apply(frame))
    assert again.history_ == model.history_
    assert np.array_equal(again.feature_importances_, model.feature_importances_)
    if kind is DGTClassifier:
        assert np.array_equal(again.predict_proba(frame), model.predict_proba(frame))
        assert again.classes_.tolist() == ["no", "yes"]
    with pytest.raises(StateError, match="partial_fit cannot go on from a model that was loaded"):
        again.partial_fit(frame, y)
    again.save(tmp_path / "again.dgt")
    assert (tmp_path / "again.dgt").read_bytes() == (tmp_path / "m.dgt").read_bytes()


@pytest.mark.parametrize(
    "labels", [[True, False], [3, 7], [0.0, 1.0], ["no", "yes"], np.array([1, 2], dtype=np.int8)]
)
def test_classes_keep_their_type(labels, classes, tmp_path):
    X, _ = classes
    y = np.resize(labels, len(X))
    weights = {label: 1.0 + i for i, label in enumerate(np.unique(y).tolist())}
    clf = quick(DGTClassifier, class_weight=weights).fit(X, y)
    clf.save(tmp_path / "m.dgt")
    again = dgtrees.load(tmp_path / "m.dgt")
    assert again.classes_.dtype == clf.classes_.dtype
    assert again.get_params() == clf.get_params()
    assert np.array_equal(again.predict(X), clf.predict(X))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h.update(classes=[1]), "outputs do not fit the tree, 1 against 3"),
        (lambda h: h["encoder"].pop(), "encoded columns do not fit the tree, 5 against 6"),
        (lambda h: h.pop("parameters"), "not a valid DGTClassifier"),
        (lambda h: h["parameters"].update(wings=2), "not a valid DGTClassifier"),
        (lambda h: h.update(kind="DGTOracle"), "holds a 'DGTOracle'"),
    ],
)
def test_parts_of_a_file_that_do_not_fit_each_other(change, message, fitted, tmp_path):
    from test_model_file import rewritten

    path = tmp_path / "copy.dgt"
    path.write_bytes(fitted[1].read_bytes())
    with pytest.raises(ModelFileError, match=message):
        dgtrees.load(rewritten(path, change))


@settings(max_examples=20)
@given(seed=st.integers(0, 2**31 - 1), rows=st.integers(1, 20))
def test_the_same_leaf_alone_in_a_batch_and_after_loading(seed, rows, tmp_path_factory, fitted):
    clf, path = fitted
    X = np.random.default_rng(seed).normal(size=(rows, 6))
    again = dgtrees.load(path)
    together = clf.apply(X)
    assert [int(clf.apply(row[None])[0]) for row in X] == together.tolist()
    assert np.array_equal(again.apply(X), together)
    assert np.array_equal(again.tree_.apply(X, n_threads=3), together)


@pytest.fixture(scope="module")
def fitted(classes, tmp_path_factory):
    X, y = classes
    clf = quick(DGTClassifier, max_depth=6).fit(X, y)
    path = tmp_path_factory.mktemp("model") / "m.dgt"
    clf.save(path)
    return clf, path


# Being told


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_depth": -1}, "max_depth must be a whole number of at least 0 or 'auto', got -1"),
        ({"max_depth": 2.5}, "max_depth must be a whole number of at least 0 or 'auto', got 2.5"),
        (
            {"max_depth": 45},
            "at most 2.30 numbers, got max_depth=45 .*: choose a smaller max_depth",
        ),
        ({"leaf": "tree"}, "leaf must be 'auto' or 'constant' or 'linear', got 'tree'"),
        ({"recipe": "best"}, "recipe must be one of default, paper or a Recipe, got 'best'"),
        ({"validation_fraction": 1.5}, "validation_fraction must be between 0 and 1, 'auto' or"),
        ({"max_epochs": 0}, "epochs must be a whole number of at least 1, got 0"),
        ({"learning_rate": -1.0}, "learning_rate must be a number above 0, got -1.0"),
        ({"l1": -1.0}, "l1 must be a number of at least 0, got -1.0"),
        ({"hidden": (4, 4, 4, 4, 4, 4)}, "hidden must be 'paper', a width of at least 1, or"),
        ({"loss": "hinge"}, "loss must be a callable or one of"),
        ({"loss": "squared"}, "loss 'squared' is not for classification"),
    ],
)
def test_wrong_parameters(change, message, classes):
    with pytest.raises(ValueError, match=message):
        quick(DGTClassifier, **change).fit(*classes)


def test_wrong_data(classes):
    X, y = classes
    clf = quick(DGTClassifier)
    cases = [
        (X, np.zeros(len(y)), "y must have at least 2 classes, got 1 class"),
        (X, np.where(np.arange(len(y)) == 3, np.nan, y), "NaN"),
        (np.where(X > 2, np.inf, X), y, "infinity"),
        (X[:0], y[:0], "0 sample"),
        (X, y[:-1], "inconsistent numbers of samples"),
        (X[:, 0], y, "Expected 2D array"),
        (X, None, "requires y to be passed"),
    ]
    for rows, target, message in cases:
        with pytest.raises(ValueError, match=message):
            clf.fit(rows, target)
    with pytest.raises(ValueError, match="at least one non-zero"):
        clf.fit(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(ValueError, match="X_val and y_val must be given together"):
        clf.fit(X, y, X_val=X)
    with pytest.raises(ValueError, match="not one of"):
        clf.fit(X, y, X_val=X, y_val=y + 1)
    with pytest.raises(ValueError, match="y must not contain NaN, got NaN in row 0"):
        quick(DGTRegressor).fit(X, np.full(len(y), np.nan))
    labels = np.array(["a", "b", None] * 100, dtype=object)
    with pytest.raises(ValueError, match="got None in row 2"):
        clf.fit(X, labels)
    with pytest.raises(ValueError, match="patience=3 needs validation rows"):
        quick(DGTClassifier, patience=3).fit(X, y)
    with pytest.raises(ValueError, match="sample_weight_val needs X_val and y_val"):
        clf.fit(X, y, sample_weight_val=y)
    text = np.array([["a", 1.0], ["b", 2.0]] * 150, dtype=object)
    with pytest.raises(ValueError, match="pass a DataFrame, whose text columns are encoded"):
        clf.fit(text, y)
    with pytest.raises(NotFittedError):
        quick(DGTClassifier).predict(X)


def test_a_failed_fit_leaves_a_fitted_model_as_it_was(classes):
    X, y = classes
    clf = quick(DGTClassifier).fit(X, y)
    before = clf.predict(X)
    with pytest.raises(ValueError, match="at least 2 classes"):
        clf.fit(X[:, :2], np.zeros(len(y)))
    assert np.array_equal(clf.predict(X), before)


def test_wrong_rows_at_prediction(classes):
    X, y = classes
    clf = quick(DGTClassifier).fit(X, y)
    with pytest.raises(ValueError, match="X has 5 features, but DGTClassifier is expecting 6"):
        clf.predict(X[:, :5])
    frame, label = people()
    named = quick(DGTClassifier).fit(frame, label)
    with pytest.raises(ValueError, match="feature names should match"):
        named.predict(frame.rename(columns={"age": "years"}))
    with pytest.raises(ValueError, match="column 'age' must hold numbers, got 'old'"):
        named.predict(frame.assign(age="old"))


def test_sparse_input_is_refused_with_the_reason(classes):
    from scipy import sparse

    X, y = classes
    with pytest.raises(TypeError, match="dense data is required"):
        quick(DGTClassifier).fit(sparse.csr_matrix(X), y)


def test_a_diverging_fit_says_so(numbers):
    X, y = numbers

    def explosive(prediction, target):
        return torch.exp(100 * (prediction - target).abs()).mean(dim=1)

    with pytest.raises(StateError, match="the loss became"):
        quick(DGTRegressor, loss=explosive, learning_rate=1.0).fit(X, y)


def test_progress_is_shown_on_standard_error_only_when_asked(classes, capsys):
    X, y = classes
    quick(DGTClassifier).fit(X, y)
    assert capsys.readouterr() == ("", "")
    quick(DGTClassifier, verbose=1).fit(X, y)
    shown = capsys.readouterr()
    assert shown.out == "" and "epoch 15/15" in shown.err


def test_scikit_learn_callbacks(classes):
    pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")
    X, y = classes
    seen = []

    class Watch:
        def setup(self, estimator, context):
            seen.append("setup")

        def teardown(self, estimator, context):
            seen.append("teardown")

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
            if context.task_name == "epoch":
                seen.append(fitted_estimator.score(X, y))
                return len(seen) >= 6

    clf = quick(DGTClassifier).set_callbacks(Watch()).fit(X, y)
    assert seen[0] == "setup" and seen[-1] == "teardown"
    assert len(seen) == 7 and all(0 <= score <= 1 for score in seen[1:-1])
    assert clf.n_iter_ == 5


def test_targets_and_rows_of_the_wrong_kind_get_the_next_step():
    with pytest.raises(ValueError, match="y must hold numbers, got 'no': take a classifier"):
        DGTRegressor().fit(np.zeros((3, 1)), ["1", "2", "no"])
    with pytest.raises(TypeError, match=r"got a list of dicts: pandas.DataFrame\(X\) makes one"):
        DGTClassifier().fit([{"a": 1}, {"a": 2}], [0, 1])


def test_what_was_tried_is_shown_as_a_table():
    model = DGTRegressor(random_state=0).fit(np.arange(20.0)[:, None], np.arange(20.0))
    assert repr(model.chosen_).startswith("held-out loss") and "<- kept" in repr(model.chosen_)
