"""What training sets out from."""

import numpy as np
import pytest

import reference
from dgtrees.learn.layout import make_layout, node_arrays
from dgtrees.learn.starts import Start, draw_parameters, random_start
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
