"""Standardised rows, and the way back."""

import numpy as np
import pytest

from dgtrees.learn.standard import Standard
from dgtrees.tables.examples import Examples
from exported import random_tree


def examples(n=100, d=4, classes=0, seed=0):
    rng = np.random.default_rng(seed)
    X = 5.0 + 3.0 * rng.normal(size=(n, d))
    y = rng.integers(classes, size=n) if classes else 7.0 + 2.0 * rng.normal(size=(n, 2))
    return Examples(X, y, rng.integers(1, 4, n).astype(float))


def test_columns_and_targets_have_weighted_mean_0_and_deviation_1():
    rows = examples()
    standard = Standard(rows, 0)
    for values in (standard.inputs(rows.X), standard.targets(rows)):
        np.testing.assert_allclose(np.average(values, axis=0, weights=rows.weight), 0, atol=1e-6)
        squares = np.average(np.square(values), axis=0, weights=rows.weight)
        np.testing.assert_allclose(squares, 1, rtol=1e-5)
    assert standard.inputs(rows.X).dtype == np.float32


def test_targets_may_range_from_0_to_1():
    rows = examples()
    standard = Standard(rows, 0, target_scaling="range")
    targets = standard.targets(rows)
    assert (targets.min(axis=0) == 0).all()
    np.testing.assert_allclose(targets.max(axis=0), 1)
    np.testing.assert_array_equal(standard.inputs(rows.X), Standard(rows, 0).inputs(rows.X))
    tree = random_tree(np.random.default_rng(1), 4, 2)
    expected = tree.predict((rows.X - standard.center) / standard.scale)
    expected = expected * np.ptp(rows.y, axis=0) + rows.y.min(axis=0)
    np.testing.assert_allclose(standard.unscale(tree).predict(rows.X), expected, rtol=1e-9)
    same = Examples(rows.X, np.full((100, 2), 0.1), rows.weight)
    assert (Standard(same, 0, target_scaling="range").targets(same) == 0).all()


def test_targets_may_stay_as_they_are():
    rows = examples()
    standard = Standard(rows, 0, target_scaling="none")
    np.testing.assert_array_equal(standard.targets(rows), rows.y)
    np.testing.assert_array_equal(standard.inputs(rows.X), Standard(rows, 0).inputs(rows.X))
    tree = random_tree(np.random.default_rng(1), 4, 2)
    expected = tree.predict((rows.X - standard.center) / standard.scale)
    np.testing.assert_allclose(standard.unscale(tree).predict(rows.X), expected, rtol=1e-9)


def test_classes_are_one_hot():
    rows = examples(classes=3)
    targets = Standard(rows, 3).targets(rows)
    assert targets.shape == (100, 3)
    np.testing.assert_array_equal(targets.argmax(axis=1), rows.y)
    assert (targets.sum(axis=1) == 1).all()


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("size", [1.0, 1e100, 1e-100])
def test_an_unscaled_tree_answers_as_the_scaled_one(linear, size):
    rows = examples()
    rows = Examples(rows.X * size, rows.y, rows.weight)
    standard = Standard(rows, 0)
    tree = random_tree(np.random.default_rng(1), 4, 3, linear=linear)
    scaled = tree.predict((rows.X - standard.center) / standard.scale)
    expected = scaled * standard.y_scale + standard.y_center
    np.testing.assert_allclose(standard.unscale(tree).predict(rows.X), expected, rtol=1e-9)


def test_a_constant_target_is_its_mean_whatever_the_tree_says():
    rows = examples()
    rows = Examples(rows.X, np.full((100, 2), 0.1), rows.weight)
    standard = Standard(rows, 0)
    assert (standard.targets(rows) == 0).all()
    tree = standard.unscale(random_tree(np.random.default_rng(1), 4, 3, linear=True))
    np.testing.assert_array_equal(tree.predict(rows.X), rows.y)


@pytest.mark.parametrize("linear", [False, True])
def test_constant_columns_have_no_weight(linear):
    rows = examples()
    rows.X[:, 2] = 1e6 / 3
    standard = Standard(rows, 0)
    assert standard.constant.tolist() == [False, False, True, False]
    tree = random_tree(np.random.default_rng(1), 4, 3, linear=linear)
    without = standard.without_constants(tree)
    assert (without.weights[:, 2] == 0).all() and (without.weights[:, 0] != 0).all()
    X = standard.inputs(rows.X)
    np.testing.assert_array_equal(tree.predict(X), without.predict(X))
    far = rows.X.copy()
    far[:, 2] = 0.0  # what never varied does not count later either
    back = standard.unscale(without)
    np.testing.assert_array_equal(back.apply(far), back.apply(rows.X))
