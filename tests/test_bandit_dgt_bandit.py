"""DGTBandit: what it learns from, and what it refuses."""

import numpy as np
import pytest

import dgtrees
from dgtrees import BanditRecipe, DGTBandit, DGTContinuousBandit
from dgtrees.bandit import (
    DecayingEpsilon,
    Decision,
    Log,
    evaluate,
)
from dgtrees.tables.encoder import Encoder, columns_of
from dgtrees.tree.state import view_state
from taught_policies import X, Y, saved, teach, teach_value

DECISION = Decision(1, 0.5, "", 1)


BAD = {
    "loss above its range": (X[0], {}, 1.5, ValueError, r"between 0 and 1, got 1.5: .*loss_range"),
    "loss below its range": (X[0], {}, -0.1, ValueError, "between 0 and 1"),
    "loss NaN": (X[0], {}, np.nan, ValueError, "between 0 and 1, got nan"),
    "loss of text": (X[0], {}, "bad", ValueError, "must be a number, got 'bad'"),
    "feature NaN": (np.array([0, np.nan, 0, 0, 0]), {}, 0.5, ValueError, "nan for feature 1"),
    "feature infinite": (np.array([0, 0, -np.inf, 0, 0]), {}, 0.5, ValueError, "-inf for feature"),
    "feature huge": (np.array([0, 0, 1e35, 0, 0]), {}, 0.5, ValueError, "rescale"),
    "too few features": (X[0][:3], {}, 0.5, ValueError, "must have 5 features .* got 3"),
    "rows for a row": (X[:2], {}, 0.5, ValueError, "one row"),
    "text": (["a"] * 5, {}, 0.5, ValueError, "row of numbers"),
    "action too high": (X[0], {"action": 4}, 0.5, ValueError, "from 0 to 3, got 4"),
    "action negative": (X[0], {"action": -1}, 0.5, ValueError, "from 0 to 3, got -1"),
    "action broken": (X[0], {"action": 1.5}, 0.5, ValueError, "from 0 to 3, got 1.5"),
    "action NaN": (X[0], {"action": np.nan}, 0.5, ValueError, "from 0 to 3, got nan"),
    "probability 0": (X[0], {"probability": 0.0}, 0.5, ValueError, "above 0 .* got 0.0"),
    "probability above 1": (X[0], {"probability": 1.01}, 0.5, ValueError, "at most 1, got 1.01"),
    "probability NaN": (X[0], {"probability": np.nan}, 0.5, ValueError, "got nan"),
    "loss True": (X[0], {}, True, ValueError, "must be a number, got True"),
    "loss text of a number": (X[0], {}, "0.5", ValueError, "must be a number, got '0.5'"),
    "loss beyond floats": (X[0], {}, 10**400, ValueError, "must fit a float"),
    "action True": (X[0], {"action": True}, 0.5, ValueError, "whole number from 0 to 3, got True"),
    "action text": (X[0], {"action": "1"}, 0.5, ValueError, "from 0 to 3, got '1'"),
    "probability text": (X[0], {"probability": "1"}, 0.5, ValueError, "must be a number, got '1'"),
    "probability None": (X[0], {"probability": None}, 0.5, ValueError, "got None"),
    "another policy": (X[0], {"policy": "other"}, 0.5, ValueError, "got one of 'other'"),
}


def test_learns_what_only_losses_tell():
    policy = DGTBandit(4, 4, "constant", random_state=0)
    for passes in range(10):
        teach(policy, np.random.default_rng(passes).permutation(400))
    assert (policy.predict(X) == Y).mean() > 0.95
    loss = policy.expected_loss(X)
    assert loss[np.arange(400), Y].mean() < 0.2
    assert policy.n_answers == policy.n_decisions == 4000


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_and_changes_nothing(case, tmp_path):
    x, change, loss, error, message = BAD[case]
    policy = teach(DGTBandit(4, 3, "constant", random_state=1), range(30))
    before = saved(policy, tmp_path)
    decision = DECISION._replace(**{"policy": policy.id, **change})
    with pytest.raises(error, match=message) as caught:
        policy.learn(x, decision, loss)
    assert "\n" not in str(caught.value)
    with pytest.raises(error, match=message):
        policy.learn_many(
            np.array([X[1], x]) if np.shape(x) == (5,) and case != "text" else [X[1], x],
            [DECISION._replace(policy=policy.id), decision],
            [0.0, loss],
        ) if case not in ("too few features", "rows for a row", "text") else policy.decide(x)
    assert saved(policy, tmp_path) == before


