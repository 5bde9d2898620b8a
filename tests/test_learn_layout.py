"""Where parameters lie: everywhere once, and the tree that they make."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from dgtrees.learn import layout as layouts
from dgtrees.learn.layout import leaf_arrays, make_layout, make_space, node_arrays
from dgtrees.tree.topology import child_pointers
from training_rows import parts_of


def some_layout(
    nodes, d=4, outputs=2, linear=False, hidden=(), rows=20, seed=0, biases=(False, False)
):
    left, right, depth = reference.random_topology(nodes, np.random.default_rng(seed))
    return make_layout(d, outputs, linear, hidden, left, right, depth, rows, *biases)


def places(layout):
    """(start, size) of every block of parameters."""
    before, found = layout.n_features + 1, []
    for width, at, bias_at in zip(layout.widths, layout.weights_at, layout.biases_at, strict=True):
        found.append((at, width * before))
        if bias_at >= 0:
            found.append((bias_at, width))
        before = width
    if layout.output_bias_at >= 0:
        found.append((layout.output_bias_at, 1))
    leaves = (len(layout.left) + 1) * layout.n_outputs
    found.append((layout.slopes_at, leaves * layout.n_features if layout.linear else 0))
    found.append((layout.leaves_at, leaves))
    return found


@given(
    nodes=st.integers(0, 30),
    d=st.integers(1, 9),
    outputs=st.integers(1, 3),
    linear=st.booleans(),
    hidden=st.lists(st.integers(1, 12), max_size=3).map(tuple),
    biases=st.tuples(st.booleans(), st.booleans()),
)
def test_parameters_lie_side_by_side_without_gaps(nodes, d, outputs, linear, hidden, biases):
    layout = some_layout(nodes, d, outputs, linear, hidden, biases=biases)
    at = 0
    for start, size in places(layout):
        assert start == at
        at += size
    assert at == layout.size
    assert layout.widths.tolist() == ([*hidden, nodes] if nodes else [0])
    inner = layout.biases_at[1:-1] >= 0
    assert inner.all() if biases[0] else not inner.any()
    assert (layout.output_bias_at >= 0) == biases[1]


@given(
    seed=st.integers(0, 2**32 - 1),
    hidden=st.lists(st.integers(1, 9), max_size=3).map(tuple),
    layer_biases=st.booleans(),
)
def test_the_layers_multiplied_out_are_the_nodes(seed, hidden, layer_biases):
    layout = some_layout(11, 5, hidden=hidden, biases=(layer_biases, False))
    P = np.random.default_rng(seed).normal(size=layout.size).astype(np.float32)
    weights, bias = node_arrays(layout, P)
    X = np.random.default_rng(1).normal(size=(7, 5))
    a = X
    for W, b in parts_of(layout, P)[0]:
        a = a @ W.T + (0 if b is None else b)
    assert weights.dtype == bias.dtype == np.float64
    np.testing.assert_allclose(X @ weights.T + bias, a, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("linear", [False, True])
def test_the_output_bias_is_part_of_every_leaf(linear):
    layout = some_layout(11, 5, linear=linear, biases=(False, True))
    P = np.random.default_rng(0).normal(size=layout.size).astype(np.float32)
    values, slopes = leaf_arrays(layout, P)
    _, plain_values, plain_slopes = parts_of(layout, P)
    np.testing.assert_allclose(values, plain_values + P[layout.output_bias_at], rtol=1e-6)
    if linear:
        np.testing.assert_array_equal(slopes, plain_slopes)


def test_layers_are_multiplied_out_where_that_is_less_work():
    wide_rows = some_layout(63, d=200, hidden=(8, 200), rows=256)
    assert wide_rows.prefix == 1
    wide_layers = some_layout(63, d=5, hidden=(300, 300), rows=256)
    assert wide_layers.prefix == 3
    between = some_layout(63, d=20, hidden=(200, 5), rows=256)
    assert between.prefix == 2
    assert some_layout(63, hidden=()).prefix == 1


def test_the_cut_of_a_step_depends_on_its_shape_alone():
    small, large = some_layout(15, rows=100), some_layout(255, rows=250)
    assert (small.block_rows, small.slices) == (112, 1)
    assert (large.block_rows, large.slices) == (layouts._BLOCK_ROWS, layouts._SLICES)
    assert large.batch_rows == 256
    one, four = (make_space(large, threads).state.buffers for threads in (1, 4))
    for name, array in one._asdict().items():
        other = getattr(four, name)
        assert other.shape[1:] == array.shape[1:]
        assert len(other) == (4 if name in ("work", "spare") else len(array))
    assert len(one.losses) == len(one.sizes) == 4


@pytest.mark.parametrize("rows", [1, 15, 16, 17])
def test_batches_are_padded_to_whole_vectors(rows):
    left, right = child_pointers(2)
    layout = make_layout(3, 1, False, (), left, right, 2, rows)
    assert layout.batch_rows == (16 if rows <= 16 else 32)
