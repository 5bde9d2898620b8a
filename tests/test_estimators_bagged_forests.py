import joblib
import numpy as np
import pytest
import threadpoolctl
from sklearn.datasets import load_iris

import dgtrees
from dgtrees import DGTForestClassifier, DGTForestRegressor
from dgtrees.errors import ModelFileError, StateError
from dgtrees.estimators.prediction_intervals import Intervals
from dgtrees.tables.examples import bootstrap

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 4))
Y = X[:, 0] * np.sign(X[:, 1]) + 0.2 * RNG.normal(size=240)
CLASSES = np.where(Y > 0.5, "high", np.where(Y < -0.5, "low", "mid"))


def regressor(**changes):
    return DGTForestRegressor(**{"n_estimators": 4, "max_depth": 3, "max_epochs": 20,
                                 "random_state": 0, **changes})  # fmt: skip


def classifier(**changes):
    return DGTForestClassifier(**{"n_estimators": 4, "max_depth": 3, "max_epochs": 20,
                                  "random_state": 0, **changes})  # fmt: skip


@pytest.fixture(scope="module")
def fitted():
    return regressor(oob_score=True).fit(X, Y)


def test_a_forest_is_better_than_its_trees_and_a_sample_is_a_bootstrap(fitted):
    errors = [np.mean((t.predict(X)[:, 0] - Y) ** 2) for t in fitted.forest_.trees]
    assert np.mean((fitted.predict(X) - Y) ** 2) < np.mean(errors)
    assert fitted.score(X, Y) > 0.5
    counts = bootstrap(np.ones(10_000), 0.7, seed=1)
    assert counts.sum() == 7000
    assert abs(np.mean(counts == 0) - np.exp(-0.7)) < 0.02


def test_weights_are_repetitions_zero_weights_are_absences():
    weight = RNG.integers(0, 3, size=len(X))
    a = regressor().fit(X, Y, sample_weight=weight)
    b = regressor().fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
    assert np.array_equal(a.predict(X), b.predict(X))
    # Weights that sum to 1 still mean so many rows.
    tiny = regressor().fit(X, Y, sample_weight=np.full(len(X), 1.0 / len(X)))
    assert tiny.score(X, Y) > 0.5


def test_two_processes_train_the_same_forest(fitted):
    other = regressor(oob_score=True, n_jobs=2).fit(X, Y)
    assert np.array_equal(fitted.predict(X), other.predict(X))
    assert np.array_equal(fitted.feature_importances_, other.feature_importances_)
    assert fitted.oob_score_ == other.oob_score_


def test_warm_start_adds_trees(fitted):
    forest = regressor(n_estimators=2, warm_start=True, oob_score=True).fit(X, Y)
    first = forest.forest_.trees
    forest.set_params(n_estimators=4).fit(X, Y)
    assert forest.forest_.trees[:2] == first
    assert np.array_equal(forest.predict(X), fitted.predict(X))
    assert np.allclose(forest.feature_importances_, fitted.feature_importances_)
    assert forest.oob_score_ == fitted.oob_score_
    with pytest.warns(UserWarning, match="raise n_estimators"):
        forest.fit(X, Y)
    with pytest.raises(ValueError, match="same rows"):
        forest.set_params(n_estimators=5).fit(X[1:], Y[1:])
    with pytest.raises(ValueError, match="must not fall below the 4 trees"):
        forest.set_params(n_estimators=3).fit(X, Y)
    assert len(forest.forest_) == 4


def test_out_of_bag_answers_come_from_trees_that_have_not_seen_the_row(fitted):
    # Rows in the order given, although training sorts them: the errors say so.
    answer = fitted.oob_prediction_
    known = ~np.isnan(answer)
    assert 0.6 < known.mean() < 1
    assert np.corrcoef(answer[known], Y[known])[0, 1] > 0.4
    total = ((Y[known] - Y[known].mean()) ** 2).sum()
    r2 = 1 - ((Y[known] - answer[known]) ** 2).sum() / total
    assert fitted.oob_score_ == pytest.approx(r2)
    assert fitted.oob_score_ < fitted.score(X, Y)

    weight = np.ones(len(X))
    weight[:5] = 0
    forest = classifier(oob_score=True).fit(X, CLASSES, sample_weight=weight)
    assert np.isnan(forest.oob_decision_function_[:5]).all()
    known = ~np.isnan(forest.oob_decision_function_[:, 0])
    guess = forest.classes_[forest.oob_decision_function_[known].argmax(axis=1)]
    assert forest.oob_score_ == pytest.approx(np.mean(guess == CLASSES[known]))


