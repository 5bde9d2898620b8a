"""GuidedDescent: the engine's step, with slopes from outside."""

from dataclasses import replace

import numpy as np
import pytest

from dgtrees.learn.descent import Descent
from dgtrees.learn.guided import GuidedDescent, count_parameters
from dgtrees.learn.layout import make_space
from dgtrees.learn.recipe import RECIPES, Recipe
from dgtrees.learn.rows import Rows
from dgtrees.learn.starts import random_start

X = np.random.default_rng(0).normal(size=(96, 3))
Y = np.sin(X[:, 0]) + (X[:, 1] > 0)
PAPER = replace(
    RECIPES["paper"]["regression"], n_layers=2, hidden=9, batch_size=32, steps=9, l1=1e-4
)


def _squared(prediction, target):
    return np.square(prediction - target)[:, 0], 2 * (prediction - target)


@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_slopes_of_a_known_loss_train_as_the_loss_does(leaf):
    guided = GuidedDescent(3, 3, leaf, PAPER, seed=4)
    start = random_start(3, 1, np.random.default_rng([4, 1]), uniform=True)
    recipe = replace(PAPER, loss=_squared)
    descent = Descent(start, 3, leaf, recipe, False, 4)
    run = descent.begin(Rows(np.zeros((32, 3), "f4"), np.zeros((32, 1), "f4")), recipe, epochs=1)
    run.space = make_space(run.layout, 1)
    for step in range(9):
        some = slice(32 * (step % 3), 32 * (step % 3) + 32)
        rows = Rows(X[some].astype("f4"), Y[some, None].astype("f4"))
        factor = float(recipe.rate_factor(np.array([step / 9]))[0])
        told = run.settings_at(step / 9), *(rate * factor for rate in run.rates)
        before = guided.descent.parameters.values.copy()
        run.step_on(rows, 0, *told)
        outputs = run.space.state.buffers.outputs[:32]
        guided.step(X[some], 2 * (outputs - rows.y[:, 0]))
        np.testing.assert_array_equal(guided.descent.parameters.values, descent.parameters.values)
        assert np.abs(before - guided.descent.parameters.values).max() > 0


def test_the_rate_falls_and_stays_low_after_the_last_step():
    recipe = Recipe(optimizer="sgd", learning_rate=0.1, leaf_learning_rate=0.1, steps=4)
    guided = GuidedDescent(3, 2, "constant", recipe, seed=0)
    sizes = []
    for _ in range(6):
        before = guided.descent.parameters.values.copy()
        guided.step(X[:32], np.ones(32))
        sizes.append(np.abs(guided.descent.parameters.values - before).max())
    assert sizes[0] > sizes[1] > sizes[2] > sizes[3] > 1e3 * sizes[4]
    assert max(sizes[4:]) < 1e-6  # a cosine would begin anew


def test_packed_arrays_go_on_the_same_way():
    one, other = (GuidedDescent(3, 2, "constant", PAPER, seed=1) for _ in range(2))
    for i in range(5):
        one.step(X[:32], np.cos(Y[:32] + i))
    other.restore(one.pack())
    for guided in (one, other):
        guided.step(X[32:64], np.cos(Y[32:64]))
    np.testing.assert_array_equal(one.tree.weights, other.tree.weights)
    assert other.steps == 6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": np.zeros(3, "f4")}, "values must be"),
        ({"first": np.full(1, np.nan, "f4")}, "first must be"),
        ({"steps": np.array([-1, 0], "i4")}, "two counts"),
        ({"steps": np.array([1], "i4")}, "two counts"),
    ],
)
def test_arrays_of_another_tree_are_refused(change, message):
    guided = GuidedDescent(3, 2, "constant", PAPER, seed=1)
    with pytest.raises(ValueError, match=message):
        guided.restore(guided.pack() | change)


@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_parameters_are_counted_without_making_them(leaf):
    guided = GuidedDescent(3, 4, leaf, PAPER, seed=0)
    assert count_parameters(3, 4, leaf, PAPER) == guided.descent.parameters.values.size
