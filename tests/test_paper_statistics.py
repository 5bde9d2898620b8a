"""Means, the t-test and its verdicts."""

import doctest

import numpy as np
import pytest
from scipy import stats

from dgtrees.paper import statistics


def test_examples_in_docstrings():
    assert doctest.testmod(statistics) == (0, 1)


def test_t_test_is_scipys():
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b = rng.normal(1.0, 0.1, 10), rng.normal(1.1, 0.2, 7)
        expected = stats.ttest_ind(a, b).pvalue
        found = statistics.p_value(statistics.summarise(a), statistics.summarise(b))
        assert found == pytest.approx(expected, rel=1e-9)


def test_verdicts():
    low, high = statistics.summarise([1.0, 1.1, 0.9]), statistics.summarise([2.0, 2.1, 1.9])
    assert statistics.compare(low, high, "rmse") == "better"
    assert statistics.compare(low, high, "accuracy") == "worse"
    assert statistics.compare(low, low, "rmse") == "level"
    assert statistics.compare(low, statistics.summarise([5.0]), "rmse") is None
    same = statistics.summarise([1.0, 1.0])
    assert statistics.p_value(same, same) == 1.0
    assert statistics.p_value(same, statistics.summarise([2.0, 2.0])) == 0.0
    assert statistics.find_best({"a": low, "b": high, "c": low}, "rmse") == {"a", "c"}
    assert statistics.find_best({"a": low, "b": high}, "auc") == {"b"}
    assert statistics.find_best({"a": low}, "auc") == set()  # the best of what?


def test_intervals_are_those_of_the_t_distribution():
    values = np.random.default_rng(0).normal(size=(6, 1))
    low, high = stats.t.interval(0.95, 5, values.mean(), stats.sem(values[:, 0]))
    assert statistics.half_interval(values)[0] == pytest.approx((high - low) / 2)
