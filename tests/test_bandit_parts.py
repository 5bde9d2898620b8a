"""Decisions, feedback, exploration rules and recipes."""

import json

import numpy as np
import pytest

from dgtrees.bandit import BanditRecipe, ContinuousDecision, Decision, Epsilon, InverseGap
from dgtrees.bandit.explore import DecayingEpsilon, Greedy, Softmax, exploration
from dgtrees.bandit.feedback import checked_range, loss_pair, loss_share
from dgtrees.bandit.online_recipe import RECIPES
from dgtrees.paper.baselines import decision as rivals


def test_decisions_come_back_from_json_exactly():
    decision = Decision(3, 0.1 + 0.2, "abc", 7)
    assert Decision.from_json(decision.to_json()) == decision
    logged = json.loads(decision.to_json()) | {"loss": 0.5, "time": "now"}
    assert Decision.from_json(logged) == decision
    pair = ContinuousDecision((1 / 3, 2 / 3), 0.5, "abc", 7)
    assert ContinuousDecision.from_json(pair.to_json()) == pair
    assert pair.action == 1 / 3


@pytest.mark.parametrize("text", ["{}", "[1, 2]", '{"action": 1}', "{", "", b"\xff", 3, None])
def test_other_json_is_refused(text):
    with pytest.raises(ValueError, match="has the fields action, probability, policy, number"):
        Decision.from_json(text)


GOOD = {"action": 1, "probability": 0.5, "policy": "a", "number": 1}
PAIR = {"actions": [0.0, 1.0], "centre": 0.5, "policy": "a", "number": 1}


@pytest.mark.parametrize(
    ("kind", "good", "change"),
    [
        (Decision, GOOD, {"action": "1"}),
        (Decision, GOOD, {"action": 1.5}),
        (Decision, GOOD, {"action": True}),
        (Decision, GOOD, {"action": None}),
        (Decision, GOOD, {"probability": "0.5"}),
        (Decision, GOOD, {"probability": [0.5]}),
        (Decision, GOOD, {"probability": 10**400}),
        (Decision, GOOD, {"policy": 3}),
        (Decision, GOOD, {"number": "1"}),
        (ContinuousDecision, PAIR, {"actions": 1.0}),
        (ContinuousDecision, PAIR, {"actions": "12"}),
        (ContinuousDecision, PAIR, {"actions": []}),
        (ContinuousDecision, PAIR, {"actions": [1.0, None]}),
        (ContinuousDecision, PAIR, {"centre": "x"}),
        (ContinuousDecision, PAIR, {"policy": None}),
        (ContinuousDecision, PAIR, {"number": 1.5}),
    ],
)
def test_logged_fields_of_a_wrong_type_are_refused(kind, good, change):
    kind.from_json(json.dumps(good))
    with pytest.raises(ValueError, match=next(iter(change))) as caught:
        kind.from_json(json.dumps(good | change))
    assert "\n" not in str(caught.value)


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
        (lambda: loss_share(True, 0, 1), "must be a number, got True"),
        (lambda: loss_share("0.5", 0, 1), "must be a number, got '0.5'"),
        (lambda: loss_share(10**400, 0, 1), "loss must fit a float"),
        (lambda: loss_pair(10**400, 1), "loss must fit a float"),
        (lambda: loss_pair([[1], [1, 2]], 2), "must be a number, got \\[1\\]"),
        (lambda: loss_pair({0: 1, 1: 2}, 2), "pair of losses"),
        (lambda: loss_pair([1.0, True], 2), "must be a number, got True"),
        (lambda: checked_range("r", 0, 10**400), "two finite numbers"),
        (lambda: checked_range("r", -1e308, 1e308), "and their difference too"),
        (lambda: checked_range("r", 1.0, 1.0 + 2e-16), "further apart"),
        (lambda: checked_range("r", 0.0, 5e-324), "further apart"),
        (lambda: exploration(["x"]), "explore must be a rule .* got \\['x'\\]"),
        (lambda: exploration({"rule": "epsilon", "often": 1}), "explore must be a rule"),
        (lambda: Softmax(10**400), "temperature"),
        (lambda: BanditRecipe(replay=True), "replay must be a whole number"),
        (lambda: BanditRecipe(node_rate="1"), "node_rate must be a number"),
        (lambda: BanditRecipe(baseline=None), "baseline must be True or False"),
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


@pytest.mark.parametrize(
    ("change", "loss", "message"),
    [
        ({}, True, "a loss must be a number"),
        ({}, "0.5", "a loss must be a number"),
        ({}, 10**400, "a loss must be a number that fits a float"),
        ({"action": True}, 0.5, "action must be from 0 to 2, got True"),
        ({"action": 0.5}, 0.5, "action must be from 0 to 2, got 0.5"),
        ({"probability": "1"}, 0.5, "probability must be a number"),
    ],
)
def test_rivals_know_numbers_too(change, loss, message):
    decision = rivals.Decision(1, 0.5)
    assert rivals.check_feedback(decision, np.float32(0.5), 3) == (1, 0.5, 0.5)
    with pytest.raises(ValueError, match=message):
        rivals.check_feedback(decision._replace(**change), loss, 3)
