import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgtrees.tree.compiled import njit
from dgtrees.tree.neighbours import LEAF_ROOM, NEAREST, empty, find, insert, make_neighbours


@njit()
def _add(store, slot, z, action, reward, time, random):
    insert(store, slot, z, find(store, slot, z), action, reward, time, random, 0)


def _filled(rows, actions, rewards, room, slot=0):
    store, random = make_neighbours(room, rows.shape[1]), np.array([7, 8], dtype=np.uint64)
    for time, z in enumerate(rows):
        _add(store, slot, z, actions[time], rewards[time], time, random)
    return store


def _rounded(rng, rows, columns):
    """Rows that float32 holds, so that distances are exact but for the last bits."""
    return rng.normal(size=(rows, columns)).astype(np.float32).astype(np.float64)


@given(st.integers(0, 2**32 - 1), st.integers(1, LEAF_ROOM), st.integers(1, 9))
def test_few_answers_are_found_exactly(seed, answers, columns):
    rng = np.random.default_rng(seed)
    rows = _rounded(rng, answers, columns)
    store = _filled(rows, np.zeros(answers, dtype=int), np.zeros(answers), 100)
    z = rng.normal(size=columns)
    found = find(store, 0, z)
    distances = np.sort(((rows - z) ** 2).sum(axis=1))[:NEAREST]
    assert found == len(distances)
    np.testing.assert_allclose(store.distances[:found], distances, atol=1e-9)
    assert len(set(store.nearest[:found])) == found


def test_most_of_the_nearest_of_many_are_found_and_distances_are_true():
    rng = np.random.default_rng(1)
    rows = _rounded(rng, 5000, 6)
    store = _filled(rows, np.zeros(5000, dtype=int), np.zeros(5000), 5000)
    hits = 0
    for z in rng.normal(size=(200, 6)):
        assert find(store, 0, z) == NEAREST
        distances = ((rows - z) ** 2).sum(axis=1)
        np.testing.assert_allclose(store.distances, distances[store.nearest], atol=1e-9)
        assert (np.diff(store.distances) >= 0).all()
        hits += distances.argmin() == store.nearest[0]
    assert hits > 160


def test_every_answer_is_in_one_leaf_of_each_tree():
    rng = np.random.default_rng(2)
    store = _filled(_rounded(rng, 1500, 3), rng.integers(3, size=1500), np.ones(1500), 1000)
    for tree in range(store.fill.shape[1]):
        listed = [
            place
            for leaf in range(store.grown[0, tree])
            for place in store.members[0, tree, leaf, : store.fill[0, tree, leaf]]
        ]
        assert sorted(listed) == list(range(1000))  # the oldest 500 have made room


def test_equal_answers_are_counted_together():
    row = np.array([[1.5, -2.0]])
    store = _filled(np.repeat(row, 4, axis=0), [0, 0, 1, 0], [1.0, 0.0, 5.0, 1.0], 10)
    assert find(store, 0, row[0]) == 2
    assert store.counts[0, :2].tolist() == [3, 1]
    assert store.rewards[0, :2] == pytest.approx([2 / 3, 5.0])
    assert store.times[0, 0] == 3


def test_more_equal_rows_than_a_leaf_holds_do_no_harm():
    actions = np.arange(500)
    store = _filled(np.zeros((500, 2)), actions, np.zeros(500), 500)
    assert find(store, 0, np.zeros(2)) == NEAREST


def test_an_emptied_slot_finds_nothing_and_the_other_keeps_its_own():
    rng = np.random.default_rng(3)
    store = _filled(_rounded(rng, 300, 2), np.zeros(300, dtype=int), np.zeros(300), 300, slot=1)
    assert find(store, 0, np.zeros(2)) == 0
    assert find(store, 1, np.zeros(2)) == NEAREST
    empty(store, 1)
    assert find(store, 1, np.zeros(2)) == 0
