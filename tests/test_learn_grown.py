"""Grown starts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import reference
from dgtrees.learn.descent import Descent
from dgtrees.learn.grown import grow_tree
from dgtrees.learn.plans import DESCENT
from dgtrees.tree import ObliqueTree


def rows(n=200, d=4, classes=0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    signal = X[:, 0] + 2 * np.abs(X[:, 1]) + 0.5 * rng.normal(size=n)
    if classes:
        return X, np.eye(classes)[np.digitize(signal, np.arange(1, classes))], np.ones(n)
    return X, np.stack([signal, rng.normal(size=n)], axis=1), np.ones(n)


def grown_rows(X, target, weight, max_leaves=50, min_rows=1, seed=0, classification=False):
    return grow_tree(X, target, weight, max_leaves, min_rows, classification, seed)


def twin(X, target, weight, max_leaves, classification, seed=0):
    """scikit-learn's tree itself."""
    if classification:
        model = DecisionTreeClassifier(max_leaf_nodes=max_leaves, random_state=seed)
        return model.fit(X, target.argmax(axis=1), sample_weight=weight)
    model = DecisionTreeRegressor(max_leaf_nodes=max_leaves, random_state=seed)
    return model.fit(X, target, sample_weight=weight)


def as_tree(start):
    return ObliqueTree(start.weights, start.bias, start.left, start.right, start.values)


def same_parts(a, b):
    """Whether two numberings cut the rows into the same parts."""
    pairs = np.unique(np.stack([a, b], axis=1), axis=0)
    return len(pairs) == len(np.unique(a)) == len(np.unique(b))


@pytest.mark.parametrize("classes", [0, 3])
def test_paths_are_those_of_scikit_learn(classes):
    X, target, weight = rows(classes=classes)
    grown = grown_rows(X, target, weight, classification=classes > 0)
    paths = grown.paths(X)
    passed = np.zeros((len(X), len(grown.left)), dtype=int)
    passed[np.arange(len(X))[:, None], paths] = 1
    expected = twin(X, target, weight, 50, classes > 0).decision_path(X).toarray()
    np.testing.assert_array_equal(passed, expected)
    assert (paths[:, 0] == 0).all() and (grown.left[paths[:, -1]] < 0).all()
    at, above = paths[:, 1:], paths[:, :-1]
    assert ((grown.parent[at] == above) | (at == above)).all()


@pytest.mark.parametrize("classes", [0, 3])
@pytest.mark.parametrize("size", [2, 3, 8, 21, 50])
def test_smaller_trees_are_contained_in_the_order_of_turns(classes, size):
    X, target, weight = rows(classes=classes)
    weight = np.random.default_rng(5).uniform(0.5, 2.0, len(X))  # no two gains are equal
    grown = grown_rows(X, target, weight, classification=classes > 0)
    paths = grown.paths(X)
    stop = np.argmax(grown.turns()[paths] >= size - 1, axis=1)
    y = target.argmax(axis=1) if classes else target
    afresh = reference.best_first_leaf(X, y, weight, size, 0, classes > 0)
    assert same_parts(paths[np.arange(len(X)), stop], afresh)


def test_every_node_has_a_turn_of_its_own_after_its_parents_and_leaves_have_none():
    grown = grown_rows(*rows())
    inner = grown.left >= 0
    turns = grown.turns()
    assert sorted(turns[inner]) == list(range(inner.sum()))
    later = [node for node in np.flatnonzero(inner) if node]
    assert (turns[later] > turns[grown.parent[later]]).all()
    assert turns[~inner].min() > 10**9  # beyond any size that could be asked for


