"""Errors of very many trees, from pairs of few."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from dgtrees.learn.pair_errors import PairErrors

RNG = np.random.default_rng(0)
TARGET = RNG.normal(size=(5, 2))
SAID = 0.4 * TARGET + 0.2 * RNG.normal(size=(5, 2)) + 0.2 * RNG.normal(size=(4, 5, 2))
UNSEEN = [np.array([0, 1, 2]), np.array([0, 2]), np.array([2, 0]), np.array([4])]
WEIGHT = np.array([1.0, 1.0, 3.0, 1.0, 1.0])


def pairs():
    """Row, and what two different trees say that have not seen it."""
    for row in range(5):
        told = [SAID[tree, row] for tree in range(4) if row in UNSEEN[tree]]
        for a in range(len(told)):
            for b in range(len(told)):
                if a != b:
                    yield row, told[a], told[b]


def mean_product(factor, center):
    """Reference: of errors after what is said has been stretched away from the center."""
    products, weights = 0.0, 0.0
    for row, one, other in pairs():
        one, other = (center + factor * (said - center) - TARGET[row] for said in (one, other))
        products += WEIGHT[row] * (one @ other)
        weights += WEIGHT[row]
    return products / weights


def judged(said=SAID):
    errors = PairErrors(TARGET)
    for rows, outputs in zip(UNSEEN, said, strict=True):
        errors.add(rows, outputs[rows])
    return errors


def test_pair_errors_are_means_over_pairs_of_trees():
    assert judged().mean(WEIGHT) == pytest.approx(mean_product(1.0, np.zeros(2)))
    assert PairErrors(TARGET).mean(WEIGHT) == np.inf


def test_stretching_takes_the_factor_that_is_best():
    among = [row for row, _, _ in pairs()]
    center = np.average(TARGET[among], axis=0, weights=WEIGHT[among])
    best = minimize_scalar(mean_product, args=(center,), bounds=(0.0, 100.0), method="bounded")
    assert 0.01 < best.x < 99.0 and best.fun < mean_product(1.0, center)
    assert judged().mean(WEIGHT, stretched=True) == pytest.approx(best.fun, rel=1e-6)


def test_those_that_say_the_opposite_are_as_good_as_the_mean():
    spread = judged(np.zeros_like(SAID) + TARGET.mean(axis=0)).mean(WEIGHT)
    opposite = judged(np.broadcast_to(-TARGET, SAID.shape)).mean(WEIGHT, stretched=True)
    assert 0.0 < opposite <= spread


def test_the_scatter_of_trees_does_not_count():
    errors, rng = PairErrors(np.zeros((2000, 1))), np.random.default_rng(0)
    for _ in range(4):
        errors.add(np.arange(2000), 0.5 + rng.normal(size=(2000, 1)))
    assert errors.mean(np.ones(2000)) == pytest.approx(0.25, abs=0.05)
