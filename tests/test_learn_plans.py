"""Plans, and the trees that they become."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dgtrees.learn.plans import Beside, Plan, Table, fit_plan

PLANS = {
    "constant": Plan(),
    "linear": Plan(penalty=1.0),
    "grown": Plan(max_leaves=12, min_rows=5, strength=3.0),
    "linear and grown": Plan(1.0, 12, 5, strength=3.0),
    "descended": Plan(max_leaves=12, min_rows=5, epochs=10, strength=3.0, learnt=0.5),
    "linear and descended": Plan(1.0, 12, 5, epochs=10, strength=3.0, learnt=0.5),
    "layered": Plan(max_depth=4, noise=0.1, epochs=60, strength=1.0, learnt=1.0),
    "linear and layered": Plan(1.0, max_depth=4, noise=0.1, epochs=60, strength=1.0, learnt=0.5),
}
by_plan = pytest.mark.parametrize("plan", PLANS.values(), ids=list(PLANS))
by_classes = pytest.mark.parametrize("classes", [0, 2, 3])


def table(n=150, classes=0, seed=0, weighted=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    signal = X[:, 0] + 2 * np.abs(X[:, 1]) + 0.5 * rng.normal(size=n)
    weight = rng.integers(1, 4, n).astype(float) if weighted else np.ones(n)
    if classes:
        target = np.eye(classes)[np.digitize(signal, np.arange(1, classes))]
        return Table(X, target, weight, True)
    signal = (signal - signal.mean()) / signal.std()
    return Table(X, np.stack([signal, -signal * signal], axis=1), weight, False)


@by_plan
@by_classes
def test_a_plan_says_how_many_leaves_there_are_and_what_they_hold(plan, classes):
    rows = table(classes=classes)
    tree = fit_plan(rows, plan, seed=1)
    most = 2**plan.max_depth if plan.max_depth else plan.max_leaves
    assert 1 <= tree.n_leaves <= most
    assert tree.n_leaves > 1 or most == 1
    assert tree.linear == (plan.penalty is not None)
    if tree.linear:
        assert (tree.leaf_weights == tree.leaf_weights[0]).all()  # one function for all
    assert tree.n_outputs == rows.target.shape[1]


@by_plan
@by_classes
def test_every_plan_but_a_constant_learns_and_is_the_same_for_a_seed_and_any_threads(plan, classes):
    rows = table(classes=classes)
    tree = fit_plan(rows, plan, seed=1, n_threads=1)
    again = fit_plan(rows, plan, seed=1, n_threads=2)
    for name in ("weights", "bias", "left", "right", "leaf_values", "leaf_weights"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(again, name))
    loss = np.average(rows.losses(tree.predict(rows.X)), weights=rows.weight)
    blind = fit_plan(rows, Plan(), seed=1)
    known = np.average(rows.losses(blind.predict(rows.X)), weights=rows.weight)
    assert loss < 0.95 * known or plan == Plan()


def test_a_constant_is_the_mean_or_the_shares():
    rows = table()
    mean = np.average(rows.target, axis=0, weights=rows.weight)
    np.testing.assert_allclose(fit_plan(rows, Plan(), 0).leaf_values[0], mean)
    rows = table(classes=3)
    shares = np.average(rows.target, axis=0, weights=rows.weight)
    np.testing.assert_allclose(np.exp(fit_plan(rows, Plan(), 0).leaf_values[0]), shares)


@by_classes
def test_a_linear_plan_is_the_linear_model(classes):
    rows = table(classes=classes)
    (model,) = rows.linear((1.0,))
    tree = fit_plan(rows, Plan(penalty=1.0), 0)
    np.testing.assert_allclose(tree.predict(rows.X), model.predict(rows.X), rtol=1e-9)


@by_classes
@pytest.mark.parametrize("size", [2, 9, 40])
def test_a_grown_plan_that_leans_on_nothing_is_cart(classes, size):
    rows = table(classes=classes)
    kind = DecisionTreeClassifier if classes else DecisionTreeRegressor
    cart = kind(max_leaf_nodes=size, random_state=3)
    cart.fit(rows.X, rows.labels, sample_weight=rows.weight)
    found = fit_plan(rows, Plan(max_leaves=size), 3).predict(rows.X)
    if classes:
        floor = 0.5 / (rows.weight.sum() + 1)
        expected = np.log(np.maximum(cart.predict_proba(rows.X), floor))
    else:
        expected = cart.predict(rows.X)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@by_classes
def test_leaves_beside_a_linear_function_are_newton_steps(classes):
    rows = table(classes=classes)
    (model,) = rows.linear((100.0,))
    beside, step = Beside(rows, model), 1e-5
    for k in range(rows.target.shape[1]):
        moved = np.zeros(rows.target.shape[1])
        moved[k] = step
        losses = [rows.losses(model.predict(rows.X) + sign * moved) for sign in (-1, 0, 1)]
        factor = 1.0 if classes else 1.0 / 2 * rows.target.shape[1]  # of a mean of squares
        slope = factor * rows.weight * (losses[2] - losses[0]) / (2 * step)
        np.testing.assert_allclose(beside.sums[:, k], -slope, atol=1e-6)
        if classes:
            bend = rows.weight * (losses[2] - 2 * losses[1] + losses[0]) / step**2
            np.testing.assert_allclose(beside.mass[:, k], bend, atol=1e-4)


@pytest.mark.parametrize("penalty", [None, 1.0])
@by_classes
def test_sums_of_a_grown_tree_are_those_of_the_rows_that_pass(penalty, classes):
    rows = table(classes=classes)
    beside = Beside(rows, None if penalty is None else rows.linear((penalty,))[0])
    grown = beside.grow(20, 5, 0)
    paths = grown.paths(rows.X)
    expected = np.zeros((len(grown.left), beside.stacked.shape[1]))
    for values, path in zip(beside.stacked, paths, strict=True):
        for place in np.unique(path):
            expected[place] += values
    np.testing.assert_allclose(beside.grown_sums(grown, paths), expected, atol=1e-9)


def test_mixtures_of_shares_are_shares_and_of_values_values():
    own, learnt = np.log([[0.2, 0.8]]), np.log([[0.6, 0.4]])
    shares = Beside(table(classes=2), None)
    np.testing.assert_allclose(np.exp(shares.mix(own, learnt, 0.5)), [[0.4, 0.6]])
    assert shares.mix(own, learnt, 0.0) is own
    np.testing.assert_allclose(softmax(shares.mix(own, learnt + 3.0, 1.0)), [[0.6, 0.4]])
    values = Beside(table(), None)
    np.testing.assert_allclose(values.mix(own, learnt, 0.25), 0.75 * own + 0.25 * learnt)


def test_losses_are_log_loss_and_squared_error():
    rng = np.random.default_rng(0)
    rows = table(classes=3)
    outputs = 50 * rng.normal(size=(len(rows), 3))
    expected = log_loss(rows.labels, softmax(outputs, axis=1), sample_weight=rows.weight)
    found = np.average(rows.losses(outputs), weights=rows.weight)
    small = outputs / 50
    np.testing.assert_allclose(
        rows.losses(small), -log_softmax(small, axis=1)[rows.target == 1], rtol=1e-9
    )
    assert found >= expected - 1e-6  # scikit-learn cuts probabilities off
    assert np.isfinite(rows.losses(1e300 * outputs)).all()
    rows = table()
    outputs = rng.normal(size=rows.target.shape)
    expected = mean_squared_error(rows.target, outputs, sample_weight=rows.weight)
    np.testing.assert_allclose(np.average(rows.losses(outputs), weights=rows.weight), expected)


@by_plan
@by_classes
def test_hard_rows_are_no_hindrance(plan, classes):
    rows = table(12, classes=classes, weighted=False)
    X = rows.X.copy()
    X[:, 1] = X[:, 0]  # twice the same
    X[:, 2] = 0.0  # constant
    few = replace(plan, min_rows=min(plan.min_rows, 2))
    for hard in (Table(X, rows.target, rows.weight, rows.classification), rows.take([0, 5])):
        tree = fit_plan(hard, few, 0)
        assert np.isfinite(tree.predict(hard.X)).all()


def test_a_plan_reads_as_what_it_is():
    shown = {name: str(plan) for name, plan in PLANS.items()}
    assert shown["constant"] == "constant"
    assert shown["linear"] == "linear (penalty 1)"
    assert shown["grown"] == "grown to 12 leaves of 5+ rows"
    assert shown["descended"] == "grown to 12 leaves of 5+ rows, 10 epochs"
    assert (
        shown["linear and layered"]
        == "linear (penalty 1) + layers of height 4, noise 0.1, 60 epochs"
    )


def test_plans_of_the_same_tree_differ_in_their_leaves_and_epochs_only():
    plan = PLANS["descended"]
    assert plan.same_tree(replace(plan, epochs=30, strength=0.0, learnt=1.0))
    for change in ({"penalty": 1.0}, {"max_leaves": 4}, {"min_rows": 1}, {"start": 9.0}):
        assert not plan.same_tree(replace(plan, **change))