def test_voting_hard_counts_trees_and_soft_averages_probabilities():
    hard = classifier(voting="hard").fit(X, CLASSES)
    soft = classifier().fit(X, CLASSES)
    votes = np.stack([tree.predict(X).argmax(axis=1) for tree in hard.forest_.trees])
    shares = np.stack([(votes == k).mean(axis=0) for k in range(3)], axis=1)
    assert np.array_equal(hard.predict_proba(X), shares)
    assert np.array_equal(hard.predict(X), hard.classes_[shares.argmax(axis=1)])
    assert np.allclose(soft.predict_proba(X).sum(axis=1), 1)
    assert len(np.unique(soft.predict_proba(X)[:, 0])) > len(np.unique(shares[:, 0]))
    assert soft.score(X, CLASSES) > 0.7
    assert np.isneginf(hard.predict_log_proba(X)).any()


def test_class_weights_move_the_forest():
    plain = classifier().fit(X, CLASSES)
    heavy = classifier(class_weight={"low": 20.0, "mid": 1.0, "high": 1.0}).fit(X, CLASSES)
    assert np.mean(heavy.predict(X) == "low") > np.mean(plain.predict(X) == "low")
    shares = [model.predict_proba(X)[:, 1].mean() for model in (heavy, plain)]
    assert shares[0] == pytest.approx(shares[1], abs=0.12)  # decisions move, shares do not


def test_intervals_cover_new_rows_about_as_often_as_asked():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(1500, 3))
    y = rows[:, 1] + np.where(rows[:, 0] > 0, 1.0, 0.1) * rng.normal(size=len(rows))
    forest = regressor(n_estimators=8, max_depth=4).fit(rows[:700], y[:700])
    for coverage in (0.5, 0.9):
        low, high = forest.predict_interval(rows[700:], coverage).T
        share = np.mean((y[700:] >= low) & (y[700:] <= high))
        assert abs(share - coverage) < 0.06
    spread = forest.forest_.outputs_by_tree(rows[700:])[:, :, 0].std(axis=0)
    assert (high - low)[spread.argmax()] > (high - low)[spread.argmin()]


def test_intervals_need_rows_that_trees_have_not_seen():
    forest = regressor(bootstrap=False, n_estimators=2).fit(X, Y)
    with pytest.raises(StateError, match="bootstrap=True, more trees"):
        forest.predict_interval(X)
    with pytest.raises(ValueError, match="coverage must be between 0 and 1, got 90"):
        regressor(n_estimators=2).fit(X, Y).predict_interval(X, 90)


def test_intervals_of_several_outputs():
    forest = regressor().fit(X, np.stack([Y, 100 * Y], axis=1))
    interval = forest.predict_interval(X)
    assert interval.shape == (240, 2, 2)
    width = np.diff(interval, axis=2).mean(axis=(0, 2))
    assert 30 < width[1] / width[0] < 300
    with pytest.raises(ValueError, match=r"errors must have shape \(1001, 2\)"):
        Intervals(np.ones(2), np.ones((5, 2)))


def test_without_bootstrap_every_tree_sees_every_row():
    forest = regressor(bootstrap=False, n_estimators=2).fit(X, Y)
    alone = dgtrees.DGTRegressor(3, max_epochs=20, validation_fraction=None, random_state=0)
    assert forest.score(X, Y) > 0.8 * alone.fit(X, Y).score(X, Y)
    assert len({tree.bias.tobytes() for tree in forest.forest_.trees}) == 2


@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_a_file_gives_the_same_forest_back(tmp_path, leaf):
    path = tmp_path / "forest.dgt"
    for forest, target in ((regressor(leaf=leaf, oob_score=True), Y), (classifier(), CLASSES)):
        forest.fit(X, target).save(path)
        copy = dgtrees.load(path)
        assert type(copy) is type(forest)
        assert np.array_equal(copy.predict(X), forest.predict(X))
        assert np.array_equal(copy.apply(X), forest.apply(X))
        assert np.array_equal(copy.feature_importances_, forest.feature_importances_)
        assert copy.get_params() == forest.get_params()
        assert getattr(copy, "oob_score_", None) == getattr(forest, "oob_score_", None)
        if target is Y:
            assert np.array_equal(copy.predict_interval(X), forest.predict_interval(X))
            far = copy.predict(1e6 * X)  # linear leaves stay within the targets' range
            assert far.min() >= Y.min() - 1e-9 and far.max() <= Y.max() + 1e-9
        with pytest.raises(ValueError, match="same rows"):
            copy.set_params(warm_start=True, n_estimators=5).fit(X, target)


def test_a_file_with_trees_missing_is_refused(tmp_path):
    from dgtrees.model import file

    path = tmp_path / "forest.dgt"
    regressor().fit(X, Y).save(path)
    header, arrays = file.read(path)
    for change in (
        {"forest.n_nodes": arrays["forest.n_nodes"][:2]},
        {"forest.n_nodes": np.array([], dtype=np.int32)},
        {"intervals.errors": arrays["intervals.errors"][:9]},
        {"feature_importances": arrays["feature_importances"][:2]},
    ):
        header.pop("arrays", None)
        file.write(path, header, arrays | change)
        with pytest.raises(ModelFileError):
            dgtrees.load(path)


