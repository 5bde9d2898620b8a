"""Decisions, and the line of JSON they are logged as."""

import json

import pytest

from dgtrees.bandit import ContinuousDecision, Decision


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
        (Decision, GOOD, {"action": ""}),
        (Decision, GOOD, {"id": "01"}),
        (Decision, GOOD, {"id": 7}),
        (Decision, GOOD, {"probabilities": [0.5]}),
        (Decision, GOOD, {"probabilities": {"1": 1.5}}),
        (Decision, GOOD, {"probabilities": {"one": 0.5}}),
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


def test_decisions_that_nobody_can_have_taken_are_refused():
    Decision(1, 0.5).check(2)
    with pytest.raises(ValueError, match="action must be a whole number from 0 to 1, got 2"):
        Decision(2, 0.5).check(2)
    with pytest.raises(ValueError, match="probability must be above 0 and at most 1, got 0"):
        Decision(1, 0).check(2)
    ContinuousDecision((0.4, 0.6), 0.5).check(2, 0.0, 1.0)
    with pytest.raises(ValueError, match=r"centre 0\.5 in the middle"):
        ContinuousDecision((0.4, 0.9), 0.5).check(2, 0.0, 1.0)
    with pytest.raises(ValueError, match="one-point feedback has 1 action"):
        ContinuousDecision((0.4, 0.6), 0.5).check(1, 0.0, 1.0)
