"""Neighbours, their graph, and the columns that distances are taken in."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_few_labels as reference
from dgtrees.learn import neighbour_graph as module
from dgtrees.learn.neighbour_graph import (
    SCALINGS,
    nearest_rows,
    neighbour_graph,
    principal_columns,
    scaled_columns,
)


def some_rows(rows=40, d=3, seed=0):
    X = np.random.default_rng(seed).normal(size=(rows, d))
    return (X - X.mean(axis=0)).astype(np.float32)


@given(rows=st.integers(3, 40), d=st.integers(1, 5), seed=st.integers(0, 99), data=st.data())
@settings(max_examples=40, deadline=None)
def test_neighbours_are_those_of_all_pairs(rows, d, seed, data):
    X, count = some_rows(rows, d, seed), data.draw(st.integers(1, rows - 1))
    index, squared = nearest_rows(X, count)
    wanted, distances = reference.nearest(X, count)
    np.testing.assert_allclose(squared, distances, atol=1e-4)
    # Of next to equal distances either may come first.
    clear = np.diff(np.pad(distances, ((0, 0), (1, 1)), constant_values=np.inf)) > 1e-4
    clear = clear[:, 1:] & clear[:, :-1]
    assert np.array_equal(index[clear], wanted[clear])


def test_blocks_do_not_show(monkeypatch):
    X = some_rows()
    whole = nearest_rows(X, 5)
    monkeypatch.setattr(module, "_BLOCK_VALUES", 120)
    parts = nearest_rows(X, 5)
    assert np.array_equal(whole[0], parts[0])
    np.testing.assert_allclose(whole[1], parts[1], atol=1e-5)


def test_the_graph_is_that_of_pairs():
    index, squared = nearest_rows(some_rows(), 4)
    S = neighbour_graph(index, squared).toarray()
    np.testing.assert_allclose(S, reference.graph(index, squared), atol=1e-6)
    assert np.abs(np.linalg.eigvalsh(S)).max() <= 1 + 1e-9


def test_equal_rows_are_near_each_other():
    X = np.repeat(some_rows(6), 3, axis=0)
    index, squared = nearest_rows(X, 2)
    S = neighbour_graph(index, squared)
    assert np.isfinite(S.data).all()
    assert (index // 3 == np.arange(18)[:, None] // 3).all()


def test_rows_that_do_not_differ_have_a_graph_all_the_same():
    index, squared = nearest_rows(np.zeros((5, 2), np.float32), 2)
    assert np.isfinite(neighbour_graph(index, squared).data).all()


def test_all_directions_keep_distances_and_few_keep_the_widest():
    X = some_rows(d=4) * np.array([1, 5, 1, 1], np.float32)
    turned = principal_columns(X, 9)
    assert turned.shape == X.shape
    np.testing.assert_allclose(
        reference.nearest(turned, 3)[1], reference.nearest(X, 3)[1], rtol=1e-3
    )
    assert abs(np.corrcoef(principal_columns(X, 1)[:, 0], X[:, 1])[0, 1]) > 0.95


def test_directions_among_many_columns_are_found_step_by_step(monkeypatch):
    X = some_rows(60, 30) * np.r_[[9, 5], np.ones(28)].astype(np.float32)
    exact = principal_columns(X, 2)
    monkeypatch.setattr(module, "_EXACT_COLUMNS", 10)
    found = principal_columns(X, 2)
    np.testing.assert_allclose(np.abs(found), np.abs(exact), atol=0.02)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_columns_have_mean_0_and_bear_anything(scaling):
    X = np.array([[1e200, 1.0, 3.0], [0.0, 1.0, 4.0], [5.0, 1.0, 4.0]])
    with np.errstate(over="ignore"):
        columns = scaled_columns(X, scaling)
    if scaling != "standard":
        assert np.isfinite(columns).all()
    assert np.allclose(columns[:, 1], 0)
    assert np.allclose(columns[:, 2].sum(), 0, atol=1e-5)


def test_ranks_do_not_see_how_far_a_value_is():
    x = np.random.default_rng(0).normal(size=(30, 1))
    np.testing.assert_allclose(
        scaled_columns(x, "ranks"), scaled_columns(np.exp(5 * x), "ranks"), atol=1e-6
    )
