"""Rows through bare arrays: from any node, and what leaves then do with them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from dgtrees.tree import ObliqueTree, partial_routes

seeds = st.integers(0, 2**32 - 1)


@given(seed=seeds, nodes=st.integers(1, 15), d=st.integers(1, 20))
def test_rows_set_out_at_any_node_or_leaf(seed, nodes, d):
    rng = np.random.default_rng(seed)
    left, right, _ = reference.random_topology(nodes, rng)
    weights, bias = rng.normal(size=(nodes, d)), rng.normal(size=nodes)
    X = rng.normal(size=(12, d))
    rows = rng.integers(12, size=30)
    starts = rng.integers(-nodes - 1, nodes, size=30)
    leaves = np.empty(30, np.int64)
    partial_routes.route_rows_from(X, rows, starts, weights, bias, left, right, leaves)
    a = X @ weights.T + bias
    wanted = [
        reference.hard_leaf(a[row], left, right, int(start))
        for row, start in zip(rows, starts, strict=True)
    ]
    assert leaves.tolist() == wanted


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_from_the_root_it_is_the_trees_own_way(dtype):
    rng = np.random.default_rng(0)
    left, right, _ = reference.random_topology(20, rng)
    tree = ObliqueTree(
        rng.normal(size=(20, 9)), rng.normal(size=20), left, right, np.zeros((21, 1))
    )
    X = rng.normal(size=(50, 9)).astype(dtype)
    leaves = np.empty(50, np.int64)
    everyone, root = np.arange(50), np.zeros(50, np.int64)
    partial_routes.route_rows_from(X, everyone, root, tree.weights, tree.bias, left, right, leaves)
    assert leaves.tolist() == [reference.route_slowly(row.astype(float), tree) for row in X]


def test_linear_outputs_of_some_rows():
    rng = np.random.default_rng(1)
    X, leaves = rng.normal(size=(30, 11)), rng.integers(5, size=30)
    values, slopes = rng.normal(size=(5, 3)), rng.normal(size=(5, 3, 11))
    outputs = np.full((30, 3), np.nan)
    partial_routes.linear_outputs(X, 4, 25, leaves, values, slopes, outputs)
    for row in range(4, 25):
        for k in range(3):
            slope = reference.fixed_order_dot(slopes[leaves[row], k], X[row])
            assert outputs[row, k] == values[leaves[row], k] + slope
    assert np.isnan(outputs[:4]).all() and np.isnan(outputs[25:]).all()


def test_column_sums_by_leaf_go_on_from_what_is_there():
    leaves, values = np.array([2, 0, 2]), np.array([[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]])
    sums = np.ones((4, 2))
    partial_routes.column_sums_by_leaf(leaves, values, sums)
    assert sums.tolist() == [[3, 21], [1, 1], [6, 51], [1, 1]]
