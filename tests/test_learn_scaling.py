"""Centre and scale of columns: in one piece, in parts, constant and extreme."""

from __future__ import annotations

import numpy as np
import pytest

from dgtrees.learn.processes import ALONE
from dgtrees.learn.scaling import moments, streamed_moments


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


def test_rows_of_single_precision_are_scaled_without_a_warning():
    values = np.arange(8, dtype=np.float32).reshape(4, 2)
    center, scale = moments(values, np.ones(4))
    assert center.dtype == scale.dtype == np.float64
    np.testing.assert_array_equal(center, values.mean(axis=0))
