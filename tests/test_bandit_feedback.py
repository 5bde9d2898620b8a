"""Losses as they come from outside."""

import pytest

from dgtrees.bandit.feedback import check_range, loss_pair, loss_share


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: check_range("r", 0, True), "two finite numbers"),
        (lambda: loss_pair("ab", 2), "pair of losses"),
        (lambda: loss_pair(1e13, 1), "at most 1e\\+12, got .*larger unit"),
        (lambda: loss_share(None, 0, 1), "must be a number, got None"),
        (lambda: loss_share(True, 0, 1), "must be a number, got True"),
        (lambda: loss_share("0.5", 0, 1), "must be a number, got '0.5'"),
        (lambda: loss_share(10**400, 0, 1), "loss must fit a float"),
        (lambda: loss_pair(10**400, 1), "loss must fit a float"),
        (lambda: loss_pair([[1], [1, 2]], 2), "must be a number, got \\[1\\]"),
        (lambda: loss_pair({0: 1, 1: 2}, 2), "pair of losses"),
        (lambda: loss_pair([1.0, True], 2), "must be a number, got True"),
        (lambda: check_range("r", 0, 10**400), "two finite numbers"),
        (lambda: check_range("r", -1e308, 1e308), "and their difference too"),
        (lambda: check_range("r", 1.0, 1.0 + 2e-16), "further apart"),
        (lambda: check_range("r", 0.0, 5e-324), "further apart"),
    ],
)
def test_losses_and_ranges_that_cannot_be_meant_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
