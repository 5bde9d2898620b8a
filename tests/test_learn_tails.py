"""Which columns are bent, and which must be."""

import numpy as np
import pytest

from dgtrees.learn.tails import find_copies, find_tails
from dgtrees.tables.bending import bend


def columns(n=1000):
    rng = np.random.default_rng(0)
    skewed, normal, wild = rng.lognormal(0, 2, n), rng.normal(300, 5, n), rng.normal(300, 5, n)
    wild[7] = 1e9
    return np.stack([skewed, normal, wild, rng.integers(0, 4, n) ** 9.0, np.full(n, 3.0)], axis=1)


def found(X, weight=None):
    weight = np.ones(len(X)) if weight is None else weight
    return find_tails(X, weight, np.median(X, axis=0))


def test_skewed_columns_may_be_bent_and_wild_ones_must():
    must, may = found(columns())
    assert (must.spread > 0).tolist() == [False, False, True, False, False]
    assert (may.spread > 0).tolist() == [True, False, True, False, False]
    assert may.center[0] == 0.0 and may.spread[0] == pytest.approx(1.0, rel=0.2)
    assert may.center[2] == pytest.approx(300, abs=1) and must.spread[2] < 10


def test_rows_are_bent_where_there_is_a_spread_and_not_copied_where_there_is_none():
    X = columns()
    must, may = found(X)
    bent = may.bend(X)
    assert np.array_equal(bent[:, 0], bend(X[:, 0], may.center[0], may.spread[0]))
    assert np.array_equal(bent[:, [1, 3, 4]], X[:, [1, 3, 4]])
    none = found(X[:, [1]])[1]
    assert not none and none.bend(X) is X
    # One value in a thousand no longer leaves nothing of the others.
    assert np.std(must.bend(X)[:, 2]) < 3 * np.std(np.delete(must.bend(X)[:, 2], 7))


def test_columns_that_are_their_own_logarithm_get_no_copy():
    X = np.column_stack([columns(), np.random.default_rng(1).normal(0, 1, 1000)])
    copies = find_copies(X, np.ones(len(X)), np.median(X, axis=0))
    assert (copies.spread > 0).tolist() == [True, False, True, False, False, True]


def test_copies_come_behind_their_columns():
    X = columns().astype(np.float32)
    may = found(X)[1]
    copied = may.beside(X)
    assert copied.shape[1] == 7
    assert np.array_equal(copied[:, [0, 2, 3, 5, 6]], X)
    assert np.array_equal(copied[:, [1, 4]], may.bend(X)[:, [0, 2]])
    assert found(X[:, [1]])[1].beside(X) is X


def test_columns_that_are_no_plain_numbers_stay():
    X = columns()
    must, may = find_tails(X, np.ones(len(X)), np.full(X.shape[1], np.nan))
    assert not must and not may


def test_a_weight_is_a_repetition():
    X = columns(200)
    weight = np.random.default_rng(1).integers(1, 4, 200).astype(float)
    repeated = np.repeat(X, weight.astype(int), axis=0)
    center = np.median(repeated, axis=0)
    weighted, plain = (
        find_tails(X, weight, center),
        find_tails(repeated, np.ones(len(repeated)), center),
    )
    for one, other in zip(weighted, plain, strict=True):
        assert one.spread == pytest.approx(other.spread)


@pytest.mark.parametrize("size", [1e-300, 1e290])
def test_columns_of_any_size(size):
    X = columns() * size
    must, may = found(X)
    with np.errstate(over="raise", invalid="raise"):
        assert np.isfinite(may.bend(X)).all()
    assert (may.spread > 0)[0] and (must.spread > 0)[2]
