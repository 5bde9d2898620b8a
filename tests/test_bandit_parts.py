"""Decisions, feedback, exploration rules and recipes."""

import json

import numpy as np
import pytest

from dgtrees.bandit import BanditRecipe, ContinuousDecision, Decision, Epsilon, InverseGap
from dgtrees.bandit.explore import DecayingEpsilon, Greedy, Softmax, exploration
from dgtrees.bandit.feedback import checked_range, loss_pair, loss_share
from dgtrees.bandit.recipe import RECIPES


def test_decisions_come_back_from_json_exactly():
    decision = Decision(3, 0.1 + 0.2, "abc", 7)
    assert Decision.from_json(decision.to_json()) == decision
    logged = json.loads(decision.to_json()) | {"loss": 0.5, "time": "now"}
    assert Decision.from_json(logged) == decision
    pair = ContinuousDecision((1 / 3, 2 / 3), 0.5, "abc", 7)
    assert ContinuousDecision.from_json(pair.to_json()) == pair
    assert pair.action == 1 / 3


@pytest.mark.parametrize("text", ["{}", "[1, 2]", '{"action": 1}'])
def test_other_json_is_refused(text):
    with pytest.raises(ValueError, match="has the fields action, probability, policy, number"):
        Decision.from_json(text)


def test_decisions_are_frozen():
    with pytest.raises(AttributeError):
        Decision(1, 0.5, "", 1).action = 2


@pytest.mark.parametrize(
    "rule", [Epsilon(0.2), DecayingEpsilon(9, 0.1), Softmax(2.0), InverseGap(3.0, 0.4), Greedy()]
)
def test_rules_come_back_from_json_and_from_their_names(rule):
    assert exploration(json.loads(json.dumps(rule.to_json()))) == rule
    assert type(exploration(rule.rule)) is type(rule)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Epsilon(1.1), "delta must be a number from 0 to 1, got 1.1"),
        (lambda: Epsilon(np.nan), "delta"),
        (lambda: Epsilon("much"), "delta"),
        (lambda: DecayingEpsilon(half=0), "half"),
        (lambda: Softmax(0), "temperature"),
        (lambda: InverseGap(-1), "scale"),
        (lambda: BanditRecipe(replay=-1), "replay must be a whole number from 0"),
        (lambda: BanditRecipe(replay=1.5), "replay must be a whole number"),
        (lambda: BanditRecipe(node_rate=np.nan), "node_rate must be a number"),
        (lambda: BanditRecipe(residual="cubic"), "residual must be one of"),
        (lambda: BanditRecipe(explore="epsilon"), "explore must be a rule"),
        (lambda: checked_range("r", 0, True), "two finite numbers"),
        (lambda: loss_pair("ab", 2), "pair of losses"),
        (lambda: loss_pair(1e13, 1), "at most 1e\\+12, got .*larger unit"),
        (lambda: loss_share(None, 0, 1), "must be a number, got None"),
    ],
)
def test_wrong_numbers(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_paper_is_one_value_of_the_recipe():
    paper = RECIPES["paper"]["constant"]
    assert (paper.explore, paper.residual, paper.accumulate) == (Epsilon(0.3), "squared", 4)
    told = paper.settings(50, 3, 6, False)
    assert told.node_rate == told.leaf_rate == 1e-3
    assert told.replay == 0 and told.averaging == 0
