"""Widths of hidden layers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgtrees.learn.widths import PAPER_WIDTHS, hidden_widths


@given(st.integers(0, 20), st.integers(1, 6), st.integers(1, 999))
def test_one_width_serves_all_layers(height, layers, width):
    assert hidden_widths(height, layers, width) == (width,) * (layers - 1)


@pytest.mark.parametrize(("height", "row"), [(0, 2), (2, 2), (3, 4), (9, 10), (10, 10), (14, 10)])
def test_heights_between_the_papers_rows_take_the_next_larger(height, row):
    assert hidden_widths(height, 3, "paper") == (PAPER_WIDTHS[row],) * 2


def test_widths_of_numpy_and_lists_are_plain_numbers():
    found = hidden_widths(4, 3, [np.int64(7), 5])
    assert found == (7, 5) and all(type(width) is int for width in found)
    assert hidden_widths(4, 1, [7, 5]) == ()  # one layer has none, whatever is said


@pytest.mark.parametrize("hidden", [0, -3, (4,), (4, 0), (4, 2.0), "wide", None, 3.0, (True, "a")])
def test_widths_that_fit_no_two_layers(hidden):
    with pytest.raises(ValueError, match="n_layers - 1 = 2 of them, got"):
        hidden_widths(4, 3, hidden)