@given(
    st.lists(
        st.tuples(
            st.sampled_from([-1.0, 0.0, 1e-30, 0.1, 0.3, 0.5, 1.0, 1.0 + 2**-23, 1.0 + 2**-22]),
            st.floats(-100, 100, width=32),
            st.integers(0, 2),
        ),
        min_size=2,
        max_size=40,
    ),
    st.booleans(),
    st.integers(2, 20),
)
@settings(max_examples=200)
def test_a_start_routes_every_row_as_scikit_learn_does(values, classification, leaves):
    table = np.array(values)
    X = table[:, :2].astype(np.float32)
    target = np.eye(3)[table[:, 2].astype(int)] if classification else table[:, 2:]
    weight = np.ones(len(X))
    grown = grown_rows(X, target, weight, leaves, classification=classification)
    start = grown.start(X, weight, np.zeros((len(grown.left), target.shape[1])))
    # Rows on the thresholds, too, and their neighbours.
    inner = np.flatnonzero(grown.left >= 0)
    near = np.tile(X[:1], (3 * len(inner), 1))
    edge = grown.threshold[inner].astype(np.float32)
    around = [edge, np.nextafter(edge, np.float32(-np.inf)), np.nextafter(edge, np.float32(np.inf))]
    near[np.arange(len(near)), np.tile(grown.column[inner], 3)] = np.concatenate(around)
    every = np.concatenate([X, near])
    places = np.flatnonzero(grown.left < 0)[as_tree(start).apply(every)]
    np.testing.assert_array_equal(places, grown.paths(every)[:, -1])
    model = twin(X, target, weight, leaves, classification)
    np.testing.assert_array_equal(places, model.apply(every))


@pytest.mark.parametrize("classes", [0, 3])
def test_a_descent_sets_out_from_the_same_tree(classes):
    X, target, weight = rows(1000, classes=classes)
    grown = grown_rows(X, target, weight, 400, classification=classes > 0)
    start = grown.start(X, weight, np.zeros((len(grown.left), target.shape[1])))
    tree = Descent(start, X.shape[1], "constant", DESCENT, classes > 0, 0).tree()
    np.testing.assert_array_equal(tree.apply(X), as_tree(start).apply(X))


def test_activations_of_a_start_have_size_1_and_values_are_those_of_the_leaves():
    X, target, weight = rows()
    grown = grown_rows(X, target, weight, 10)
    values = np.arange(len(grown.left), dtype=float)[:, None]
    start = grown.start(X, weight, values)
    tree = as_tree(start)
    np.testing.assert_array_equal(tree.predict(X)[:, 0], grown.paths(X)[:, -1])
    assert start.depth == tree.depth == grown.paths(X).shape[1] - 1
    activation = np.abs(X @ start.weights.T + start.bias)
    passed = tree.decision_path(X).toarray()[:, : tree.n_nodes]
    size = (activation * passed).sum(axis=0) / passed.sum(axis=0)
    np.testing.assert_allclose(size, 1.0, rtol=1e-3)


def test_leaves_have_rows_enough_by_weight():
    X, target, _ = rows()
    weight = np.random.default_rng(0).integers(1, 6, len(X)).astype(float)
    for min_rows in (5, 20):
        grown = grown_rows(X, target, weight, 1000, min_rows)
        leaf = grown.paths(X)[:, -1]
        mass = np.bincount(leaf, weights=weight)[np.unique(leaf)]
        assert min_rows <= mass.min() < 2 * min_rows + 5
    again = np.repeat(np.arange(len(X)), weight.astype(int))
    spread = grown_rows(X[again], target[again], np.ones(len(again)), 1000, 20)
    assert same_parts(grown.paths(X)[:, -1], spread.paths(X)[:, -1])


@pytest.mark.parametrize("what", ["constant target", "constant columns", "one row", "too few rows"])
def test_nothing_to_split_is_a_single_leaf(what):
    X, target, weight = rows(20)
    if what == "constant target":
        target = np.ones_like(target)
    if what == "constant columns":
        X = np.ones_like(X)
    if what == "one row":
        X, target, weight = X[:1], target[:1], weight[:1]
    grown = grown_rows(X, target, weight, 8, min_rows=20 if what == "too few rows" else 1)
    assert grown.left.tolist() == [-1]
    assert grown.paths(X).tolist() == [[0]] * len(X)
    assert (grown.turns() > 10**9).all()
    start = grown.start(X, weight, np.array([[3.0, 4.0]]))
    assert start.weights.shape == (0, 4) and start.depth == 0
    np.testing.assert_array_equal(as_tree(start).predict(X), [[3.0, 4.0]] * len(X))


def test_the_seed_decides_between_equal_columns():
    X, target, weight = rows()
    X = np.hstack([X, X])
    columns = [tuple(grown_rows(X, target, weight, 5, seed=seed).column) for seed in range(6)]
    assert len(set(columns)) > 1
    assert columns[0] == tuple(grown_rows(X, target, weight, 5, seed=0).column)
