"""The dot product that decides where a row goes: one order of summation, and no other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core.errors import TypingError

import reference
from dgtrees.tree import dot


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
    one_by_one = [dot.dot_at(w, a, x, b, d) for a, b in zip(ws, xs, strict=True)]
    assert list(dot.four_dots(w, ws, x, xs, d)) == one_by_one


def test_vectors_that_are_not_contiguous_are_refused():
    with pytest.raises(TypingError, match="dot products need contiguous arrays"):
        dot.dot(np.ones(8)[::2], np.ones(4))
