"""Rows in the order of their values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgtrees.learn._ordering import order_values, place_of


def ordered(values):
    values = np.asarray(values, dtype=np.float32)
    keys, spare = np.empty(len(values), np.uint64), np.empty(len(values), np.uint64)
    order_values(values, len(values), keys, spare)
    return [int(place_of(key)) for key in keys]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=200))
def test_the_order_is_that_of_a_stable_sort(values):
    # -0.0 comes before 0.0, which no threshold tells apart.
    array = np.array(values, dtype=np.float32) + np.float32(0.0)
    assert ordered(array) == np.argsort(array, kind="stable").tolist()


@pytest.mark.parametrize("rows", [64, 65, 1000, 1001, 5000])
def test_short_and_long_orders_of_many_equal_values(rows):
    for few in (2, 3, 40):
        values = np.random.default_rng(rows).integers(-few // 2, few // 2, size=rows) / 7
        assert ordered(values) == np.argsort(values.astype(np.float32), kind="stable").tolist()
