"""Half-spaces: never worse than their start, and right where rows can be told apart."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgtrees.learn.half_spaces import HalfSpace, fit_half_space

pytestmark = pytest.mark.usefixtures("one_blas_thread")


def test_rows_that_a_plane_can_separate_are_separated():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    X = X[np.abs(X @ [1.0, -2.0, 0.5] + 0.3) > 0.2]
    gain = np.where(X @ [1.0, -2.0, 0.5] + 0.3 > 0, -1.0, 2.0)
    found = fit_half_space(X, gain, HalfSpace(np.array([1.0, 0.0, 0.0]), 0.0), logistic=True)
    assert np.array_equal(found.margins(X) >= 0, gain < 0)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_the_cost_never_rises(seed, logistic):
    rng = np.random.default_rng(seed)
    X, gain = rng.normal(size=(40, 2)), rng.normal(size=40) ** 3
    start = HalfSpace(rng.normal(size=2), float(rng.normal()))
    found = fit_half_space(X, gain, start, logistic=logistic)
    assert found.cost(X, gain) <= start.cost(X, gain)
    right = found.margins(X) >= 0
    assert np.isclose(found.cost(X, gain), sum(gain[i] for i in range(40) if right[i]))


def test_where_nothing_is_to_be_gained_the_start_stays():
    start = HalfSpace(np.ones(2), 0.0)
    assert fit_half_space(np.ones((5, 2)), np.zeros(5), start) is start
