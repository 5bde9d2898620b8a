"""Terms of the estimators: by hand, and what no row tells."""

import numpy as np
import pytest

from dgtrees.bandit.logs import Log
from dgtrees.bandit.terms import compute_terms, largest_weight, weights

X = np.arange(6.0)[:, None]
ACTIONS = np.array([0, 1, 0, 1, 0, 1])
CHANCES = np.tile([0.25, 0.75], (6, 1))
LOSSES = np.array([1.0, 0.0, 1.0, 0.0, 1.0, 1.0])
LOG = Log(X, ACTIONS, np.full(6, 0.5), LOSSES, n_actions=2)
WEIGHTS = np.array([0.5, 1.5, 0.5, 1.5, 0.5, 1.5])


def terms(method, chances=CHANCES, log=LOG):
    return compute_terms(method, chances, log, ridge=1.0, folds=3, seed=0)


def test_weights_are_probabilities_over_logged_ones():
    np.testing.assert_allclose(weights(CHANCES, LOG), WEIGHTS)


def test_ips_and_snips_by_hand():
    total = (WEIGHTS * LOSSES).sum()
    assert terms("ips").value == pytest.approx(total / 6)
    assert terms("snips").value == pytest.approx(total / WEIGHTS.sum())
    assert terms("ips").unseen == terms("snips").unseen == 0.0


@pytest.mark.parametrize("method", ["ips", "dm", "dr"])
def test_a_value_is_the_mean_of_its_terms(method):
    found = terms(method)
    if method != "dm":  # whose residuals are those of models without their own row
        mean = np.mean(found.base + found.weight * found.residual)
        assert found.value == pytest.approx(mean)
    else:
        assert found.value == pytest.approx(found.base.mean())


def test_constant_losses_leave_the_doubly_robust_estimate_no_choice():
    log = Log(X, ACTIONS, np.full(6, 0.5), np.full(6, 0.3), n_actions=2)
    assert terms("dr", log=log).value == pytest.approx(0.3)
    assert terms("dm", log=log).value == pytest.approx(0.3)


@pytest.mark.parametrize("method", ["ips", "snips", "dr", "dm"])
def test_actions_that_the_log_never_shows_are_unseen(method):
    log = Log(X, ACTIONS, np.full(6, 0.5), LOSSES, n_actions=3)
    chances = np.tile([0.2, 0.3, 0.5], (6, 1))
    assert terms(method, chances, log).unseen == pytest.approx(0.5)


def test_what_was_certain_hides_everything_else():
    certain = Log(X, np.zeros(6, dtype=int), np.ones(6), LOSSES, n_actions=2)
    assert terms("ips", CHANCES, certain).unseen == pytest.approx(0.75)


def test_the_largest_weight_may_be_one_that_no_row_has():
    log = Log(X, ACTIONS, np.full(6, 0.9), LOSSES, n_actions=2)
    weight = weights(CHANCES, log)
    # Had the other action been taken, with its probability of 0.1, it would weigh 7.5.
    assert largest_weight(weight, CHANCES, log) == pytest.approx(7.5)


def test_a_policy_without_matches_has_no_estimate_by_shares():
    never = np.tile([1.0, 0.0], (3, 1))
    log = Log(X[:3], [1, 1, 1], [0.5] * 3, [0.0, 1.0, 1.0], n_actions=2)
    assert np.isnan(terms("snips", never, log).value)
    assert terms("ips", never, log).unseen == 1.0
