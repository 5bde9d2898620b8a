"""Rows in random batches: all of them once, in an order that seed and epoch decide."""

import numpy as np
import pytest

from dgtrees.learn.rows import Rows
from training_rows import plain_rows


def batches(rows, size=7, seed=3, epoch=5, done=0):
    return list(rows.batches(size, seed, epoch, done))


@pytest.mark.parametrize("weighted", [False, True])
def test_batches_are_all_rows_once(weighted):
    rows = plain_rows(30, weighted=weighted)
    parts = batches(rows)
    assert [len(part) for part, _ in parts] == [7, 7, 7, 7, 2]
    assert [count for _, count in parts] == [7, 7, 7, 7, 2]
    assert rows.n_batches(7) == 5 and rows.n_batches(30) == 1 and rows.n_batches(15) == 2
    order = rows.order(3, 5)
    assert sorted(order) == list(range(30))
    assert np.array_equal(np.concatenate([part.X for part, _ in parts]), rows.X[order])
    assert np.array_equal(np.concatenate([part.y for part, _ in parts]), rows.y[order])
    if weighted:
        found = np.concatenate([part.weight for part, _ in parts])
        assert np.array_equal(found, rows.weight[order])
    else:
        assert all(part.weight is None for part, _ in parts)


def test_the_order_is_a_function_of_seed_and_epoch_alone():
    rows = plain_rows(50)
    assert np.array_equal(rows.order(1, 2), plain_rows(50, seed=9).order(1, 2))
    assert not np.array_equal(rows.order(1, 2), rows.order(1, 3))
    assert not np.array_equal(rows.order(1, 2), rows.order(2, 2))


@pytest.mark.parametrize("done", range(6))
def test_an_epoch_is_taken_up_after_any_step(done):
    rows = plain_rows(30)
    late, whole = batches(rows, done=done), batches(rows)[done:]
    assert len(late) == len(whole)
    for (one, _), (other, _) in zip(late, whole, strict=True):
        assert np.array_equal(one.X, other.X) and np.array_equal(one.y, other.y)


def test_equal_weights_are_none():
    rows = plain_rows(5, weighted=True)
    assert rows.without_equal_weights() is rows
    equal = Rows(rows.X, rows.y, np.full(5, 2.0, np.float32)).without_equal_weights()
    assert equal.weight is None and equal.X is rows.X


def test_scores_are_those_of_all_rows():
    assert plain_rows(12).scores(lambda rows: {"count": len(rows)}) == {"count": 12}
