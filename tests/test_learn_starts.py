"""What training sets out from."""

import numpy as np
import pytest

import reference
from dgtrees.learn import starts
from dgtrees.learn.layout import make_layout, node_arrays
from dgtrees.learn.starts import (
    Start,
    draw_parameters,
    leaf_values,
    pair_start,
    random_start,
)
from dgtrees.tree import ObliqueTree
from dgtrees.tree.topology import child_pointers
from training_rows import parts_of


def layout_of(start, d, hidden=(), linear=False):
    outputs = start.values.shape[1]
    return make_layout(d, outputs, linear, hidden, start.left, start.right, start.depth, 16)


def drawn(start, d, hidden=(), linear=False, seed=0):
    layout = layout_of(start, d, hidden, linear)
    return layout, draw_parameters(layout, start, np.random.default_rng(seed))


def given_start(nodes=9, d=4, seed=0):
    rng = np.random.default_rng(seed)
    left, right, depth = reference.random_topology(nodes, rng)
    values = rng.normal(size=(nodes + 1, 2))
    return Start(left, right, depth, values, rng.normal(size=(nodes, d)), rng.normal(size=nodes))


@pytest.mark.parametrize("depth", [0, 1, 4])
def test_a_random_start_is_a_complete_tree_of_small_leaves(depth):
    start = random_start(depth, 3, np.random.default_rng(0))
    left, right = child_pointers(depth)
    assert np.array_equal(start.left, left) and np.array_equal(start.right, right)
    assert start.values.shape == (2**depth, 3)
    assert 0 < np.abs(start.values).max() < 0.5
    assert start.weights is None and start.bias is None


@pytest.mark.parametrize("depth", [0, 4, 8])
def test_uniform_leaves_fill_one_over_the_root_of_their_number(depth):
    start = random_start(depth, 300, np.random.default_rng(0), uniform=True)
    bound = 2.0 ** (-depth / 2)
    assert 0.95 * bound < np.abs(start.values).max() <= bound
    assert np.abs(start.values).mean() == pytest.approx(bound / 2, rel=0.1)


@pytest.mark.parametrize("hidden", [(), (6,), (30, 20)])
@pytest.mark.parametrize("linear", [False, True])
def test_random_layers_fill_their_bounds_and_all_else_is_0_or_given(hidden, linear):
    start = random_start(5, 2, np.random.default_rng(0))
    layout, P = drawn(start, 8, hidden, linear)
    assert P.dtype == np.float32
    layers, values, slopes = parts_of(layout, P)
    for W, bias in layers:
        bound = W.shape[1] ** -0.5
        assert 0.8 * bound < np.abs(W).max() <= bound * (1 + 1e-6)
        assert bias is None or (bias == 0).all()
    assert (slopes == 0).all()
    np.testing.assert_allclose(values, start.values, rtol=1e-6)


@pytest.mark.parametrize("hidden", [(), (4,), (12, 9), (7, 7, 7)])
def test_given_nodes_are_what_the_layers_multiply_out_to(hidden):
    start = given_start()
    layout, P = drawn(start, 4, hidden)
    weights, bias = node_arrays(layout, P)
    np.testing.assert_allclose(weights, start.weights, atol=1e-4)
    np.testing.assert_allclose(bias, start.bias, atol=1e-6)


def test_given_nodes_are_met_as_nearly_as_narrow_layers_allow():
    start = given_start()
    layout, P = drawn(start, 4, (2,))
    first = parts_of(layout, P)[0][0][0]
    nearest = start.weights @ np.linalg.pinv(first) @ first
    np.testing.assert_allclose(node_arrays(layout, P)[0], nearest, atol=1e-4)


def test_the_seed_decides():
    start = random_start(3, 2, np.random.default_rng(0))
    assert np.array_equal(drawn(start, 5)[1], drawn(start, 5)[1])
    assert not np.array_equal(drawn(start, 5)[1], drawn(start, 5, seed=1)[1])


