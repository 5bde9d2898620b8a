"""Confidence intervals of weighted means: limits, symmetry, and how often they hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dgtrees.bandit.intervals import (
    LEAST_ROWS,
    Ends,
    carrying_rows,
    likelihood_fall,
    mean_interval,
    ratio_interval,
)

LOSSES = arrays.arrays(np.float64, st.integers(6, 30), elements=st.floats(0, 1))


@given(st.integers(1, 20), st.integers(0, 20), st.floats(1e-3, 1e3))
def test_rows_that_share_the_weight_carry_it(rows, others, size):
    weight = np.append(np.full(rows, size), np.zeros(others))
    assert carrying_rows(weight) == pytest.approx(rows)


def test_no_weight_is_carried_by_nobody():
    assert carrying_rows(np.zeros(3)) == 0.0


def test_less_certainty_allows_less():
    weight = np.ones(LEAST_ROWS + 20)
    falls = [likelihood_fall(weight, True, confidence) for confidence in (0.5, 0.9, 0.99)]
    assert falls == sorted(falls)
    # Losses that may lie beyond those seen leave fewer degrees of freedom, and a wider interval.
    assert likelihood_fall(weight, False, 0.9) > falls[1]


@settings(max_examples=50, deadline=None)
@given(LOSSES)
def test_an_interval_holds_the_mean_and_stays_within_its_ends(values):
    allowed = likelihood_fall(np.ones(len(values)), True, 0.95)
    low, high = mean_interval(values, (0.0, 1.0), allowed)
    assert -1e-9 <= low <= values.mean() + 1e-9
    assert values.mean() - 1e-9 <= high <= 1 + 1e-9


@settings(max_examples=50, deadline=None)
@given(LOSSES)
def test_the_interval_of_mirrored_losses_is_the_mirrored_interval(values):
    allowed = likelihood_fall(np.ones(len(values)), True, 0.9)
    low, high = mean_interval(values, (0.0, 1.0), allowed)
    np.testing.assert_allclose(mean_interval(1 - values, (0.0, 1.0), allowed), [1 - high, 1 - low])


@settings(max_examples=50, deadline=None)
@given(LOSSES, st.floats(0.1, 10))
def test_a_ratio_does_not_know_the_unit_of_its_weights(values, unit):
    weight = 0.5 + np.arange(len(values)) % 3
    ends = Ends(3.0, 0.0, 1.0, True)
    allowed = likelihood_fall(weight, True, 0.95)
    found = ratio_interval(weight, values, ends, allowed)
    assert 0 <= found[0] <= np.average(values, weights=weight) + 1e-6
    assert np.average(values, weights=weight) - 1e-6 <= found[1] <= 1
    scaled = ratio_interval(unit * weight, values, ends._replace(weight=3.0 * unit), allowed)
    np.testing.assert_allclose(scaled, found, atol=1e-6)


def test_no_loss_among_few_rows_is_no_proof_of_none():
    # Clopper and Pearson's upper limit for 0 of 20 at 95 % is 0.168.
    values = np.zeros(20)
    _, high = mean_interval(values, (0.0, 1.0), likelihood_fall(np.ones(20), True, 0.95))
    assert 0.1 < high < 0.25


def test_intervals_hold_as_often_as_they_say():
    rng = np.random.default_rng(0)
    held, runs = 0, 400
    for _ in range(runs):
        values = (rng.random(40) < 0.2).astype(float)
        low, high = mean_interval(values, (0.0, 1.0), likelihood_fall(np.ones(40), True, 0.9))
        held += low <= 0.2 <= high
    assert held / runs > 0.87
