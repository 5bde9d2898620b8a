"""Forests whose trees are chosen: what they have in common with all others, and what is theirs."""

import numpy as np
import pytest

import dgtrees
from dgtrees import DGTForestClassifier, DGTForestRegressor, contributions
from dgtrees.learn.members import MemberPlan

RNG = np.random.default_rng(0)
X = RNG.normal(size=(260, 4))
Y = 3 * X[:, 0] + np.sign(X[:, 1]) + 0.2 * RNG.normal(size=260)
CLASSES = np.where(Y > 1.5, "high", np.where(Y < -1.5, "low", "mid"))


def regressor(**changes):
    return DGTForestRegressor(**{"n_estimators": 12, "random_state": 0, **changes})


def classifier(**changes):
    return DGTForestClassifier(**{"n_estimators": 12, "random_state": 0, **changes})


@pytest.fixture(scope="module")
def numbers():
    return regressor(oob_score=True).fit(X[:200], Y[:200])


@pytest.fixture(scope="module")
def classes():
    return classifier(oob_score=True).fit(X[:200], CLASSES[:200])


def test_a_line_and_steps_are_learnt_with_a_base(numbers, classes):
    assert numbers.score(X[200:], Y[200:]) > 0.9
    assert numbers.chosen_.plan.penalty is not None
    assert numbers.forest_.combine == "sum" and numbers.forest_.base.linear
    assert numbers.oob_score_ > 0.9 and numbers.feature_importances_.argmax() == 0
    assert classes.score(X[200:], CLASSES[200:]) > 0.8
    assert classes.forest_.combine == "softmax" and classes.forest_.base is None
    assert abs(classes.oob_score_ - classes.score(X[200:], CLASSES[200:])) < 0.15


def test_the_choice_tells_what_was_tried(numbers):
    choice = numbers.chosen_
    assert isinstance(choice.plan, MemberPlan) and len(choice.errors) > 4
    assert choice.errors[choice.plan] == min(choice.errors.values())
    assert str(choice).count("<- kept") == 1


def test_the_number_of_trees_is_a_hundred_grown_or_thirty_trained():
    assert regressor(n_estimators="auto")._n_trees == 100
    assert regressor(n_estimators="auto", max_depth=3)._n_trees == 30
    assert len(regressor(n_estimators="auto").fit(X, Y).forest_) == 100


@pytest.mark.parametrize("leaf", ["auto", "constant"])
def test_warm_start_adds_trees_of_the_plan_that_was_chosen(leaf):
    at_once = regressor(leaf=leaf, oob_score=True).fit(X, Y)
    forest = regressor(leaf=leaf, oob_score=True, n_estimators=5, warm_start=True).fit(X, Y)
    forest.set_params(n_estimators=12).fit(X, Y)
    assert np.array_equal(forest.predict(X), at_once.predict(X))
    assert forest.oob_score_ == at_once.oob_score_
    assert np.allclose(forest.feature_importances_, at_once.feature_importances_)
    with pytest.raises(ValueError, match="trees of the same kind"):
        forest.set_params(n_estimators=13, max_leaves=4).fit(X, Y)


def test_two_processes_choose_and_grow_the_same_forest(numbers, classes):
    for model, y in ((numbers, Y), (classes, CLASSES)):
        other = type(model)(**{**model.get_params(), "n_jobs": 2}).fit(X[:200], y[:200])
        assert np.array_equal(other.forest_.predict(X), model.forest_.predict(X))
        assert other.chosen_ == model.chosen_


def test_a_file_gives_the_same_forest_back(numbers, classes, tmp_path):
    for model in (numbers, classes):
        model.save(tmp_path / "forest.dgt")
        copy = dgtrees.load(tmp_path / "forest.dgt")
        assert np.array_equal(copy.predict(X), model.predict(X))
        assert copy.get_params() == model.get_params() and copy.oob_score_ == model.oob_score_
    numbers.save(tmp_path / "forest.dgt")
    copy = dgtrees.load(tmp_path / "forest.dgt")
    assert np.array_equal(copy.predict_interval(X), numbers.predict_interval(X))


def test_contributions_add_up_to_the_answer(numbers):
    found = contributions(numbers, X[:20])
    inside = np.abs(numbers.predict(X[:20])) < np.abs(Y[:200]).max() - 0.5  # not at a bound
    assert np.allclose(found.predictions[inside], numbers.predict(X[:20])[inside])


def test_probabilities_are_a_power_of_the_trees_mean_shares():
    X = np.random.default_rng(3).normal(size=(1500, 6))
    y = (X @ [1.0, -1.0, 1.0, 0.5, 0.5, -1.0] > 0).astype(int)
    classes = classifier(n_estimators=40).fit(X[:900], y[:900])
    answer, shares = classes.model_.answer, classes.model_.outputs(X)
    assert answer.exponent > 1.2  # trees that differ are right more often than they agree
    powers = shares**answer.exponent
    said = classes.predict_proba(X)
    assert np.allclose(said, powers / powers.sum(axis=1, keepdims=True))
    sharp, even = (np.log(p[np.arange(1500), y])[900:].mean() for p in (said, shares))
    assert sharp > even
    found = contributions(classes, X[:20])
    assert found.output == "share" and np.allclose(found.predictions, shares[:20])
    with pytest.raises(ValueError, match="output must be share here, got 'probability'"):
        contributions(classes, X[:20], output="probability")


