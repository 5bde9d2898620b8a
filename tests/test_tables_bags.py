"""Bags: reading them, pooling scores, and labels that agree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgtrees.tables.bags import POOLINGS, Bags, labels_of_bags, rows_and_bags
from reference_bags import pool_slowly

SCORES = st.lists(
    st.tuples(st.integers(0, 4), st.floats(-20, 20, allow_nan=False)), min_size=1, max_size=30
)


@given(SCORES, st.sampled_from(POOLINGS))
def test_pooling_is_what_it_is_slowly(rows, how):
    ids, scores = [bag for bag, _ in rows], np.array([score for _, score in rows])
    bags = Bags.of(ids, len(ids))
    pooled, shares = bags.pool_and_shares(scores, how)
    assert pooled == pytest.approx(pool_slowly(scores, bags.number, how), abs=1e-9)
    assert np.bincount(bags.number, shares) == pytest.approx(np.ones(len(bags)))


@given(SCORES, st.floats(-20, 20), st.sampled_from(["sum", "max"]))
def test_no_row_that_joins_a_bag_lowers_its_score(rows, joining, how):
    scores = np.array([score for _, score in rows])
    one = Bags(np.zeros(len(rows), dtype=np.int64), (0,))
    more = Bags(np.zeros(len(rows) + 1, dtype=np.int64), (0,))
    before, after = one.pool(scores, how)[0], more.pool(np.append(scores, joining), how)[0]
    assert after >= before - 1e-12 and after >= joining - 1e-12


def test_slopes_of_bags_are_those_of_small_steps():
    random = np.random.default_rng(0)
    bags, scores = Bags.of([0, 1, 0, 2, 1, 0], 6), random.normal(size=6)
    for how in POOLINGS:
        _, shares = bags.pool_and_shares(scores, how, 2.0)
        for row in range(6):
            step = np.where(np.arange(6) == row, 1e-6, 0.0)
            up, down = (bags.pool(scores + side * step, how, 2.0) for side in (1, -1))
            slope = ((up - down) / 2e-6)[bags.number[row]]
            assert shares[row] == pytest.approx(slope, abs=1e-6)


def test_bags_are_numbered_as_they_appear_and_taken_whole():
    bags = Bags.of(["b", "a", "b", "c"], 4)
    assert bags.ids == ("b", "a", "c") and bags.number.tolist() == [0, 1, 0, 2]
    rows, taken = bags.take(np.array([2, 0, 0]))
    assert rows.tolist() == [3, 0, 2, 0, 2] and taken.number.tolist() == [0, 1, 1, 2, 2]
    assert bags.decisive(np.array([1.0, 0.0, 1.0, 5.0])).tolist() == [0, 1, 3]


@pytest.mark.parametrize("ids", [[1, 2], [1, None, 2], [1.0, np.nan, 2.0], [[1], [2], [3]]])
def test_ids_that_are_none_are_refused(ids):
    with pytest.raises(ValueError, match="bags must"):
        Bags.of(np.array(ids, dtype=object), 3)


def test_labels_per_row_per_bag_and_by_name():
    bags = Bags.of([7, 7, 5, 5, 6], 5)
    for y in ([1, 1, 0, 0, 1], [1, 0, 1], {5: 0, 6: 1, 7: 1}):
        assert labels_of_bags(y, bags).tolist() == [1, 0, 1]
    assert labels_of_bags(np.array([["x"], ["y"], ["x"]]), bags).tolist() == ["x", "y", "x"]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 0, 0, 0, 1], "one label, got 1 and 0 in bag 7"),
        ([1, 0], r"per row \(5\) or per bag \(3\)"),
        ({5: 0, 6: 1}, "none for 7"),
        ({5: 0, 6: 1, 7: 1, 8: 0}, "got one for 8"),
    ],
)
def test_labels_that_contradict_or_do_not_fit_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        labels_of_bags(y, Bags.of([7, 7, 5, 5, 6], 5))


def test_a_list_of_tables_is_a_bag_each():
    pandas = pytest.importorskip("pandas")
    tables = [np.zeros((2, 3)), np.ones((1, 3))]
    X, bags = rows_and_bags(tables, None)
    assert X.shape == (3, 3) and bags.number.tolist() == [0, 0, 1]
    X, bags = rows_and_bags([pandas.DataFrame(t, columns=list("abc")) for t in tables], None)
    assert list(X.columns) == ["a", "b", "c"] and len(X) == 3
    rows = [[0.0, 1.0], [1.0, 0.0]]
    assert rows_and_bags(rows, None) == (rows, None)  # rows, not bags
    with pytest.raises(ValueError, match="same columns"):
        rows_and_bags([np.zeros((2, 3)), np.zeros((2, 2))], None)
    with pytest.raises(ValueError, match="at least one row"):
        rows_and_bags([np.zeros((2, 3)), np.zeros((0, 3))], None)
