"""Directions of what is left to learn, and the bins of projections on them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from dgtrees.learn.directions import (
    _MOST_COLUMNS,
    _RIDGE,
    DIRECTION_BINS,
    Projections,
    _ridge_slopes,
    local_slopes,
)
from reference import fixed_order_dot


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 20), st.sampled_from([0.0, 1e6, 1e14]))
def test_thresholds_send_rows_where_their_bins_do(seed, d, away):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, d)) * 10.0 ** rng.integers(-3, 4, size=d) + away
    center, scale = X.mean(axis=0), X.std(axis=0)
    scale[scale == 0] = 1.0
    bins = np.zeros((70, d + 2), np.uint8)
    order = rng.permutation(80)[:70]
    columns, standard = np.ascontiguousarray(X.T), (X - center) / scale
    made = Projections(columns, standard, center, scale, order, 60, np.arange(d), bins)
    made.renew(rng.normal(size=(60, 1)), rng)
    before = made.directions
    made.renew(rng.normal(size=(60, 1)), rng, slice(1, None))
    assert np.array_equal(made.directions[0], before[0])
    assert not np.array_equal(made.directions[1], before[1])
    for number, direction in enumerate(made.directions):
        projected = np.array([fixed_order_dot(direction, row) for row in X[order]])
        for last, threshold in enumerate(made.edges[number]):
            assert np.array_equal(projected - threshold >= 0, bins[:, d + number] > last)
    assert bins[:, d:].max() < DIRECTION_BINS


@pytest.mark.parametrize("far", [1e200, -1e200, [1e200, -1e200]])
def test_projections_that_are_too_large_for_a_float_have_the_bins_that_trees_send_them_to(far):
    rng = np.random.default_rng(0)
    X = 1e-160 * rng.normal(size=(50, 2))
    scale = np.full(2, 1e-160)
    columns = np.ascontiguousarray(np.vstack([X, np.full((1, 2), far)]).T)
    standard = np.vstack([X / scale, np.sign([np.full(2, far)])])
    bins = np.zeros((51, 2 + 4), np.uint8)
    made = Projections(columns, standard, np.zeros(2), scale, np.arange(51), 50, np.arange(2), bins)
    made.renew(rng.normal(size=(50, 1)), rng)
    for number, direction in enumerate(made.directions):
        with np.errstate(over="ignore", invalid="ignore"):
            projected = fixed_order_dot(direction, columns[:, 50])
        right = projected - made.edges[number] >= 0
        assert not np.isfinite(projected)
        assert np.array_equal(right, bins[50, 2 + number] > np.arange(DIRECTION_BINS - 1))


def test_a_slope_is_found_and_only_in_the_columns_allowed():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 6))
    residuals = np.repeat(X[:, 1:2] - X[:, 4:5], 5, axis=1)
    for slope in local_slopes(X, residuals, np.array([1, 4]), rng):
        assert np.flatnonzero(slope).tolist() == [1, 4]
        # Near a row columns vary little, and the ridge, which shortens a slope, also turns it.
        cosine = (slope[1] - slope[4]) / np.sqrt(2.0 * (slope**2).sum())
        assert cosine > 0.995


@pytest.mark.parametrize("shape", [(30, 8), (8, 30), (12, 12)])
def test_slopes_are_those_of_ridge_regression_whichever_side_is_longer(shape):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape)
    X -= X.mean(axis=0)
    residual = rng.normal(size=shape[0])
    expected = Ridge(_RIDGE * shape[0], fit_intercept=False).fit(X, residual).coef_
    np.testing.assert_allclose(_ridge_slopes(X, residual), expected, rtol=1e-9, atol=1e-12)


def test_directions_of_very_many_columns_take_a_part_of_them():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3 * _MOST_COLUMNS))
    slopes = local_slopes(X, rng.normal(size=(40, 3)), np.arange(X.shape[1]), rng)
    assert np.count_nonzero(slopes, axis=1).max() == _MOST_COLUMNS
