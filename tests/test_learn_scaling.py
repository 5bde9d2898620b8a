"""Centre and scale of columns: in one piece, in parts, constant and extreme."""

from __future__ import annotations

import numpy as np
import pytest

from dgtrees.learn.processes import ALONE
from dgtrees.learn.scaling import moments, streamed_moments, streamed_range


@pytest.mark.parametrize("scaling", ["standard", "absolute"])
def test_moments_of_parts_are_those_of_the_whole(scaling):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(1000, 4)) * [1.0, 1e3, 0.0, 1e-3] + [5.0, 0.0, 7.0, 1e6]
    weight = rng.random(1000)
    parts = [(values[i : i + 300], weight[i : i + 300]) for i in range(0, 1000, 300)]
    for one, other in zip(
        moments(values, weight, scaling),
        streamed_moments(parts, scaling, ALONE),
        strict=True,
    ):
        assert np.allclose(one, other, rtol=1e-9)


def test_the_range_is_that_of_rows_that_count():
    values = np.random.default_rng(0).normal(size=(100, 3)) * [1.0, 1e3, 0.0]
    weight = np.ones(100)
    weight[values[:, 0].argmax()] = 0
    parts = [(values[i : i + 30], weight[i : i + 30]) for i in range(0, 100, 30)]
    low, extent = streamed_range(parts, ALONE)
    np.testing.assert_array_equal(low, values[weight > 0].min(axis=0))
    np.testing.assert_array_equal(extent, np.ptp(values[weight > 0], axis=0))
    assert extent[2] == 0
    only_light = [(values[:5], np.zeros(5)), (values[5:], np.ones(95))]
    np.testing.assert_array_equal(streamed_range(only_light, ALONE)[0], values[5:].min(axis=0))


def test_rows_of_single_precision_are_scaled_without_a_warning():
    values = np.arange(8, dtype=np.float32).reshape(4, 2)
    center, scale = moments(values, np.ones(4))
    assert center.dtype == scale.dtype == np.float64
    np.testing.assert_array_equal(center, values.mean(axis=0))


def test_columns_that_vary_by_next_to_nothing_are_constant():
    values = np.array([[1e-310, 1e-290], [3e-310, 3e-290]])
    center, scale = moments(values, np.ones(2))
    assert scale[0] == 0 and np.allclose(scale[1] / 1e-290, 1.0)
    assert center[0] == 1e-310 and np.isfinite(values / np.where(scale > 0, scale, 1.0)).all()
