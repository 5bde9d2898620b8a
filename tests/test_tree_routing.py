"""One row, one leaf: every way through packed trees against the slow one."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from dgtrees.tree import ObliqueForest, ObliqueTree


def any_tree(rng, d, density, linear=False):
    """A tree of any height, complete or pruned, with zeros of either sign among its weights."""
    height = int(rng.integers(0, 6))
    nodes = 2**height - 1
    weights = rng.normal(size=(nodes, d)) * 10.0 ** rng.integers(-3, 4, size=(nodes, d))
    zero = rng.random((nodes, d)) >= density
    weights[zero] = rng.choice([0.0, -0.0], size=zero.sum())
    leaf_weights = rng.normal(size=(nodes + 1, 2, d)) if linear else None
    tree = ObliqueTree.complete(
        weights, rng.normal(size=nodes), rng.normal(size=(nodes + 1, 2)), leaf_weights
    )
    return tree.prune(rng.normal(size=(6, d))) if rng.random() < 0.5 else tree


def rows_near_boundaries(rng, trees, rows, d, dtype):
    """Rows of which many lie on a boundary, where the order of summation decides."""
    X = rng.normal(size=(rows, d))
    X[rng.random(X.shape) < 0.1] = 0.0
    for row in range(0, rows, 2):
        tree = trees[rng.integers(len(trees))]
        if tree.n_nodes:
            node = rng.integers(tree.n_nodes)
            w = tree.weights[node]
            X[row] -= w * ((X[row] @ w + tree.bias[node]) / max(w @ w, 1e-300))
    return X.astype(dtype)


shapes = {
    "seed": st.integers(0, 2**32 - 1),
    "d": st.integers(1, 40),
    "rows": st.integers(1, 40),
    "density": st.sampled_from([0.02, 0.2, 1.0]),
    "dtype": st.sampled_from([np.float32, np.float64]),
}


@settings(max_examples=60)
@given(**shapes, threads=st.integers(1, 3))
def test_every_way_leads_to_the_same_leaf(seed, d, rows, density, dtype, threads):
    rng = np.random.default_rng(seed)
    tree = any_tree(rng, d, density)
    X = rows_near_boundaries(rng, [tree], rows, d, dtype)
    expected = [reference.route_slowly(row, tree) for row in X]
    assert tree.apply(X, n_threads=threads).tolist() == expected
    assert [tree.apply_row(row) for row in X] == expected
    assert [tree.apply_row(row.tolist()) for row in X] == expected
    assert np.array_equal([tree.predict_row(row) for row in X], tree.predict(X))


@settings(max_examples=40)
@given(**shapes, count=st.integers(1, 9))
def test_a_forest_is_its_trees_one_by_one(seed, d, rows, density, dtype, count):
    rng = np.random.default_rng(seed)
    trees = [any_tree(rng, d, density) for _ in range(count)]
    X = rows_near_boundaries(rng, trees, rows, d, dtype)
    forest = ObliqueForest(trees)
    leaves = forest.apply(X, n_threads=2)
    expected = [[reference.route_slowly(row, tree) for tree in trees] for row in X]
    assert leaves.tolist() == expected
    assert [forest.apply_row(row).tolist() for row in X] == expected
    total = np.zeros((rows, 2))
    for tree in trees:
        total += tree.predict(X)
    assert np.array_equal(forest.predict(X, n_threads=1), total / count)
    assert np.array_equal(forest.predict(X, n_threads=3), total / count)
    assert np.array_equal([forest.predict_row(row) for row in X], total / count)


@pytest.mark.parametrize("combine", ["mean", "vote", "softmax"])
@pytest.mark.parametrize("linear", [False, True])
def test_one_row_of_a_forest_is_that_row_of_a_batch(combine, linear):
    rng = np.random.default_rng(3)
    bounds = (np.full(2, -0.5), np.full(2, 0.5)) if linear and combine == "mean" else None
    trees = [any_tree(rng, 11, 1.0, linear) for _ in range(4)]
    forest = ObliqueForest(trees, combine, bounds)
    X = rng.normal(size=(20, 11))
    out = np.empty(2)
    for row, expected in zip(X, forest.predict(X), strict=True):
        assert forest.predict_row(row, out) is out
        assert np.array_equal(out, expected)


def test_one_row_of_linear_leaves():
    rng = np.random.default_rng(4)
    tree = any_tree(rng, 13, 1.0, linear=True)
    X = rng.normal(size=(30, 13)).astype(np.float32)
    assert np.array_equal([tree.predict_row(row) for row in X], tree.predict(X))


def test_a_prediction_of_constant_leaves_copies_nothing():
    tree = any_tree(np.random.default_rng(5), 3, 1.0)
    assert np.shares_memory(tree.predict_row(np.ones(3)), tree.leaf_values)


@pytest.mark.parametrize("as_given", [np.asfortranarray, lambda X: X[:, ::1], np.flip])
def test_rows_of_any_layout(as_given):
    rng = np.random.default_rng(6)
    tree = any_tree(rng, 12, 1.0)
    X = as_given(rng.normal(size=(9, 12)))
    expected = [reference.route_slowly(row, tree) for row in X]
    frozen = np.array(X)
    frozen.setflags(write=False)
    for rows in (X, frozen, X.astype(">f8"), X[:, None, :][:, 0]):
        assert tree.apply(rows).tolist() == expected
        assert tree.apply_finite(rows).tolist() == expected
        assert [tree.apply_row(row) for row in rows] == expected


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("threads", [1, 3])
def test_unchecked_rows_have_leaves_if_all_are_finite(bad, threads):
    rng = np.random.default_rng(8)
    tree = any_tree(rng, 7, 0.5)
    X = rng.normal(size=(200, 7))
    assert np.array_equal(tree.apply_finite(X, threads), tree.apply(X))
    for row in (0, 63, 64, 199):
        spoilt = X.copy()
        spoilt[row, 6] = bad
        assert tree.apply_finite(spoilt, threads) is None


@pytest.mark.parametrize("rows", [15, 16, 17, 255, 271, 530])
@pytest.mark.parametrize("d", [3, 64, 65])
def test_rows_in_turns_reach_the_leaves_of_rows_alone(rows, d):
    rng = np.random.default_rng([rows, d])
    tree = ObliqueTree.complete(rng.normal(size=(31, d)), rng.normal(size=31), np.zeros((32, 1)))
    tree = tree.keep_leaves(rng.random(32) < 0.6)  # paths of different lengths
    X = rows_near_boundaries(rng, [tree], rows, d, np.float64)
    expected = [reference.route_slowly(row, tree) for row in X]
    assert tree.apply(X).tolist() == expected
    assert tree.apply_finite(X).tolist() == expected
    bad = rng.integers(rows)
    X[bad, rng.integers(d)] = np.nan
    assert tree.apply_finite(X) is None


def test_finite_numbers_too_large_to_add_up_are_finite():
    rng = np.random.default_rng(3)
    tree = ObliqueTree.complete(rng.normal(size=(7, 9)), rng.normal(size=7), np.zeros((8, 1)))
    X = rng.choice([-1e308, 1e308], size=(40, 9))
    assert np.array_equal(tree.apply_finite(X), tree.apply(X))


@pytest.mark.parametrize("row", [np.zeros(4), np.zeros((1, 5)), [1.0], 3.0])
def test_rows_of_another_length_are_refused(row):
    rng = np.random.default_rng(7)
    tree = any_tree(rng, 5, 1.0)
    for model in (tree, ObliqueForest([tree])):
        with pytest.raises(ValueError, match="x must be one row of 5 numbers, got shape"):
            model.predict_row(row)


def test_a_place_of_the_wrong_kind_is_refused():
    forest = ObliqueForest([any_tree(np.random.default_rng(8), 2, 1.0)])
    for out in (np.empty(3), np.empty(2, dtype=np.float32)):
        with pytest.raises(ValueError, match=r"out must be a float64 array of shape \(2,\)"):
            forest.predict_row(np.zeros(2), out)


def test_a_pickle_holds_a_tree_once():
    tree = ObliqueTree.complete(np.ones((1, 50)), [0.0], [[0.0], [1.0]])
    size = len(pickle.dumps(tree))
    assert tree.apply_row(np.ones(50)) == 1
    assert len(pickle.dumps(tree)) == size
    assert pickle.loads(pickle.dumps(tree)).apply_row(-np.ones(50)) == 0
