"""The online tree as a learner: masks, copies, and the same as ever where all is allowed."""

import copy

import numpy as np
import pytest

from dgtrees import DGTBandit
from dgtrees.bandit.learner import Learner
from dgtrees.bandit.online_recipe import RECIPES
from dgtrees.bandit.tree_learner import TreeLearner
from taught_policies import X, teach

ALL = np.ones(4, dtype=bool)


def make(seed=0, **more):
    return TreeLearner(5, 4, 3, True, RECIPES["default"]["linear"], (0.0, 1.0), seed, **more)


def play(learner, rows=range(100), allowed=ALL):
    for row in rows:
        action, chances = learner.decide(X[row], allowed)
        learner.learn(X[row], action, -float(action != row % 4), chances[action])
    return learner


def test_it_is_a_learner():
    learner = play(make())
    assert isinstance(learner, Learner) and learner.n_answers == 100
    assert learner.expected(X).shape == (400, 4)
    np.testing.assert_array_equal(learner.tree().apply(X), learner.outputs(X)[0])


def test_only_allowed_actions_are_drawn_and_their_chances_are_exact():
    learner, mask = play(make()), np.array([True, False, True, False])
    chances = learner.probabilities(X[0], mask)
    assert (chances[~mask] == 0).all() and chances.sum() == pytest.approx(1.0)
    drawn = np.bincount([learner.decide(X[0], mask)[0] for _ in range(3000)], minlength=4)
    np.testing.assert_allclose(drawn / 3000, chances, atol=0.03)
    before = learner.probabilities(X[0], ALL)
    assert learner.decide(X[0], ALL)[1].tolist() == before.tolist()


def test_copies_and_packs_go_on_the_same_way():
    learner = play(make())
    twins = [copy.deepcopy(learner), TreeLearner.unpack(*learner.pack())]
    for twin in twins:
        assert play(copy.deepcopy(learner), range(50)).pack()[1].keys() == twin.pack()[1].keys()
        for name, array in play(copy.deepcopy(learner), range(50)).pack()[1].items():
            np.testing.assert_array_equal(
                array, play(copy.deepcopy(twin), range(50)).pack()[1][name]
            )
    twin = copy.deepcopy(learner)
    twin.reseed(5)
    same = [learner.decide(X[0], ALL)[0] == twin.decide(X[0], ALL)[0] for _ in range(200)]
    assert not all(same)


def test_what_it_cannot_do_is_refused_in_one_line():
    learner = make()
    for call, message in [
        (lambda: learner.add_features(1), "takes rows of 5 features, got 1 more: use recipe='def"),
        (lambda: learner.add_action(None), "keeps its 4 actions"),
        (lambda: learner.learn(X[0], 0, 0.5, 0.5), "between 0 and 1"),
    ]:
        with pytest.raises(ValueError, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="half_life is for the default recipe"):
        DGTBandit(2, 2, "constant", half_life=100.0)


def test_policies_of_the_tree_have_names_and_paths_too(tmp_path):
    import dgtrees

    policy = DGTBandit(actions=["a", "b", "c"], max_depth=2, leaf="linear", random_state=0)
    for x in X[:100]:
        decision = policy.decide(x, allowed=["a", "c"])
        policy.learn(x, decision, float(decision.action != "ac"[int(x[0] > 0)]))
    told = policy.explain(X[0])
    assert told.path is not None and "node 0" in str(told) and "<pre>" in told._repr_html_()
    with pytest.raises(ValueError, match="keeps its 3 actions, got 'd'"):
        policy.add_action("d")
    policy.retire_action("b")
    policy.save(tmp_path / "p.dgt")
    twin = dgtrees.load(tmp_path / "p.dgt")
    assert twin.actions == ["a", "c"] and twin.predict(X).tolist() == policy.predict(X).tolist()
    assert twin.decide(X[0])[:4] == policy.decide(X[0])[:4]
    with pytest.raises(ValueError, match="row of numbers, got"):
        policy.decide({"a": 1})
    worker = teach(DGTBandit(4, 2, "constant", random_state=0), range(30)).fork(3)
    assert worker.n_answers == 30
