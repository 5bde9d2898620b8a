"""Bent numbers: in order, near their logarithm, and back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgtrees.tables.bending import FARTHEST, POWER, bend, unbend

numbers = st.floats(-1e200, 1e200)
spreads = st.floats(1e-90, 1e90)


@given(st.lists(numbers, min_size=2, max_size=20), st.floats(-1e6, 1e6), spreads)
def test_the_order_of_numbers_stays(values, center, spread):
    values = np.sort(np.array(values))
    bent = bend(values, center, spread)
    assert np.isfinite(bent).all()
    assert (np.diff(bent) >= 0).all()
    assert np.array_equal(bend(-values, -center, spread), -bent)


@pytest.mark.parametrize("x", [0.01, 1.0, 50.0, 1e3, 1e6, 1e9])
def test_it_is_a_logarithm_within_a_fifth(x):
    assert bend(np.array(x), 0.0, 1.0) == pytest.approx(np.log1p(x), rel=0.2)


@given(st.floats(-1e6, 1e6), st.floats(-100, 100), st.floats(0.1, 100))
def test_there_is_a_way_back(x, center, spread):
    back = unbend(float(bend(np.array(x), center, spread)), center, spread)
    assert back == pytest.approx(x, rel=1e-9, abs=1e-9 * (abs(center) + spread))


def test_numbers_at_the_ends_of_the_scale_stay_finite():
    ends = np.array([-1.7e308, 1.7e308])
    most = (FARTHEST ** (1 / POWER) - 1) * POWER
    assert bend(ends, 1e308, 1e-3) == pytest.approx([-most, most])
    assert unbend(1e300, 0.0, 1.0) == np.inf
