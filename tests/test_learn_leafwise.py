"""Trees grown leaf by leaf, from bins."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgtrees.learn._leafwise import add_leaves, grow, route, sum_by_leaf
from reference import best_split_slowly


def grown(bins, gradient, leaves=8, least=2, signs=None):
    rows, columns = bins.shape
    n_bins = np.full(columns, int(bins.max()) + 1)
    signs = np.zeros(columns, np.int8) if signs is None else signs
    width = int(n_bins[0]) * (gradient.shape[1] + 1)
    room = np.zeros((leaves, columns, width), np.float32)
    every = np.arange(rows, dtype=np.int32)
    return grow(
        bins, every, gradient, np.ones(rows, np.float32), np.arange(columns), n_bins, signs, room,
        leaves, least, 1.0,
    )  # fmt: skip


def table(seed, rows=60, columns=3, bins=6, channels=1):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, bins, size=(rows, columns)).astype(np.uint8)
    X[0] = bins - 1
    return X, rng.integers(-5, 6, size=(rows, channels)).astype(np.float32)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_leaves_hold_rows_enough_and_all_rows_are_routed(seed, channels):
    bins, gradient = table(seed, channels=channels)
    splits, children, gains, bounds = grown(bins, gradient, least=4)
    leaves = np.full(len(bins), -1, np.int32)
    route(bins, splits, children, leaves)
    counts = np.bincount(leaves, minlength=len(bounds))
    assert len(bounds) == len(splits) + 1 <= 8 and (gains > 0).all()
    assert len(splits) == 0 or counts.min() >= 4


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_first_split_is_the_best_of_all(seed):
    bins, gradient = table(seed)
    _, _, gains, _ = grown(bins, gradient)
    slow, _, _ = best_split_slowly(bins, gradient[:, 0], np.ones(len(bins)), 1.0, 2)
    assert np.isclose(gains[0] if len(gains) else 0.0, slow, atol=1e-4)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([-1, 1]))
def test_values_follow_the_sign_of_a_column(seed, sign):
    bins, gradient = table(seed, rows=200)
    signs = np.array([sign, 0, 0], np.int8)
    splits, children, _, bounds = grown(bins, gradient, 16, signs=signs)
    leaves = np.empty(len(bins), np.int32)
    route(bins, splits, children, leaves)
    sums = np.empty((len(bounds), 1))
    sum_by_leaf(leaves, np.arange(len(bins), dtype=np.int32), gradient.astype(float), sums)
    counts = np.bincount(leaves, minlength=len(bounds))
    values = np.clip(-sums[:, 0] / (counts + 1.0), bounds[:, 0], bounds[:, 1])
    for higher in range(1, 6):
        low, high = bins.copy(), bins.copy()
        low[:, 0], high[:, 0] = higher - 1, higher
        a, b = np.empty_like(leaves), np.empty_like(leaves)
        route(low, splits, children, a)
        route(high, splits, children, b)
        assert (sign * (values[b] - values[a]) >= 0).all()


@pytest.mark.parametrize("outputs", [1, 3])
def test_scores_get_the_values_of_their_leaves(outputs):
    rng = np.random.default_rng(0)
    scores, values = rng.normal(size=(50, outputs)), rng.normal(size=(4, outputs))
    leaves = rng.integers(4, size=50).astype(np.int32)
    expected = scores + values[leaves]
    add_leaves(scores, leaves, values)
    assert np.array_equal(scores, expected)
