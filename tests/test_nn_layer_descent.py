"""A tree trained by torch: it learns, goes on, and can be taken back."""

import numpy as np
import pytest

from dgtrees.learn.recipe import RECIPES, Recipe
from dgtrees.learn.rows import Rows
from nn_rows import descent, rows

QUICK = {"epochs": 30, "learning_rate": 1e-2, "leaf_learning_rate": 5e-2, "averaging": 0.1}


@pytest.mark.parametrize("optimizer", ["adamw", "rmsprop"])
@pytest.mark.parametrize("leaf", ["constant", "linear"])
@pytest.mark.parametrize("quantizer", ["lsq", "annealed"])
def test_it_learns_classes_and_values(quantizer, leaf, optimizer):
    recipe = Recipe(quantizer=quantizer, n_layers=2, hidden=16, optimizer=optimizer, **QUICK)
    train, new = rows(600, classes=True), rows(200, classes=True, seed=1)
    run = descent(recipe, classes=True, leaf=leaf)
    result = run.fit(train, new)
    outputs = run.tree().predict(new.X)
    assert (outputs.argmax(axis=1) == new.y).mean() == pytest.approx(result.best_score)
    assert result.best_score > 0.85
    train, new = rows(600), rows(200, seed=1)
    run = descent(recipe, leaf=leaf)
    run.fit(train, new)
    assert np.square(run.tree().predict(new.X) - new.y).mean() < 0.5 * new.y.var()


def test_what_it_is():
    run = descent(Recipe(quantizer="lsq"), classes=True, leaf="linear", depth=2)
    assert (run.n_features, run.n_outputs, run.max_depth, run.leaf) == (4, 2, 2, "linear")
    assert run.tree().n_leaves == 4


@pytest.mark.parametrize("quantizer", ["lsq", "annealed"])
def test_the_seed_decides_everything(quantizer):
    recipe = Recipe(quantizer=quantizer, epochs=3, input_noise=0.1, averaging=0.1)
    trees = []
    for seed in (0, 0, 1):
        run = descent(recipe, seed=seed)
        run.fit(rows(), rows(seed=1))
        trees.append(run.tree())
    assert np.array_equal(trees[0].weights, trees[1].weights)
    assert np.array_equal(trees[0].leaf_values, trees[1].leaf_values)
    assert not np.array_equal(trees[0].weights, trees[2].weights)


@pytest.mark.parametrize("quantizer", ["lsq", "annealed"])
def test_a_state_brings_back_all_that_a_fit_changes(quantizer):
    recipe = Recipe(quantizer=quantizer, epochs=3, input_noise=0.1, momentum=0.5)
    run = descent(recipe)
    run.fit(rows(), None)
    state, before = run.state(), run.tree()
    trees = []
    for _ in range(3):
        run.fit(rows(), None)
        trees.append(run.tree())
        run.restore(state)
        assert np.array_equal(run.tree().weights, before.weights)
    assert not np.array_equal(trees[0].weights, before.weights)
    assert all(np.array_equal(tree.weights, trees[0].weights) for tree in trees)


def test_a_weight_of_two_is_a_row_given_twice():
    recipe = Recipe(quantizer="lsq", epochs=5, batch_size=1000)
    plain = rows(100)
    twice = Rows(*(np.concatenate([a, a[:50]]) for a in (plain.X, plain.y)))
    weight = np.repeat([2.0, 1.0], 50).astype(np.float32)
    heavy = Rows(plain.X, plain.y, weight / weight.mean())
    runs = [descent(recipe) for _ in range(2)]
    for run, train in zip(runs, (twice, heavy), strict=True):
        run.fit(train, None)
    # The step's first size is that of the rows without their weights.
    values = [run.tree().leaf_values for run in runs]
    np.testing.assert_allclose(*values, atol=0.05)


def test_the_default_recipe_takes_any_quantizer():
    from dataclasses import replace

    recipe = replace(RECIPES["default"]["classification"], quantizer="lsq", epochs=3)
    assert descent(recipe, classes=True).fit(rows(classes=True), None).n_epochs == 3


def test_other_epochs_than_the_recipes():
    run = descent(Recipe(quantizer="lsq", epochs=9))
    assert run.fit(rows(), None, epochs=2).n_epochs == 2
