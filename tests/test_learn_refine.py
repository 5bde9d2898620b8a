"""Leaves refitted in closed form, and the gains of splits."""

import numpy as np
import pytest

from dgtrees.learn import refine
from dgtrees.tree import ObliqueTree
from training_rows import examples


def little_tree(outputs=1, linear=False):
    rng = np.random.default_rng(1)
    return ObliqueTree.complete(
        rng.normal(size=(3, 4)),
        rng.normal(size=3),
        rng.normal(size=(4, outputs)),
        np.zeros((4, outputs, 4)) if linear else None,
    )


def test_refitted_constant_leaves_are_weighted_means():
    rows = examples()
    weight = np.random.default_rng(2).integers(0, 3, size=200).astype(float)
    tree = little_tree()
    leaves = tree.apply(rows.X)
    refitted = refine.refit_leaves(tree, rows.X, rows.y, weight, 0.0, False)
    for leaf in np.unique(leaves):
        here = leaves == leaf
        mean = np.average(rows.y[here, 0], weights=weight[here])
        assert refitted.leaf_values[leaf, 0] == pytest.approx(mean)
    pulled = refine.refit_leaves(tree, rows.X, rows.y, weight, 1e9, False)
    np.testing.assert_allclose(pulled.leaf_values, tree.leaf_values, rtol=1e-5)


def test_refitted_classes_are_shares():
    rows = examples(classes=2)
    tree = little_tree(outputs=2)
    target = np.eye(2)[rows.y]
    refitted = refine.refit_leaves(tree, rows.X, target, rows.weight, 0.0, True)
    leaves = tree.apply(rows.X)
    for leaf in np.unique(leaves):
        share = rows.y[leaves == leaf].mean()
        assert np.exp(refitted.leaf_values[leaf, 1]) == pytest.approx(share, abs=1e-9)


def test_a_leaf_without_rows_keeps_its_value():
    tree = little_tree()
    X = np.zeros((5, 4))
    refitted = refine.refit_leaves(tree, X, np.ones((5, 1)), np.ones(5), 0.0, False)
    empty = np.setdiff1d(np.arange(4), tree.apply(X))
    assert np.array_equal(refitted.leaf_values[empty], tree.leaf_values[empty])


def test_gains_are_the_errors_explained():
    rows = examples()
    tree = little_tree()
    leaves = tree.apply(rows.X)
    gains = refine.input_gains(tree, rows.X, rows.y, rows.weight)
    total = np.square(rows.y - rows.y.mean()).sum()
    within = sum(
        np.square(rows.y[leaves == leaf] - rows.y[leaves == leaf].mean()).sum()
        for leaf in np.unique(leaves)
    )
    assert gains.sum() == pytest.approx(total - within)
    assert (gains >= 0).all()
