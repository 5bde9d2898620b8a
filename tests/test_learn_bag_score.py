"""The loss of bags, and scores that are linear in columns."""

import numpy as np
import pytest

from dgtrees.learn.bag_score import BagTable, fit_scores, loss_of_bags
from dgtrees.tables.bags import POOLINGS, Bags
from reference_bags import loss_slowly

NUMBER = np.array([0, 0, 1, 1, 1, 2, 3])
LABEL = np.array([1, 0, 0, 1])
BAGS = Bags(NUMBER, (0, 1, 2, 3))


@pytest.mark.parametrize("how", POOLINGS)
def test_loss_and_slopes(how):
    scores = np.random.default_rng(1).normal(size=7)
    losses, slopes = loss_of_bags(scores, BAGS, LABEL, how)
    assert losses == pytest.approx(loss_slowly(scores, NUMBER, LABEL, how))
    for row in range(7):
        step = np.where(np.arange(7) == row, 1e-6, 0.0)
        up, down = (loss_slowly(scores + s * step, NUMBER, LABEL, how).sum() for s in (1, -1))
        assert slopes[row] == pytest.approx((up - down) / 2e-6, abs=1e-6)


def test_coefficients_are_where_the_loss_is_least():
    random = np.random.default_rng(2)
    A, penalty = random.normal(size=(7, 2)), np.array([0.1, 0.0])
    w = fit_scores(A, BAGS, LABEL, penalty, ("sum", 1.0), np.zeros(2))

    def value(w):
        return loss_slowly(A @ w, NUMBER, LABEL, "sum").mean() + 0.5 * penalty @ (w * w)

    least = min(value(w + 0.05 * random.normal(size=2)) for _ in range(200))
    assert value(w) <= least + 1e-4


def test_bags_are_taken_whole():
    table = BagTable(np.arange(7.0)[:, None], BAGS, LABEL).take(np.array([3, 1]))
    assert table.X[:, 0].tolist() == [6, 2, 3, 4] and table.label.tolist() == [1, 0]
