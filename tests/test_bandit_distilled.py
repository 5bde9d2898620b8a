"""distil: one hard tree in place of a policy that is none."""

import numpy as np
import pytest

from dgtrees import DGTBandit, export_text
from dgtrees.errors import StateError

rng = np.random.default_rng(0)
CUSTOMERS = [
    {"age": int(rng.integers(18, 80)), "city": str(rng.choice(["Pune", "Rome", "Oslo"]))}
    for _ in range(600)
]


def _wanted(customer):
    return "gift" if customer["city"] == "Rome" else "call" if customer["age"] > 50 else "mail"


@pytest.fixture(scope="module")
def policy():
    policy = DGTBandit(actions=["mail", "gift", "call"], random_state=0)
    for customer in CUSTOMERS:
        decision = policy.decide(customer)
        policy.learn(customer, decision, reward=float(decision.action == _wanted(customer)))
    return policy


@pytest.mark.parametrize(("leaf", "share"), [("constant", 0.8), ("linear", 0.9)])
def test_the_tree_answers_nearly_as_the_policy_does(policy, leaf, share):
    model = policy.distil(4, leaf)
    rows = policy.encode(CUSTOMERS)
    assert (model.predict(rows) == policy.predict(CUSTOMERS)).mean() > share
    rules = export_text(model)
    assert "age" in rules and "Rome" in rules
    assert len(policy.feature_names_) == rows.shape[1]


def test_the_same_policy_gives_the_same_tree_and_does_not_change(policy, tmp_path):
    policy.save(tmp_path / "before.dgt")
    one, other = policy.distil(3), policy.distil(3)
    np.testing.assert_array_equal(one.forest.trees[0].weights, other.forest.trees[0].weights)
    policy.save(tmp_path / "after.dgt")
    assert (tmp_path / "before.dgt").read_bytes() == (tmp_path / "after.dgt").read_bytes()


def test_what_is_no_single_tree_says_what_makes_one(policy):
    with pytest.raises(StateError, match=r"distil\(\) makes one"):
        policy.tree_  # noqa: B018


def test_an_online_tree_is_one_already():
    policy = DGTBandit(n_actions=2, max_depth=2, leaf="constant", random_state=0)
    for i in range(30):
        x = rng.normal(size=2)
        policy.learn(x, policy.decide(x), float(i % 2))
    np.testing.assert_array_equal(
        policy.distil().forest.trees[0].weights, policy.model_.forest.trees[0].weights
    )


def test_too_few_answers_and_wrong_arguments(policy):
    fresh = DGTBandit(n_actions=2, random_state=0)
    with pytest.raises(StateError, match="has not seen a row yet"):
        fresh.distil()
    fresh.learn([1.0, 2.0], fresh.decide([1.0, 2.0]), 0.0)
    with pytest.raises(StateError, match="at least 20 answers, got 1"):
        fresh.distil()
    with pytest.raises(ValueError, match="leaf must be"):
        policy.distil(leaf="round")
    with pytest.raises(ValueError, match="max_depth"):
        policy.distil(0)
