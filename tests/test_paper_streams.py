"""Methods that learn from the loss of their own actions."""

import pytest

from dgtrees.paper import streams
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
