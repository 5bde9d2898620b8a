"""Exploration rules: names, files and numbers; what they draw is in test_tree_exploration.py."""

import json

import numpy as np
import pytest

from dgtrees.bandit import DecayingEpsilon, Epsilon, Greedy, InverseGap, Softmax
from dgtrees.bandit.explore import find_rule


@pytest.mark.parametrize(
    "rule", [Epsilon(0.2), DecayingEpsilon(9, 0.1), Softmax(2.0), InverseGap(3.0, 0.4), Greedy()]
)
def test_rules_come_back_from_json_and_from_their_names(rule):
    assert find_rule(json.loads(json.dumps(rule.to_json()))) == rule
    assert type(find_rule(rule.rule)) is type(rule)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Epsilon(1.1), "delta must be a number from 0 to 1, got 1.1"),
        (lambda: Epsilon(np.nan), "delta"),
        (lambda: Epsilon("much"), "delta"),
        (lambda: DecayingEpsilon(half=0), "half"),
        (lambda: Softmax(0), "temperature"),
        (lambda: InverseGap(-1), "scale"),
        (lambda: find_rule(["x"]), "explore must be a rule .* got \\['x'\\]"),
        (lambda: find_rule({"rule": "epsilon", "often": 1}), "explore must be a rule"),
        (lambda: Softmax(10**400), "temperature"),
    ],
)
def test_wrong_numbers_of_rules_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