# Pairs


def pair_of(rows=400, classification=True, depth=4, seed=0, weight=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 5))
    target = np.eye(3)[rng.integers(3, size=rows)] if classification else rng.normal(size=(rows, 2))
    weight = np.ones(rows) if weight is None else weight
    start = pair_start(X, target, weight, depth, classification, np.random.default_rng(seed))
    tree = ObliqueTree(start.weights, start.bias, start.left, start.right, start.values)
    return X, target, weight, start, tree


@pytest.mark.parametrize("classification", [False, True])
@pytest.mark.parametrize("depth", [0, 1, 4])
def test_a_pair_start_halves_the_rows_of_every_node(classification, depth):
    X, _, _, start, tree = pair_of(400, classification, depth)
    assert start.values.shape == (2**depth, 3 if classification else 2)
    share = np.bincount(tree.apply(X), minlength=2**depth) / 400
    # A row lies on each boundary, and rounding may send it either way.
    assert np.abs(share - 0.5**depth).max() <= 2 * depth / 400


def test_activations_begin_at_the_size_of_random_layers():
    X, *_, start, _ = pair_of(depth=1)
    a = X @ start.weights[0] + start.bias[0]
    assert np.abs(a).mean() == pytest.approx(0.1)


def test_a_root_separates_two_unlike_rows():
    """Of two classes far apart: along the line between them, whatever pair is drawn."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = rng.normal(size=(200, 5)) + 100.0 * y[:, None] * np.eye(5)[2]
    for seed in range(5):
        start = pair_start(X, np.eye(2)[y], np.ones(200), 1, True, np.random.default_rng(seed))
        direction = np.abs(start.weights[0]) / np.linalg.norm(start.weights[0])
        assert direction[2] > 0.99


@pytest.mark.parametrize("classification", [False, True])
def test_rows_that_are_all_alike_are_no_pair_and_no_problem(classification):
    X = np.ones((30, 4))
    target = np.eye(3)[np.zeros(30, int)] if classification else np.ones((30, 1))
    start = pair_start(X, target, np.ones(30), 3, classification, np.random.default_rng(0))
    for array in (start.weights, start.bias, start.values):
        assert np.isfinite(array).all()
    assert (start.weights != 0).any(axis=1).all()


def test_more_leaves_than_rows():
    *_, start, _ = pair_of(rows=5, depth=6)
    assert np.isfinite(start.weights).all() and np.isfinite(start.values).all()


@pytest.mark.parametrize("classification", [False, True])
def test_rows_of_no_weight_are_not_there(classification):
    weight = np.where(np.arange(60) % 3 == 0, 0.0, 1.0)
    X, target, _, start, _ = pair_of(60, classification, 8, weight=weight)
    some = weight > 0
    random = np.random.default_rng(0)
    wanted = pair_start(X[some], target[some], weight[some], 8, classification, random)
    assert np.array_equal(start.weights, wanted.weights)
    assert np.array_equal(start.values, wanted.values)


def test_of_many_rows_some_are_looked_at(monkeypatch):
    monkeypatch.setattr(starts, "_PAIR_ROWS", 50)
    X, *_, tree = pair_of(400, depth=2)
    share = np.bincount(tree.apply(X), minlength=4) / 400
    assert share.min() > 0.05 and np.abs(share - 0.25).max() < 0.2


def test_leaves_begin_at_the_mean_of_their_rows_and_one_of_all():
    target, weight = np.array([[1.0], [3.0], [8.0]]), np.array([1.0, 1.0, 4.0])
    found = leaf_values(np.array([0, 0, 2]), 3, target, weight, False)
    everyone = 36 / 6
    assert found[:, 0] == pytest.approx([(4 + 2 * everyone) / 4, everyone, (32 + 2 * everyone) / 6])
    shares = np.exp(leaf_values(np.array([0, 0, 2]), 3, np.eye(3), weight, True))
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_allclose(shares[1], weight / 6)
