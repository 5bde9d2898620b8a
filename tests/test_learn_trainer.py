"""Trainer: scaling, and what follows training."""

from dataclasses import replace

import numpy as np
import pytest

from dgtrees.learn.recipe import RECIPES, Recipe
from dgtrees.tables.examples import Examples
from training_rows import examples, trainer


def test_scaling():
    rng = np.random.default_rng(0)
    values = np.stack([rng.normal(size=5000), rng.normal(size=5000)], axis=1)
    values[0, 1] = 1000.0
    rows = Examples(values, values[:, :1], np.ones(5000))
    scales = {name: trainer(rows, Recipe(scaling=name)).scale for name in ("standard", "absolute")}
    assert scales["standard"][1] > 10
    assert scales["absolute"] == pytest.approx([1.0, 1.25], rel=0.05)


@pytest.mark.parametrize("linear", [False, True])
def test_an_exact_refit_never_raises_the_training_error(linear):
    rows = examples()
    run = trainer(
        rows,
        Recipe(epochs=3, refit_strength=None),
        leaf="linear" if linear else "constant",
    )
    run.fit(rows)
    before = np.square(run.harden().predict(rows.X) - rows.y).mean()
    run.recipe = replace(run.recipe, refit_strength=0.0)
    tree, _ = run.finish(rows)
    assert np.square(tree.predict(rows.X) - rows.y).mean() <= before + 1e-12


def test_leaves_reached_only_by_noise_are_kept():
    rows = examples(rows=40, classes=2)
    recipe = replace(RECIPES["default"]["classification"], epochs=5, input_noise=1.0)
    noisy = trainer(rows, recipe, classes=2, depth=6)
    noisy.fit(rows)
    kept = noisy.finish(rows)[0].n_leaves
    noisy.recipe = replace(recipe, input_noise=0.0)
    assert noisy.finish(rows)[0].n_leaves < kept
