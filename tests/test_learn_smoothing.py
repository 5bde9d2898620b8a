"""Targets that agree with labels, guesses and neighbours."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_few_labels as reference
from dgtrees.learn.neighbour_graph import nearest_rows, neighbour_graph
from dgtrees.learn.smoothing import LABEL_PULL, smooth


def some_graph(rows=30, seed=0):
    X = np.random.default_rng(seed).normal(size=(rows, 2)).astype(np.float32)
    return neighbour_graph(*nearest_rows(X, 4))


@given(seed=st.integers(0, 999), strength=st.sampled_from([0.001, 0.1, 2.0]))
@settings(max_examples=25, deadline=None)
def test_conjugate_gradients_find_the_solution(seed, strength):
    random, graph = np.random.default_rng(seed), some_graph(seed=seed)
    label, guess = random.normal(size=(2, 30, 3))
    known = random.random((30, 3)) < 0.3
    found = smooth(graph, label, known, guess, strength, tolerance=1e-10)
    wanted = reference.smoothed(graph.toarray(), label, known, guess, strength, LABEL_PULL)
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_one_mark_for_all_columns():
    graph, known = some_graph(), np.arange(30)[:, None] < 5
    label = np.random.default_rng(0).normal(size=(30, 2))
    args = np.zeros((30, 2)), 0.1
    one = smooth(graph, label, known, *args)
    np.testing.assert_allclose(one, smooth(graph, label, np.repeat(known, 2, axis=1), *args))


def test_labels_of_rows_that_are_not_known_are_not_looked_at():
    graph, known = some_graph(), np.arange(30)[:, None] < 5
    label = np.where(known, 1.0, np.nan)
    assert np.isfinite(smooth(graph, label, known, np.zeros((30, 1)), 0.1)).all()


def test_with_nothing_to_agree_on_all_is_0():
    none = np.zeros((30, 1))
    assert not smooth(some_graph(), none, none > 0, none, 0.1).any()


def test_a_strong_guess_is_kept():
    guess = np.random.default_rng(0).normal(size=(30, 1))
    none = np.zeros((30, 1))
    assert smooth(some_graph(), none, none > 0, guess, 1e6) == pytest.approx(guess, abs=1e-4)
