"""Trainer: scaling, and what follows training."""

from dataclasses import replace

import numpy as np
import pytest

import reference
from dgtrees.learn.recipe import RECIPES, Recipe
from dgtrees.learn.trainer import Trainer
from dgtrees.tables.examples import Examples
from training_rows import examples, parts_of, trainer


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


def same(one, other):
    names = ("weights", "bias", "left", "right", "leaf_values")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


SHORT = Recipe(epochs=4, batch_size=32, min_batches=1, averaging=0.1, input_noise=0.1)


@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_the_hard_tree_is_on_unscaled_inputs_and_outputs(leaf):
    rows = examples()
    rows = Examples(100 + 20 * rows.X, 7 + 3 * rows.y, rows.weight)
    made = trainer(rows, SHORT, leaf=leaf)
    made.fit(rows)
    standardised = made.descent.tree().predict(made.standard.inputs(rows.X))
    wanted = made.standard.y_center + made.standard.y_scale * standardised
    np.testing.assert_allclose(made.harden().predict(rows.X), wanted, rtol=1e-6)


@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_the_papers_network_is_multiplied_out_with_all_its_biases(leaf):
    rows = examples()
    rows = Examples(100 + 20 * rows.X, 7 + 3 * rows.y, rows.weight)
    preset = RECIPES["paper"]["regression"]
    assert preset.layer_biases and preset.output_bias
    recipe = replace(preset, n_layers=3, hidden=(9, 8), l1=1e-6, epochs=20, batch_size=32)
    made = trainer(rows, recipe, leaf=leaf)
    made.fit(rows)
    layout = made.descent.layout(32)
    P = made.descent.parameters.values
    layers, values, slopes = parts_of(layout, P)
    assert all(bias is not None and np.abs(bias).max() > 1e-3 for _, bias in layers)
    assert abs(P[layout.output_bias_at]) > 1e-3
    X = made.standard.inputs(rows.X).astype(np.float64)
    a = X
    for W, bias in layers:
        a = a @ W.T + bias
    reached = [reference.hard_leaf(row, layout.left, layout.right) for row in a]
    outputs = values[reached] + np.einsum("nkd,nd->nk", slopes[reached], X)
    outputs = outputs + P[layout.output_bias_at]
    low, high = rows.y.min(), rows.y.max()
    wanted = low + (high - low) * outputs
    np.testing.assert_allclose(made.harden().predict(rows.X), wanted, rtol=1e-5)


def test_a_fit_is_a_run_begun_advanced_and_ended():
    rows, held = examples(), examples(60, seed=1)
    one, other = trainer(rows, SHORT), trainer(rows, SHORT)
    run = other.begin(rows, held)
    for until in range(1, 5):
        run.advance(until)
    assert one.fit(rows, held) == other.end(run)
    assert same(one.harden(), other.harden())
    assert one.epochs == other.epochs == 4


def test_weights_count_by_their_ratio_and_equal_ones_not_at_all():
    rows = examples(classes=2)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(rows.y))

    def fitted(weight):
        weighed = replace(rows, weight=weight)
        made = trainer(weighed, replace(SHORT, optimizer="sgd"), classes=2)
        made.fit(weighed)
        return made.harden()

    assert same(fitted(np.full(200, 8.0)), fitted(np.ones(200)))
    np.testing.assert_allclose(
        fitted(weight).leaf_values, fitted(1024 * weight).leaf_values, rtol=1e-4
    )
    assert not same(fitted(weight), fitted(np.ones(200)))


@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_a_column_that_never_varies_has_no_say_until_it_does(leaf):
    rows = examples()
    rows.X[:, 2] = 5.0
    made = trainer(rows, SHORT, leaf=leaf)
    made.fit(rows)
    tree = made.harden()
    assert (tree.weights[:, 2] == 0).all() and (tree.weights[:, 0] != 0).all()
    assert leaf == "constant" or (tree.leaf_weights[:, :, 2] == 0).all()
    later = Examples(rows.X.copy(), rows.y, rows.weight)
    later.X[0, 2] = 6.0
    made.fit(later)
    assert (made.harden().weights[:, 2] != 0).all()


@pytest.mark.parametrize("validated", [False, True])
def test_a_fit_that_fails_changes_nothing(validated):
    rows = examples()
    rows.X[:, 2] = 5.0
    made, other = trainer(rows, SHORT), trainer(rows, SHORT)
    held = examples(60, seed=1) if validated else None

    def fail(epoch, n_epochs, metrics):
        if epoch == 3:
            raise KeyError("enough")

    varied = Examples(rows.X + np.arange(4) * np.arange(200)[:, None], rows.y, rows.weight)
    before = made.harden()
    with pytest.raises(KeyError, match="enough"):
        made.fit(varied, held, callbacks=(fail,))
    assert same(made.harden(), before)
    assert made.epochs == 0 and made.standard.constant[2]
    # And what comes next is what would have come without it.
    assert made.fit(rows, held) == other.fit(rows, held)
    assert same(made.harden(), other.harden())


def test_a_constant_target_is_every_leafs():
    rows = examples()
    rows.y[:] = 3.25
    made = trainer(rows, SHORT)
    made.fit(rows)
    assert (made.finish(rows)[0].predict(rows.X) == 3.25).all()


def test_finishing_drops_leaves_that_no_row_comes_to_and_keeps_the_answers():
    rows = examples(rows=30)
    made = trainer(rows, replace(SHORT, input_noise=0.0, refit_strength=None), depth=6)
    made.fit(rows)
    tree, importance = made.finish(rows)
    assert tree.n_leaves <= 30 < made.harden().n_leaves
    np.testing.assert_allclose(tree.predict(rows.X), made.harden().predict(rows.X))
    assert importance.sum() == pytest.approx(1.0) and (importance >= 0).all()


def test_running_importance_adds_up_over_batches():
    rows = examples()
    made = trainer(rows, SHORT)
    made.fit(rows)
    first = made.running_importance(rows)
    assert first.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(made.running_importance(rows), first)


def test_another_engine_trains_in_descents_place():
    class Engine:
        def __init__(self, *told):
            self.told = told

    made = Trainer(
        examples(classes=2),
        max_depth=2,
        leaf="linear",
        recipe=SHORT,
        n_classes=2,
        seed=7,
        engine=Engine,
    )
    assert made.descent.told == (4, 2, 2, "linear", SHORT, 7, True)