def test_other_things_than_decisions_are_refused(tmp_path):
    policy = teach(DGTBandit(4, 3, "constant", random_state=1), range(30))
    before = saved(policy, tmp_path)
    with pytest.raises(TypeError, match="that decide returned, got 2"):
        policy.learn(X[0], 2, 0.0)
    with pytest.raises(ValueError, match="equally many, got 2, 1, 2"):
        policy.learn_many(X[:2], [DECISION], [0.0, 0.0])
    twin = DGTBandit(4, 3, "constant", random_state=1)
    with pytest.raises(ValueError, match="one of this policy"):
        policy.learn(X[0], twin.decide(X[0]), 0.0)
    assert saved(policy, tmp_path) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_actions": 1}, "n_actions must be a whole number from 2"),
        ({"max_depth": 0}, "max_depth must be a whole number from 1"),
        ({"leaf": "soft"}, "leaf must be one of"),
        ({"recipe": "best"}, "recipe must be default, paper"),
        ({"explore": "often"}, "explore must be a rule"),
        ({"loss_range": (1, 0)}, "loss_range must ascend"),
        ({"loss_range": (0, np.inf)}, "finite"),
        ({"loss_range": (0, 1, 2)}, "pair"),
        ({"actions": ["a", "b"]}, "actions or n_actions, got both"),
        ({"n_actions": None}, "actions or n_actions, got neither"),
        ({"n_actions": None, "actions": ["a"]}, "from 2 to 100000 names, got 1"),
        ({"n_actions": None, "actions": "ab"}, "a list of names, got 'ab'"),
        ({"n_actions": None, "actions": ["a", "a"]}, "different names, got 'a' twice"),
        ({"n_actions": None, "actions": ["a", 1]}, "all text, got 1"),
        ({"n_actions": None, "actions": ["a", ""]}, "text of some length, got ''"),
        ({"n_actions": None, "actions": [0.5, 1]}, "text or whole numbers, got 0.5"),
        ({"action_features": {9: {"size": 1}}}, "from 0 to 2, got 9"),
        ({"action_features": [1]}, "a dict of a dict per action"),
        ({"loss_range": [[1], [1, 2]]}, "two finite numbers"),
        ({"leaf": ["constant"]}, "leaf must be one of"),
        ({"loss_range": "ab"}, "pair of numbers, got 'ab'"),
        ({"loss_range": (-1e308, 1e308)}, "difference"),
        ({"explore": ["x"]}, "explore must be a rule"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        DGTBandit(**{"n_actions": 3} | arguments)


def test_losses_of_another_range(tmp_path):
    shares = DGTBandit(4, 3, "constant", random_state=1)
    euros = DGTBandit(4, 3, "constant", random_state=1, loss_range=(-10, 30))
    for i in range(100):
        one, other = shares.decide(X[i]), euros.decide(X[i])
        assert one[:2] == other[:2]
        shares.learn(X[i], one, float(one.action != Y[i]))
        euros.learn(X[i], other, 40 * (other.action != Y[i]) - 10)
    np.testing.assert_allclose(euros.expected_loss(X), 40 * shares.expected_loss(X) - 10)


def test_learn_many_is_many_learns(tmp_path):
    one, other = (DGTBandit(4, 3, "constant", random_state=1) for _ in "ab")
    decisions = [(one.decide(x), other.decide(x)) for x in X[:50]]
    losses = np.linspace(0, 1, 50)
    one.learn_many(X[:50].astype(np.float32), [d for d, _ in decisions], losses)
    for x, (_, decision), loss in zip(X.astype(np.float32), decisions, losses, strict=False):
        other.learn(x, decision, loss)
    np.testing.assert_array_equal(view_state(one._arena).nodes, view_state(other._arena).nodes)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_numbers_of_numpy_are_saved_like_any(tmp_path):
    recipe = BanditRecipe(
        explore=DecayingEpsilon(np.int64(5), np.float32(0.5)),
        node_rate=np.float32(0.5), replay=np.int64(2), capacity=np.uint8(9),
        rates_by_width=np.bool_(True), averaging=np.float16(0.25), clip=np.int32(3),
    )  # fmt: skip
    policy = DGTBandit(
        np.int64(4), np.int8(2), recipe=recipe, random_state=np.uint32(3),
        loss_range=np.array([0, 1], dtype=np.float32),
    )  # fmt: skip
    same = DGTBandit(4, 2, explore=DecayingEpsilon(5, 0.5), random_state=3,
        recipe=BanditRecipe(node_rate=0.5, replay=2, capacity=9, averaging=0.25, clip=3),
    )  # fmt: skip
    same.id = policy.id
    assert saved(teach(policy), tmp_path) == saved(teach(same), tmp_path)
    value = DGTContinuousBandit(np.float32(0), np.int64(4), np.int64(2), delta=np.float32(0.5))
    teach_value(value).save(tmp_path / "p.dgt")
    assert dgtrees.load(tmp_path / "p.dgt").delta == 0.5
    with pytest.raises(ValueError, match="rates_by_width must be True or False, got 1"):
        BanditRecipe(rates_by_width=1)


def test_evaluate_judges_a_policy_with_its_exploration():
    policy = teach(DGTBandit(4, 3, "constant", random_state=1))
    chances = policy.action_probabilities(X)
    actions = np.arange(400) % 4
    log = Log(X, actions, np.full(400, 0.25), (actions != Y).astype(float), n_actions=4)
    assert evaluate(policy, log) == evaluate(chances, log)
    assert evaluate(policy, log).value > evaluate(policy.predict(X), log).value
    assert policy.action_probabilities(X[:0]).shape == (0, 4)


def test_learn_many_takes_frames_and_iterators_and_nothing(tmp_path):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"size": X[:20, 0], "kind": ["a", "b"] * 10})
    encoder = Encoder(min_frequency=1).fit(columns_of(table))
    files = []
    for rows in (table, table.to_numpy(), iter(table.to_numpy()), table[["kind", "size"]]):
        policy = DGTBandit(2, 2, "constant", encoder=encoder, random_state=0)
        policy.id = "5a" * 16
        decisions = [policy.decide(table[i : i + 1]) for i in range(20)]
        before = saved(policy, tmp_path)
        policy.learn_many([], [], [])
        policy.learn_many(table[:0], [], np.empty(0))
        with pytest.raises(ValueError, match="must be sequences, got 3") as caught:
            policy.learn_many(3, decisions, 4)
        assert "\n" not in str(caught.value)
        assert saved(policy, tmp_path) == before
        policy.learn_many(rows, iter(decisions), (0.5 for _ in decisions))
        files.append(saved(policy, tmp_path))
    assert len(set(files)) == 1


def test_the_same_decision_learnt_twice_counts_once():
    policy = DGTBandit(4, 3, "constant", random_state=1)
    decision = policy.decide(X[0])
    assert [policy.learn(X[0], decision, 1.0) for _ in "ab"] == ["learnt", "duplicate"]
    assert policy.n_answers == 1
    old = Decision(*decision[:4])  # as earlier releases logged it, without an id
    assert [policy.learn(X[0], old, 1.0) for _ in "ab"] == ["learnt", "learnt"]


def test_expected_losses_of_extreme_scores_come_without_a_warning():
    policy = teach(DGTBandit(4, 3, "constant", random_state=1), range(3))
    view_state(policy._arena).mean_leaves[:] = np.array([[1e4], [-1e4], [0.0], [800.0]])
    assert policy.expected_loss(X[:1])[0].tolist() == [0.0, 1.0, 0.5, 0.0]
