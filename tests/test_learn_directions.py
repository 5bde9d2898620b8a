"""Directions of what is left to learn, and the bins of projections on them."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dgtrees.learn.directions import DIRECTION_BINS, Projections, local_slope
from reference import fixed_order_dot


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12))
def test_thresholds_send_rows_where_their_bins_do(seed, d):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, d)) * 10.0 ** rng.integers(-3, 4, size=d)
    scale = X.std(axis=0)
    bins = np.zeros((80, d + 2), np.uint8)
    made = Projections(X, X / scale, scale, np.arange(60), np.arange(d), bins)
    made.renew(rng.normal(size=(80, 1)), rng)
    for number, direction in enumerate(made.directions):
        projected = np.array([fixed_order_dot(direction, row) for row in X])
        column = bins[:, d + number]
        for last in range(int(column.min()), int(column.max())):
            threshold = made.threshold(number, last)
            assert np.array_equal(projected - threshold >= 0, column > last)
    assert bins[:, d:].max() < DIRECTION_BINS


def test_a_slope_is_found_and_only_in_the_columns_allowed():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 6))
    found = [local_slope(X, X[:, 1] - X[:, 4], np.array([1, 4]), rng) for _ in range(5)]
    for slope in found:
        assert np.flatnonzero(slope).tolist() == [1, 4]
        assert np.allclose(slope[[1, 4]] / slope[1], [1.0, -1.0], atol=0.05)  # a ridge shortens it
