"""Hinge starts: small trees whose linear leaves meet where they are cut."""

from dataclasses import replace

import numpy as np
import pytest

from dgtrees import DGTRegressor
from dgtrees.learn.descent import Descent
from dgtrees.learn.hinges import MOST_COLUMNS, hinge_start
from dgtrees.learn.recipe import RECIPES
from dgtrees.learn.trainer import Trainer
from dgtrees.tables.examples import Examples
from dgtrees.tree.oblique import ObliqueTree

LINEAR = RECIPES["default"]["regression, linear leaves"]


def rows(n=400, sign=1.0, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    return X, (sign * np.maximum(2 * X[:, 0], X[:, 1] - 1))[:, None]


def tree_of(start):
    return ObliqueTree(
        start.weights, start.bias, start.left, start.right, start.values, start.slopes
    )


def begun(X, y, height=1, weight=None, seed=0):
    weight = np.ones(len(X)) if weight is None else weight
    return hinge_start(X, y, weight, height, np.random.default_rng(seed))


def error(start, X, y):
    return np.sqrt(np.mean((tree_of(start).predict(X) - y) ** 2)) / y.std()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_bend_is_found_whichever_way_it_turns(sign):
    X, y = rows(2000, sign=sign)  # many, beside which the penalty of 10 rows is small
    start = begun(X, y)
    assert error(start, X, y) < 0.05
    plane = np.linalg.lstsq(np.c_[X, np.ones(len(X))], y, rcond=None)[0]
    assert np.std(np.c_[X, np.ones(len(X))] @ plane - y) > 0.3 * y.std()
    # It is cut where both planes have one value: 2 x0 = x1 - 1.
    w = np.append(start.weights[0], start.bias[0])
    np.testing.assert_allclose(np.abs(w / w[0]), [1, 0.5, 0, 0.5], atol=0.1)


def test_leaves_are_ridge_regressions_of_their_rows():
    X, y = rows()
    tree = tree_of(begun(X, y, 2))
    leaf = tree.apply(X)
    for number in np.unique(leaf):
        A, target = np.c_[X, np.ones(len(X))][leaf == number], y[leaf == number]
        wanted = np.linalg.solve(A.T @ A + np.diag([10, 10, 10, 1e-6]), A.T @ target)[:, 0]
        found = np.append(tree.leaf_weights[number, 0], tree.leaf_values[number, 0])
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-8)


def test_a_weight_is_a_repetition():
    X, y = rows(100)
    count = np.random.default_rng(1).integers(1, 4, len(X))
    half = begun(np.repeat(X, count, axis=0), np.repeat(y, count, axis=0), 0)
    np.testing.assert_allclose(half.slopes, begun(X, y, 0, count.astype(float)).slopes, rtol=1e-6)
    # Weights that say nothing about a number of rows change nothing.
    one, small = begun(X, y), begun(X, y, weight=np.full(len(X), 1e-3))
    np.testing.assert_allclose(small.slopes, one.slopes, rtol=1e-6)


def test_few_rows_are_not_cut():
    X, y = rows(60)
    start = begun(X, y, 2)
    assert not start.weights.any()
    assert len(np.unique(tree_of(start).apply(X))) == 1
    assert np.allclose(start.slopes, start.slopes[0])


def test_several_outputs_share_the_cuts():
    X, y = rows()
    both = np.hstack([0.1 * X[:, :1], 3 * y])
    start = begun(X, both)
    assert start.values.shape == (2, 2) and start.slopes.shape == (2, 2, 3)
    assert error(start, X, both) < 0.1


def test_descent_sets_out_from_it():
    X, y = rows()
    start = begun(X, y, 2)
    recipe = replace(LINEAR, n_layers=1)
    tree = Descent(start, 3, "linear", recipe, False, 0).tree()
    np.testing.assert_allclose(tree.predict(X), tree_of(start).predict(X), atol=1e-4)


def test_the_first_try_is_random_and_others_begin_with_hinges():
    X, y = rows()
    examples = Examples(X, y, np.ones(len(X)))
    depths = [
        Trainer(
            examples, max_depth=3, leaf="linear", recipe=LINEAR.for_try(k), n_classes=0, seed=0
        ).descent.start.depth
        for k in range(5)
    ]
    assert depths == [3, 2, 3, 3, 3]
    assert [LINEAR.for_try(k).n_layers for k in range(5)] == [5, 1, 1, 1, 5]
    wide = Examples(np.zeros((90, MOST_COLUMNS + 1)), y[:90], np.ones(90))
    trainer = Trainer(
        wide, max_depth=3, leaf="linear", recipe=LINEAR.for_try(1), n_classes=0, seed=0
    )
    assert trainer.descent.start.weights is None


def test_a_bend_is_learnt_better_than_from_random_nodes():
    X, y = rows(1500)
    noisy = y[:, 0] + 0.3 * np.random.default_rng(2).normal(size=len(y))
    options = {"max_depth": 4, "leaf": "linear", "random_state": 0}
    losses = [
        np.mean((model.fit(X[:700], noisy[:700]).predict(X[700:]) - y[700:, 0]) ** 2)
        for model in (
            DGTRegressor(recipe=replace(LINEAR, start="random"), **options),
            DGTRegressor(**options),
        )
    ]
    assert losses[1] < losses[0]


@pytest.mark.parametrize("bent", [True, False])
def test_training_goes_on_from_the_try_that_was_kept(bent):
    X, y = rows(700) if bent else (np.random.default_rng(0).normal(size=(700, 3)), None)
    y = np.sin(3 * X[:, 0]) * np.sign(X[:, 1] * X[:, 2]) if y is None else y[:, 0]
    model = DGTRegressor(max_depth=4, leaf="linear", max_epochs=6, random_state=0, warm_start=True)
    model.fit(X, y)
    kept = model._trainer_.recipe
    layers = model._trainer_.descent.start.depth, kept.n_layers
    assert model.fit(X, y).n_iter_ == 12
    model.partial_fit(X[:100], y[:100])
    after = model._trainer_
    assert (after.descent.start.depth, after.recipe.n_layers) == layers
    assert after.recipe.going_on(kept) == after.recipe or after.recipe.start == kept.start