def test_tables_with_text_and_gaps():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"size": X[:, 0], "colour": np.where(X[:, 1] > 0, "red", "blue")})
    frame.loc[::7, "size"] = np.nan
    forest = regressor().fit(frame, Y)
    assert forest.feature_importances_.shape == (2,)
    assert forest.feature_importances_.sum() == pytest.approx(1)
    assert forest.score(frame, Y) > 0.3


def test_shapes_of_apply_and_decision_path_are_scikit_learns():
    rows, labels = load_iris(return_X_y=True)
    forest = classifier(n_estimators=3).fit(rows, labels)
    leaves, (paths, starts) = forest.apply(rows), forest.decision_path(rows)
    assert leaves.shape == (150, 3)
    assert paths.shape == (150, starts[-1]) and len(starts) == 4
    for i, tree in enumerate(forest.forest_.trees):
        own = paths[:, starts[i] : starts[i + 1]]
        assert (own[np.arange(150), tree.n_nodes + leaves[:, i]] == 1).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"n_estimators": 0},
            "n_estimators must be a whole number of at least 1, or 'auto', got 0",
        ),
        ({"max_samples": 1.5}, "max_samples must be a share of the rows above 0 and at most 1"),
        ({"oob_score": True, "bootstrap": False}, "oob_score=True needs bootstrap=True"),
        ({"max_depth": -1}, "max_depth must be a whole number"),
        ({"recipe": "best"}, "recipe must be one of"),
    ],
)
def test_bad_parameters_are_named_and_nothing_is_half_fitted(change, message):
    forest = regressor(**change)
    with pytest.raises(ValueError, match=message):
        forest.fit(X, Y)
    assert not hasattr(forest, "forest_")
    with pytest.raises(ValueError, match="voting must be one of hard, soft, got 'loud'"):
        classifier(voting="loud").fit(X, CLASSES)


def test_oob_score_without_unseen_rows_says_so():
    weight = np.full(len(X), 1000.0)
    with pytest.warns(UserWarning, match="4 trees have seen all 240 rows"):
        forest = regressor(oob_score=True, max_epochs=1).fit(X, Y, sample_weight=weight)
    assert np.isnan(forest.oob_score_) and np.isnan(forest.oob_prediction_).all()
    with pytest.raises(StateError, match="smaller sample weights"):
        forest.predict_interval(X)
    quick = regressor(max_epochs=1, n_estimators=1)
    assert np.isfinite(quick.fit(X, Y, sample_weight=np.full(len(X), 1e18)).predict(X)).all()


def test_a_new_fit_forgets_how_the_last_one_was_judged(tmp_path):
    forest = regressor(oob_score=True, max_epochs=1).fit(X, Y)
    forest.set_params(bootstrap=False, oob_score=False).fit(X, Y)
    assert not hasattr(forest, "oob_score_") and not hasattr(forest, "oob_prediction_")
    with pytest.raises(StateError, match="intervals need rows"):
        forest.predict_interval(X)
    other = classifier(oob_score=True, max_epochs=1).fit(X, CLASSES)
    other.set_params(oob_score=False).fit(X, CLASSES).save(tmp_path / "f.dgt")
    assert not hasattr(dgtrees.load(tmp_path / "f.dgt"), "oob_score_")


@pytest.mark.parametrize("change", [{"max_samples": 0.3}, {"max_depth": 2}, {"leaf": "linear"}])
def test_warm_start_refuses_trees_of_another_kind(change):
    forest = regressor(max_epochs=1, n_estimators=1, warm_start=True).fit(X, Y)
    with pytest.raises(ValueError, match="trees of the same kind"):
        forest.set_params(n_estimators=2, **change).fit(X, Y)


def test_intervals_know_no_absolute_zero():
    near = regressor().fit(X, Y)._intervals.typical_spread
    far = regressor().fit(X, Y + 1e9)._intervals.typical_spread
    assert 0.5 < far[0] / near[0] < 2  # another order of rows, but no lost digits


def test_a_file_combines_trees_as_the_forest_did(tmp_path):
    forest = classifier(max_epochs=1).fit(X, CLASSES)
    forest.set_params(voting="hard").save(tmp_path / "f.dgt")
    copy = dgtrees.load(tmp_path / "f.dgt")
    assert np.array_equal(copy.predict_proba(X), forest.predict_proba(X))


def test_threads_give_the_same_forest_and_their_settings_back(fitted):
    before = threadpoolctl.threadpool_info()
    with joblib.parallel_config("threading", n_jobs=2):
        other = regressor(oob_score=True).fit(X, Y)
    assert np.array_equal(other.predict(X), fitted.predict(X))
    assert threadpoolctl.threadpool_info() == before


def test_a_class_of_weight_0_is_left_out_or_refused():
    weights = {"low": 0.0, "mid": 1.0, "high": 1.0}
    forest = classifier(class_weight=weights).fit(X, CLASSES)
    assert not np.any(forest.predict(X) == "low")
    with pytest.raises(ValueError, match="class weight 0"):
        classifier(n_estimators=10, class_weight={0: 0, 1: 1}).fit(X[:3], [0, 0, 1])
