"""Methods that learn from the loss of their own actions."""

import numpy as np
import pytest

from dgtrees.paper import streams
from dgtrees.paper.catalog import Split
from paper_cells import KNOWN


def test_huber_is_squared_near_and_linear_far():
    near, far = streams.huber(0.55, 0.5), streams.huber(1.5, 0.5)
    assert near == pytest.approx(0.5 * 0.05**2)
    assert far == pytest.approx(0.1 * (1.0 - 0.05))


def test_settings_of_the_stream_are_not_the_policys():
    settings = {"queries": [10], "height": 3, "leaf": "constant"}
    policy = streams.make_policy("dgt-bandit", 8, 0, settings, n_actions=4)
    assert (policy.n_actions, policy.max_depth) == (4, 3)


def test_every_kind_is_used_by_an_experiment():
    used = {method.kind for experiment in KNOWN.values() for method in experiment.methods.values()}
    assert {*streams.CLASSES, *streams.VALUES} <= used


def test_the_best_pass_on_validation_rows_is_judged():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = 10 * (X[:, 0] > 0) + rng.normal(size=300)
    parts = (X[:200], y[:200], X[200:250], y[200:250], X[250:], y[250:])
    data = Split("made up", *parts)
    settings = {
        "recipe": "paper", "leaf": "constant", "feedback": "two-point", "passes": [30],
        "keep_best": True, "n_layers": 1, "batch_size": 16,
    }  # fmt: skip
    run = lambda final: streams.run_stream("dgt-continuous", 2, 0, settings, data, final)  # noqa: E731
    val, test = run(False)["score"], run(True)["score"]
    assert 0.5 < val < 3.0 and 0.5 < test < 3.0  # 5 for their mean, 1 for their noise
    assert run(True) == run(True)
