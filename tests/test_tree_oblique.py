"""ObliqueTree: routing, paths, pruning, refusal of arrays that are no tree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from dgtrees.tree import ObliqueTree
from dgtrees.tree.inputs import available_threads


def random_tree(seed, height=4, d=5, outputs=2, linear=False, distinct=None):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(2**height, outputs))
    if distinct is not None:  # few distinct leaves, so that neighbours agree
        values = rng.normal(size=(distinct, outputs))[rng.integers(distinct, size=2**height)]
    return ObliqueTree.complete(
        rng.normal(size=(2**height - 1, d)),
        rng.normal(size=2**height - 1),
        values,
        rng.normal(size=(2**height, outputs, d)) if linear else None,
    )


seeds = st.integers(0, 2**32 - 1)


@given(seed=seeds, height=st.integers(0, 6), d=st.integers(1, 40), rows=st.integers(1, 30))
def test_path_only_routing_is_all_node_routing(seed, height, d, rows):
    tree = random_tree(seed, height, d)
    X = np.random.default_rng(seed + 1).normal(size=(rows, d))
    expected = reference.route_all_nodes(X, tree.weights, tree.bias)
    assert np.array_equal(tree.apply(X), expected)


@given(
    seed=seeds,
    height=st.integers(0, 6),
    d=st.integers(1, 40),
    rows=st.integers(1, 30),
    threads=st.integers(1, 4),
    dtype=st.sampled_from([np.float32, np.float64]),
    pruned=st.booleans(),
)
def test_a_row_has_one_leaf_alone_in_any_batch_and_on_any_thread_count(
    seed, height, d, rows, threads, dtype, pruned
):
    rng = np.random.default_rng(seed + 1)
    tree = random_tree(seed, height, d)
    X = rng.normal(size=(rows, d)).astype(dtype)
    # Rows that lie on a boundary, where the order of summation decides.
    if tree.n_nodes:
        node = rng.integers(tree.n_nodes, size=rows)
        w = tree.weights[node]
        excess = np.einsum("rd,rd->r", X, w) + tree.bias[node]
        X = (X - w * (excess / np.square(w).sum(axis=1))[:, None]).astype(dtype)
    if pruned:
        tree = tree.prune(X)
    alone = [int(tree.apply(row[None])[0]) for row in X]
    slow = [reference.route_slowly(row, tree) for row in X]
    order = rng.permutation(rows)
    assert alone == slow
    assert tree.apply(X, n_threads=threads).tolist() == alone
    assert tree.apply(X[order])[np.argsort(order)].tolist() == alone
    assert tree.apply(np.asfortranarray(X)).tolist() == alone
    assert tree.apply(X.astype(np.float64)).tolist() == alone


def test_threads_do_not_change_a_large_batch():
    tree = random_tree(0, height=8, d=50, linear=True)
    X = np.random.default_rng(1).normal(size=(20_000, 50))
    first = tree.predict(X, n_threads=1)
    assert np.array_equal(first, tree.predict(X, n_threads=3))
    assert np.array_equal(first, tree.predict(X))


def test_number_of_threads_can_be_set(monkeypatch):
    monkeypatch.setenv("DGTREES_NUM_THREADS", "3")
    assert available_threads() == 3
    monkeypatch.setenv("DGTREES_NUM_THREADS", "two")
    with pytest.raises(ValueError, match="DGTREES_NUM_THREADS must be a whole number, got 'two'"):
        available_threads()


@given(seed=seeds, linear=st.booleans())
def test_predict_is_the_leaf_output(seed, linear):
    tree = random_tree(seed, linear=linear)
    X = np.random.default_rng(seed + 1).normal(size=(7, 5))
    leaves = tree.apply(X)
    expected = tree.leaf_values[leaves]
    if linear:
        expected = expected + np.einsum("rkd,rd->rk", tree.leaf_weights[leaves], X)
    np.testing.assert_allclose(tree.predict(X), expected)


@given(seed=seeds, height=st.integers(0, 5), pruned=st.booleans())
def test_decision_path_leads_from_the_root_to_the_leaf(seed, height, pruned):
    tree = random_tree(seed, height)
    X = np.random.default_rng(seed + 1).normal(size=(6, 5))
    if pruned:
        tree = tree.prune(X[:3])
    path = tree.decision_path(X)
    assert path.shape == (6, tree.n_nodes + tree.n_leaves)
    for row, leaf in enumerate(tree.apply(X)):
        passed = path[[row]].indices
        position, expected = tree.n_nodes + leaf, []
        while position >= 0:
            expected.append(position)
            position = tree.parent[position]
        assert sorted(passed) == sorted(expected)
        assert tree.depths[tree.n_nodes + leaf] == len(passed) - 1


@given(seed=seeds, linear=st.booleans(), rows=st.integers(1, 20))
def test_pruning_by_rows_keeps_their_predictions(seed, linear, rows):
    tree = random_tree(seed, linear=linear)
    X = np.random.default_rng(seed + 1).normal(size=(rows, 5))
    small = tree.prune(X)
    assert np.array_equal(small.predict(X), tree.predict(X))
    assert small.n_leaves <= min(rows, tree.n_leaves)
    assert small.flops <= tree.flops
    _, at_leaf = small.visits(X)
    assert (at_leaf > 0).all()
    again = small.prune(X)
    assert again.n_leaves == small.n_leaves


@given(seed=seeds, distinct=st.integers(1, 3))
def test_collapsing_agreeing_leaves_changes_no_prediction_at_all(seed, distinct):
    tree = random_tree(seed, distinct=distinct)
    small = tree.prune()
    X = np.random.default_rng(seed + 1).normal(size=(200, 5))
    assert np.array_equal(small.predict(X), tree.predict(X))
    siblings = {}
    for leaf in range(small.n_leaves):
        siblings.setdefault(small.parent[small.n_nodes + leaf], []).append(leaf)
    for pair in siblings.values():
        if len(pair) == 2:
            assert not np.array_equal(*small.leaf_values[pair])
    if distinct == 1:
        assert small.n_leaves == 1 and small.depth == 0


def test_visits_add_up():
    tree = random_tree(3)
    X = np.random.default_rng(4).normal(size=(50, 5))
    at_node, at_leaf = tree.visits(X, row_weights=np.full(50, 2.0))
    assert at_node[0] == at_leaf.sum() == 100
    path = tree.decision_path(X)
    counts = np.asarray(path.sum(axis=0)).ravel() * 2.0
    assert np.array_equal(np.concatenate([at_node, at_leaf]), counts)


@given(seed=seeds, linear=st.booleans())
def test_scales_fold_into_the_weights(seed, linear):
    rng = np.random.default_rng(seed + 1)
    tree = random_tree(seed, linear=linear)
    X = rng.normal(size=(30, 5))
    center, scale = rng.normal(size=5), rng.uniform(0.1, 10, size=5)
    raw = tree.on_unscaled_inputs(center, scale)
    far = np.abs(X @ tree.weights.T + tree.bias).min(axis=1) > 1e-9  # not a matter of rounding
    np.testing.assert_allclose(raw.predict(X * scale + center)[far], tree.predict(X)[far])
    outputs = tree.on_scaled_outputs(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    np.testing.assert_allclose(outputs.predict(X), tree.predict(X) * [3, 4] + [1, 2])


def test_a_tree_is_frozen():
    tree = random_tree(0)
    with pytest.raises(ValueError, match="read-only"):
        tree.weights[0, 0] = 1.0
    with pytest.raises(AttributeError):
        tree.bias = np.zeros(15)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bias": np.zeros(2)}, "bias must have shape"),
        ({"leaf_values": np.zeros((3, 1))}, "has 4 leaves, got 3"),
        ({"left": [0, -1, -3]}, "must form a tree"),
        ({"left": [1, -1, -1]}, "must form a tree"),
        ({"right": [2, -2, 1]}, "must form a tree"),
        ({"right": [9, -2, -4]}, "must form a tree"),
        ({"weights": np.full((3, 2), np.nan)}, "must be finite"),
        ({"leaf_weights": np.zeros((4, 1, 3))}, "leaf_weights must have shape"),
    ],
)
def test_arrays_that_are_no_tree_are_refused(change, message):
    arrays = {
        "weights": np.zeros((3, 2)),
        "bias": np.zeros(3),
        "left": [1, -1, -3],
        "right": [2, -2, -4],
        "leaf_values": np.zeros((4, 1)),
    }
    ObliqueTree(**arrays)
    with pytest.raises(ValueError, match=message):
        ObliqueTree(**(arrays | change))


def test_wrong_rows_are_refused():
    with pytest.raises(ValueError, match=r"must have shape \(rows, 5\), got \(3, 4\)"):
        random_tree(0).predict(np.zeros((3, 4)))
    with pytest.raises(ValueError, match="at least one leaf must be kept"):
        random_tree(0).prune(np.empty((0, 5)))
