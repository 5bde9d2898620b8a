"""Prediction intervals: quantiles of errors, wider where trees disagree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgtrees.estimators.prediction_intervals import Intervals


def learnt(errors, spread=None, weight=None):
    errors = np.asarray(errors, dtype=float)[:, None]
    spread = np.ones_like(errors) if spread is None else np.asarray(spread)[:, None]
    weight = np.ones(len(errors)) if weight is None else np.asarray(weight)
    return Intervals.learnt(errors, spread, weight)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60), st.integers(1, 999))
def test_so_many_errors_lie_within(errors, thousandths):
    half = learnt(errors).half_width(np.ones((1, 1)), thousandths / 1000)[0, 0]
    inside = np.mean(np.abs(errors) <= half * (1 + 1e-9))
    assert inside >= thousandths / 1000 - 1e-9


def test_more_coverage_is_wider_and_signs_do_not_count():
    one, other = learnt(np.arange(100)), learnt(-np.arange(100))
    widths = [one.half_width(np.ones((1, 1)), c)[0, 0] for c in (0.1, 0.5, 0.9)]
    assert widths == sorted(widths) == [9.0, 49.0, 89.0]
    np.testing.assert_array_equal(one.errors, other.errors)


def test_intervals_are_wider_where_trees_disagree():
    found = learnt(np.arange(50.0), spread=np.linspace(0.1, 2, 50))
    calm, torn = found.half_width(np.array([[0.1], [2.0]]), 0.9)[:, 0]
    assert torn > calm > 0


def test_trees_that_always_agree_say_nothing():
    found = learnt(np.arange(50.0), spread=np.zeros(50))
    np.testing.assert_array_equal(found.half_width(np.array([[0.0], [9.0]]), 0.9), [[44.0], [44.0]])


def test_a_row_of_weight_two_is_two_rows():
    twice = learnt([1.0, 1.0, 5.0])
    weighed = learnt([1.0, 5.0], weight=[2.0, 1.0])
    np.testing.assert_allclose(weighed.errors, twice.errors)


@pytest.mark.parametrize(
    ("spread", "errors", "message"),
    [
        (np.ones(1), np.ones((5, 1)), r"errors must have shape \(1001, 1\), got \(5, 1\)"),
        (-np.ones(1), np.ones((1001, 1)), "at least 0, got some below"),
        (np.ones(1), np.full((1001, 1), np.nan), "or NaN"),
    ],
)
def test_a_file_cannot_hold_any_other(spread, errors, message):
    with pytest.raises(ValueError, match=message):
        Intervals(spread, errors)
