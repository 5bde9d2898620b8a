"""The compiled rules against tests/reference_online.py."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference_online
from dgtrees.bandit import DecayingEpsilon, Epsilon, Greedy, InverseGap, Softmax

RULES = [Epsilon(0.3), DecayingEpsilon(5, 0.1), Softmax(0.5), InverseGap(2.0, 0.5), Greedy()]


@given(
    scores=st.lists(st.floats(-30, 30), min_size=2, max_size=8),
    rule=st.sampled_from(RULES),
    seen=st.integers(0, 10**6),
)
def test_probabilities_of_every_rule(scores, rule, seen):
    found = rule.probabilities(scores, seen)
    np.testing.assert_allclose(
        found, reference_online.action_probabilities(scores, rule, seen), atol=1e-12
    )
    assert found.sum() == pytest.approx(1.0)
    assert (found >= 0).all()


def test_no_gap_and_an_infinite_gamma_are_no_nan():
    rule = InverseGap(scale=1e300, exponent=10.0)
    found = rule.probabilities([1.0, 1.0, -1.0], seen=10**9)
    np.testing.assert_allclose(found, [2 / 3, 1 / 3, 0.0], atol=1e-12)
