"""Leaves that lean on their ancestors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from dgtrees.learn.shrinkage import (
    STRENGTHS,
    levels_below,
    log_shares,
    node_values,
    sums_of_nodes,
)
from dgtrees.tree import ObliqueTree


def random_tree(nodes, d=3, outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    left, right, _ = reference.random_topology(nodes, rng)
    weights, bias = rng.normal(size=(nodes, d)), rng.normal(size=nodes)
    return ObliqueTree(weights, bias, left, right, np.zeros((nodes + 1, outputs)))


@given(
    st.integers(0, 30),
    st.sampled_from((*STRENGTHS, 1e9)),
    st.sampled_from([1, 3]),
    st.integers(0, 99),
)
def test_values_are_those_of_the_recursive_formula(nodes, strength, columns_of_mass, seed):
    rng = np.random.default_rng(seed)
    parent = random_tree(nodes, seed=seed).parent
    places = len(parent)
    sums = rng.normal(size=(places, 3))
    mass = rng.choice([0.0, 1e-15, 0.5, 7.0], (places, columns_of_mass))
    mass[0] += 1.0
    found = node_values(levels_below(parent), sums, mass, strength)
    expected = [reference.leaning_value(i, parent, sums, mass, strength) for i in range(places)]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("nodes", [0, 1, 2, 17])
def test_levels_have_every_place_but_the_root_once_and_parents_first(nodes):
    parent = random_tree(nodes).parent
    seen = {0}
    for places, parents in levels_below(parent):
        assert np.array_equal(parents, parent[places])
        assert set(parents.tolist()) <= seen
        assert not set(places.tolist()) & seen
        seen |= set(places.tolist())
    assert seen == set(range(2 * nodes + 1))


def test_sums_are_those_of_the_rows_that_pass():
    tree, rng = random_tree(12), np.random.default_rng(1)
    X, values = rng.normal(size=(200, 3)), rng.normal(size=(200, 2))
    passed = tree.decision_path(X).toarray()
    np.testing.assert_allclose(
        sums_of_nodes(tree, tree.apply(X), values), passed.T @ values, atol=1e-12
    )


def test_without_strength_a_leaf_is_its_rows_and_with_all_of_it_the_root():
    levels = levels_below(np.array([-1, 0, 0, 1, 1]))
    mass = np.array([[10.0], [6.0], [4.0], [6.0], [0.0]])
    sums = np.array([[20.0], [18.0], [2.0], [18.0], [0.0]])
    own = node_values(levels, sums, mass, 0.0).ravel()
    np.testing.assert_allclose(own, [2.0, 3.0, 0.5, 3.0, 3.0])  # nobody came to the last
    np.testing.assert_allclose(node_values(levels, sums, mass, 1e12), 2.0)


def test_values_lie_between_those_of_the_rows():
    rng, tree = np.random.default_rng(0), random_tree(20)
    X, y = rng.normal(size=(50, 3)), rng.uniform(3, 4, (50, 1))
    sums = sums_of_nodes(tree, tree.apply(X), np.hstack([y, np.ones_like(y)]))
    for strength in STRENGTHS:
        values = node_values(levels_below(tree.parent), sums[:, :1], sums[:, 1:], strength)
        assert values.min() >= y.min() - 1e-12
        assert values.max() <= y.max() + 1e-12


def test_no_share_is_surer_than_the_rows_allow():
    logs = log_shares(np.array([[0.0, 1.0], [0.3, 0.7]]), 9.0)
    np.testing.assert_allclose(logs, np.log([[0.05, 1.0], [0.3, 0.7]]))
    assert log_shares(np.array([0.0]), 1e6) < logs[0, 0]
