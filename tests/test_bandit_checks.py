"""Numbers that come from outside: what counts as one."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgtrees.bandit.checks import number, whole_number


@given(st.one_of(st.floats(), st.integers(-(2**60), 2**60)))
def test_numbers_are_floats_of_the_same_value(value):
    found = number("loss", value)
    assert type(found) is float
    assert found == float(value) or value != value


@pytest.mark.parametrize("value", [np.float32(0.5), np.int16(3), Fraction(1, 4), np.float64(2.0)])
def test_numbers_of_any_library(value):
    assert number("loss", value) == float(value)


@pytest.mark.parametrize("value", [True, None, "1", [1.0], Decimal("1"), 1j, np.ones(1)])
def test_what_is_no_number(value):
    with pytest.raises(ValueError, match=r"^loss must be a number, got .*: leave it out$"):
        number("loss", value, ": leave it out")


def test_numbers_beyond_floats():
    with pytest.raises(ValueError, match="loss must fit a float, got a larger number"):
        number("loss", 10**400)


@given(st.integers(-5, 15))
def test_whole_numbers_within_bounds(value):
    if 0 <= value <= 9:
        assert whole_number("digit", np.int64(value), 0, 9) == value
    else:
        with pytest.raises(ValueError, match=f"whole number from 0 to 9, got {value}"):
            whole_number("digit", value, 0, 9)


@pytest.mark.parametrize("value", [True, 1.0, "1", None])
def test_what_is_no_whole_number(value):
    with pytest.raises(ValueError, match="max_depth must be a whole number from 1 to 16"):
        whole_number("max_depth", value, 1, 16)
