"""The dot product that decides where a row goes: one order of summation, and no other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core.errors import TypingError

import reference
from dgtrees.tree import dot
from dgtrees.tree.compiled import njit


@njit()
def _both_ways(w, ws, x, xs, d):
    """Four side by side, and one by one."""
    singles = np.empty(4)
    for i in range(4):
        singles[i] = dot.dot_at(w, ws[i], x, xs[i], d)
    return dot.dots_at(w, ws, x, xs, d), singles


@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(1, 60),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_the_order_of_summation_is_fixed(seed, d, dtype):
    rng = np.random.default_rng(seed)
    w = rng.normal(size=d) * 10.0 ** rng.integers(-8, 9, size=d)
    x = rng.normal(size=d).astype(dtype)
    assert dot.dot(w, x) == reference.fixed_order_dot(w, x.astype(np.float64))


@given(seed=st.integers(0, 2**32 - 1), d=st.integers(1, 40))
def test_four_side_by_side_are_four_one_by_one(seed, d):
    rng = np.random.default_rng(seed)
    w, x = rng.normal(size=5 * d), rng.normal(size=7 * d)
    ws, xs = (0, d, 4 * d, 2 * d), (6 * d, 0, 0, 3 * d)
    four, one_by_one = _both_ways(w, ws, x, xs, d)
    assert list(four) == list(one_by_one)
    assert four[1] == dot.dot(w[d : 2 * d], x[:d])


def test_vectors_that_are_not_contiguous_are_refused():
    with pytest.raises(TypingError, match="dot products need contiguous arrays"):
        dot.dot(np.ones(8)[::2], np.ones(4))