def test_class_weights_multiply_probabilities_not_shares():
    weight = {"low": 6.0, "mid": 1.0, "high": 1.0}
    heavy = classifier(class_weight=weight).fit(X, CLASSES)
    new = RNG.normal(size=(500, 4))
    weighed = heavy.predict_proba(new) * [weight[c] for c in heavy.classes_]
    assert np.array_equal(heavy.classes_[weighed.argmax(axis=1)], heavy.predict(new))


def test_values_beyond_those_of_training_stay_in_its_range(numbers):
    far = numbers.predict(np.vstack([1e9 * X[:20], -1e9 * X[:20]]))
    assert far.min() >= Y[:200].min() and far.max() <= Y[:200].max()


def test_intervals_are_as_wide_as_the_errors(numbers):
    low, high = numbers.predict_interval(X[200:], coverage=0.9).T
    assert 0.7 < np.mean((low <= Y[200:]) & (Y[200:] <= high)) <= 1.0
    assert np.median(high - low) < 4 * np.std(Y[200:] - numbers.predict(X[200:]))


def test_several_outputs_weights_gaps_and_categories():
    several = regressor(n_estimators=4).fit(X, np.stack([Y, -100 * Y], axis=1))
    assert several.predict(X).shape == (260, 2) and several.score(X, np.c_[Y, -100 * Y]) > 0.9
    assert several.predict_interval(X).shape == (260, 2, 2)
    weight = RNG.integers(0, 3, size=len(X))
    a = regressor(n_estimators=4).fit(X, Y, sample_weight=weight)
    b = regressor(n_estimators=4).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
    assert np.array_equal(a.predict(X), b.predict(X))
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"size": X[:, 0], "sign": np.where(X[:, 1] > 0, "up", "down")})
    frame.loc[::7, "size"] = np.nan
    assert classifier().fit(frame, CLASSES).score(frame, CLASSES) > 0.8


def test_class_weights_move_decisions_and_votes_are_counted():
    plain = classifier(voting="hard").fit(X, CLASSES)
    heavy = classifier(class_weight={"low": 30.0, "mid": 1.0, "high": 1.0}).fit(X, CLASSES)
    new = RNG.normal(size=(500, 4))
    assert np.mean(heavy.predict(new) == "low") > np.mean(plain.predict(new) == "low")
    votes = 12 * plain.predict_proba(new)
    assert np.allclose(votes, np.round(votes)) and np.allclose(votes.sum(axis=1), 12)


def test_leaves_are_few_or_all_rows_are_seen_where_that_is_said():
    small = classifier(max_leaves=5).fit(X, CLASSES)
    assert max(tree.n_leaves for tree in small.forest_.trees) == 5
    whole = regressor(bootstrap=False, n_estimators=3, leaf="constant").fit(X, Y)
    assert whole.score(X, Y) > 0.8 and whole.forest_.base is None
    linear = regressor(n_estimators=3, leaf="linear").fit(X, Y)
    assert linear.forest_.base is not None


def test_validation_rows_choose():
    forest = regressor().fit(X[:200], Y[:200], X_val=X[200:], y_val=Y[200:])
    assert forest.chosen_.errors != regressor().fit(X[:200], Y[:200]).chosen_.errors
    assert forest.score(X[200:], Y[200:]) > 0.9


def test_whoever_says_how_to_train_gets_trained_trees():
    forest = classifier(n_estimators=2, max_epochs=1, max_leaves=8).fit(X, CLASSES)
    assert not hasattr(forest, "chosen_") and forest.forest_.depth == 3
    forest.set_params(max_epochs=None).fit(X, CLASSES)
    assert hasattr(forest, "chosen_")
    forest.set_params(max_depth=2, max_leaves=None, max_epochs=1).fit(X, CLASSES)
    assert not hasattr(forest, "chosen_") and forest.forest_.depth <= 2


def test_a_constant_target_and_a_constant_column():
    assert (regressor(n_estimators=2).fit(X, np.full(260, 4.5)).predict(X) == 4.5).all()
    flat = np.column_stack([np.ones(260), X[:, 1] > 0])
    assert (
        np.corrcoef(regressor(n_estimators=4).fit(flat, Y).predict(flat), X[:, 1] > 0)[0, 1] > 0.9
    )
    alone = classifier(n_estimators=2).fit(np.ones((6, 1)), [0, 0, 1, 1, 1, 1])
    assert (alone.predict(np.ones((2, 1))) == 1).all()
