"""Sums of small trees: all decisions at once lead where decisions one by one do."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from dgtrees.tree import ObliqueForest, ObliqueTree
from dgtrees.tree.blocks import project
from dgtrees.tree.small_trees import (
    MOST_LEAVES,
    SmallTrees,
    pack_small,
    small_leaves_of_rows,
    small_sums_of_rows,
)


def any_small_tree(rng, d, directions, most=MOST_LEAVES):
    """A tree of any shape: leaves are split at random; nodes of one column, or of a direction."""
    nodes = int(rng.integers(0, most))
    left, right = np.empty(nodes, int), np.empty(nodes, int)
    above = [(None, 0)]  # of every leaf
    for node in range(nodes):
        leaf = int(rng.integers(node + 1))
        parent, side = above[leaf]
        if parent is not None:
            (left, right)[side][parent] = node
        left[node], right[node] = ~leaf, ~(node + 1)
        above[leaf] = (node, 0)
        above.append((node, 1))
    weights = np.zeros((nodes, d))
    for node in range(nodes):
        if rng.random() < 0.6:
            weights[node, rng.integers(d)] = rng.choice([1.0, -2.5, 1e-300])
        else:
            weights[node] = directions[rng.integers(len(directions))]
    bias = np.where(rng.random(nodes) < 0.2, 0.0, rng.normal(size=nodes))
    return ObliqueTree(weights, bias, left, right, rng.normal(size=(nodes + 1, 2)))


def packed(trees):
    return pack_small(*zip(*((t.weights, t.bias, t.left, t.right) for t in trees), strict=True))


shapes = {
    "seed": st.integers(0, 2**32 - 1),
    "d": st.integers(1, 20),
    "rows": st.sampled_from([1, 7, 256, 300]),
    "count": st.integers(1, 6),
    "most": st.sampled_from([8, 32, 64]),
    "dtype": st.sampled_from([np.float32, np.float64]),
}


@settings(max_examples=40, deadline=None)
@given(**shapes)
def test_rows_reach_the_leaves_they_reach_one_by_one(seed, d, rows, count, most, dtype):
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(3, d)) * (rng.random((3, d)) < 0.6)
    trees = [any_small_tree(rng, d, directions, most) for _ in range(count)]
    # Whole numbers and zeros: many rows lie on a boundary.
    X = rng.integers(-2, 3, size=(rows, d)).astype(dtype)
    X[rng.random(X.shape) < 0.3] *= dtype(0.37)
    small = packed(trees)
    assert isinstance(small, SmallTrees)
    leaves = np.empty((rows, count), np.int32)
    small_leaves_of_rows(X, 0, rows, small, small.n_places, leaves)
    first = np.cumsum([0] + [tree.n_leaves for tree in trees[:-1]])
    shown = X[: min(rows, 20)]
    expected = [[reference.route_slowly(row, tree) for tree in trees] for row in shown]
    assert (leaves[: len(shown)] - first).tolist() == expected
    assert np.array_equal(leaves - first, np.stack([tree.apply(X) for tree in trees], axis=1))
    sums = np.full((rows, 2), 9.0)
    values = np.concatenate([tree.leaf_values for tree in trees])
    small_sums_of_rows(X, 0, rows, small, small.n_places, values, sums)
    total = np.zeros((rows, 2))
    for tree in trees:
        total += tree.predict(X)
    assert np.array_equal(sums, total)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.sampled_from([0.0, 0.1, 1.0]))
def test_projections_of_a_block_are_dot_products_in_the_fixed_order(seed, d, density):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(9, d)) * 10.0 ** rng.integers(-8, 9, size=d)
    directions = rng.normal(size=(2, d)) * (rng.random((2, d)) < density)
    columns, room = np.ascontiguousarray(X.T).ravel(), np.full(8 * 7, np.nan)
    project(columns, 9, 2, 7, directions, 1, room)
    assert room[:7].tolist() == [reference.fixed_order_dot(directions[1], row) for row in X[2:]]


def test_a_forest_takes_the_quicker_way_and_answers_the_same():
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(2, 5))
    trees = [any_small_tree(rng, 5, directions) for _ in range(30)]
    forest = ObliqueForest(trees, "sum")
    X = rng.normal(size=(600, 5))
    assert forest._small is not None
    found, leaves = forest.predict(X), forest.apply(X)
    assert np.array_equal(forest.predict(X, n_threads=3), found)
    assert np.array_equal([forest.predict_row(x) for x in X[:50]], found[:50])
    assert np.array_equal([forest.apply_row(x) for x in X[:50]], leaves[:50])
    # One by one where nodes are many, or all of them are wide.
    wide = [any_small_tree(rng, 900, rng.normal(size=(50, 900))) for _ in range(2)]
    assert ObliqueForest(wide)._small is None
    high = ObliqueTree.complete(
        np.eye(3)[rng.integers(3, size=127)], np.zeros(127), np.ones((128, 1))
    )
    assert ObliqueForest([high])._small is None


def test_places_of_projections_are_used_again():
    rng = np.random.default_rng(1)
    trees = [any_small_tree(rng, 4, rng.normal(size=(3, 4)), 20) for _ in range(40)]
    small = packed(trees)
    assert len(small.directions) > 40 and small.n_places <= 3


@pytest.mark.parametrize("rows", [0, 1])
def test_trees_of_one_leaf(rows):
    nothing = np.empty(0, int)
    leaf = ObliqueTree(np.empty((0, 3)), np.empty(0), nothing, nothing, np.array([[2.0]]))
    forest = ObliqueForest([leaf, leaf], "sum")
    assert forest.predict(np.ones((rows, 3))).tolist() == [[4.0]] * rows
