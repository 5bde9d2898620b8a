"""Losses of boosting: derivatives by differences, starts by search."""

import numpy as np
import pytest

from dgtrees.learn.boosting_losses import (
    CrossEntropy,
    Huber,
    Logistic,
    Poisson,
    Quantile,
    Squared,
    weighted_quantile,
)

RNG = np.random.default_rng(0)
VALUES = RNG.normal(size=(40, 2))
CLASSES = np.eye(3)[RNG.integers(3, size=40)]
CASES = [
    (Squared(), VALUES),
    (Huber(), VALUES),
    (Quantile(0.8), VALUES),
    (Poisson(), np.round(np.exp(VALUES))),
    (Logistic(), CLASSES[:, :1]),
    (CrossEntropy(), CLASSES),
]


@pytest.mark.parametrize(("loss", "y"), CASES, ids=lambda x: type(x).__name__)
def test_first_derivatives_are_slopes_of_the_loss(loss, y):
    scores, step = RNG.normal(size=y.shape), 1e-6
    first, second = loss.derivatives(scores, y)
    for k in range(y.shape[1]):
        moved = np.eye(y.shape[1])[k] * step
        slope = (loss.values(scores + moved, y) - loss.values(scores - moved, y)) / (2 * step)
        assert np.allclose(first[:, k], slope, atol=1e-5)
    assert (second > 0).all()


@pytest.mark.parametrize(("loss", "y"), CASES, ids=lambda x: type(x).__name__)
def test_no_constant_does_better_than_the_start(loss, y):
    weight = RNG.uniform(0.5, 2.0, size=len(y))
    start = loss.start(y, weight)

    def mean(scores):
        return np.average(loss.values(np.tile(scores, (len(y), 1)), y), weights=weight)

    shy = 0.01 if isinstance(loss, (Huber, Logistic, CrossEntropy)) else 1e-12
    for _ in range(50):
        assert mean(start) <= mean(start + RNG.normal(size=start.shape) * 0.3) + shy


def test_weights_are_repetitions_to_a_quantile():
    values, weight = RNG.normal(size=20), RNG.integers(1, 5, size=20)
    for level in (0.1, 0.5, 0.9):
        repeated = np.quantile(np.repeat(values, weight), level, method="inverted_cdf")
        assert weighted_quantile(values, weight.astype(float), level) == repeated


def test_large_scores_are_safe():
    scores = np.array([[900.0, 0.0, -900.0]])
    share, _ = CrossEntropy().derivatives(scores, np.zeros((1, 3)))
    assert share.tolist() == [[1.0, 0.0, 0.0]]
    assert np.isfinite(Poisson().derivatives(scores, np.zeros((1, 3)))).all()
