"""The compiled online step against tests/reference_online.py."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_online
from dgtrees.bandit import (
    BanditRecipe,
    DecayingEpsilon,
    DGTBandit,
    DGTContinuousBandit,
    Epsilon,
    Greedy,
    InverseGap,
    Softmax,
)
from dgtrees.bandit.online_recipe import RECIPES
from dgtrees.tree import online
from dgtrees.tree.state import AVERAGE, PARTS, VALUE, make_arena, make_room, view_state

RULES = [Epsilon(0.3), DecayingEpsilon(5, 0.1), Softmax(0.5), InverseGap(2.0, 0.5), Greedy()]

recipes = st.builds(
    BanditRecipe,
    explore=st.sampled_from(RULES),
    residual=st.sampled_from(["logistic", "squared"]),
    leaf_weight_cap=st.sampled_from([1.0, 5.0, np.inf]),
    node_weight_cap=st.sampled_from([1.0, np.inf]),
    node_rate=st.sampled_from([1e-3, 0.05]),
    node_rate_half=st.sampled_from([0.0, 3.0]),
    leaf_optimizer=st.sampled_from(["adagrad", "rmsprop", "sgd"]),
    leaf_rate=st.sampled_from([0.1, 1.0]),
    rates_by_width=st.booleans(),
    accumulate=st.integers(1, 4),
    replay=st.integers(0, 3),
    averaging=st.sampled_from([0.0, 0.1]),
    scaling=st.sampled_from(["standard", "absolute"]),
    clip=st.sampled_from([1.5, 5.0]),
    leaf_spread=st.sampled_from([0.0, 1.0]),
    output_bias=st.booleans(),
    mean_gradients=st.booleans(),
    epsilon=st.sampled_from([1e-8, 1e-5]),
    gradient_clip=st.sampled_from([0.0, 0.01]),
)


@settings(max_examples=60)
@given(
    recipe=recipes,
    height=st.integers(1, 4),
    actions=st.integers(2, 5),
    d=st.integers(1, 9),
    linear=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_step_agrees_with_the_slow_learner(recipe, height, actions, d, linear, seed):
    rng = np.random.default_rng(seed)
    arena = make_arena(recipe.settings(d, actions, height, linear), seed, recipe.leaf_spread)
    state = view_state(arena)
    slow = reference_online.SlowLearner(state, recipe, linear)
    room = 100 if recipe.replay else 0
    for _ in range(12):
        x = 10 * rng.normal(size=d) + 3
        action, probability, _ = online.decide(x, *arena)
        second, best = np.sort(slow.scores(x))[-2:]
        expected, p = slow.decide(x)
        if best - second > 1e-5:  # a tie is decided by rounding, in either
            assert action == expected
            assert probability == pytest.approx(p[action], abs=1e-3)
        loss = float(rng.random())
        arena = make_room(arena, 1, room)
        online.learn_one(x, action, loss, probability, *arena)
        slow.learn(x, action, loss, probability)
    state = view_state(arena)
    close = {"rtol": 1e-3, "atol": 2e-4}
    np.testing.assert_allclose(state.nodes, slow.nodes, **close)
    np.testing.assert_allclose(state.leaves.T, slow.leaves, **close)
    np.testing.assert_allclose(state.bias[VALUE], slow.bias[0], **close)
    if linear:
        np.testing.assert_allclose(state.slopes, slow.slopes, **close)
    if recipe.averaging:
        np.testing.assert_allclose(state.mean_nodes, slow.means["nodes"], **close)
        np.testing.assert_allclose(state.mean_leaves.T, slow.means["leaves"], **close)
        np.testing.assert_allclose(state.bias[AVERAGE], slow.means["bias"][0], **close)
    assert [int(r) for r in state.random] == slow.random


def test_actions_are_drawn_with_the_probability_that_is_reported():
    policy = DGTBandit(3, 1, explore=Softmax(1.0), random_state=0)
    x = np.ones(2)
    policy.decide(x)
    view_state(policy._arena).mean_leaves[:] = np.array([[0.0], [1.0], [2.0]])
    view_state(policy._arena).leaves[:] = np.array([[0.0], [1.0], [2.0]])
    decisions = [policy.decide(x) for _ in range(20_000)]
    share = np.bincount([d.action for d in decisions]) / len(decisions)
    expected = policy.action_probabilities(x[None])[0]
    assert np.abs(share - expected).max() < 0.015
    assert {d.probability for d in decisions} == set(expected)


def assert_same_state(one, other):
    for name, array in view_state(one._arena)._asdict().items():
        if PARTS[name].saved:
            np.testing.assert_array_equal(array, getattr(view_state(other._arena), name), name)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.rule)
@pytest.mark.parametrize(
    ("leaf", "bounds"), [("constant", (0, 1)), ("linear", (0, 1)), ("constant", (-0.3, 1.1))]
)
def test_the_stream_does_what_decide_and_learn_do(rule, leaf, bounds):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 4)), rng.integers(3, size=300)
    recipe = replace(BanditRecipe(), replay=2, capacity=64)
    options = {"explore": rule, "recipe": recipe, "loss_range": bounds, "random_state": 5}
    one, other = (DGTBandit(3, 3, leaf, **options) for _ in "ab")
    losses = one._stream(X, y, np.arange(300), np.zeros(8, dtype=np.int64), "0-1")
    for i in range(300):
        decision = other.decide(X[i])
        other.learn(X[i], decision, float(decision.action != y[i]))
        assert losses[i] == float(decision.action != y[i])
    assert_same_state(one, other)


def test_the_stream_refuses_losses_outside_the_range():
    policy = DGTBandit(3, 3, "constant", loss_range=(0, 0.5))
    arguments = (np.ones((2, 2)), np.arange(2), np.arange(2), np.zeros(8, dtype=np.int64))
    with pytest.raises(ValueError, match=r"between 0 and 0.5, got 1.0: .*loss_range"):
        policy._stream(*arguments, "0-1")
    assert policy.n_features is None


@pytest.mark.parametrize("recipe", ["default", RECIPES["paper"]["constant"]])
@pytest.mark.parametrize("feedback", ["one-point", "two-point"])
@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_the_stream_of_values_does_what_decide_and_learn_do(recipe, feedback, loss):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 4))
    y = np.where(X[:, 0] > 0, 0.7, 0.1)  # at the bounds, where actions are rounded back
    one, other = (
        DGTContinuousBandit(0.1, 0.7, 3, recipe=recipe, feedback=feedback, random_state=5)
        for _ in "ab"
    )
    losses = one._stream(X, y, np.arange(300), np.zeros(8, dtype=np.int64), loss)
    for i in range(300):
        decision = other.decide(X[i])
        errors = [abs(action - y[i]) for action in decision.actions]
        found = [e * e for e in errors] if loss == "squared" else errors
        other.learn(X[i], decision, found if len(found) == 2 else found[0])
        assert losses[i] == np.mean(found)
    assert_same_state(one, other)


def test_a_full_memory_forgets_its_oldest_rows():
    recipe = replace(BanditRecipe(), replay=1, capacity=8)
    policy = DGTBandit(2, 1, recipe=recipe, random_state=0)
    for i in range(21):
        x = np.array([float(i)])
        policy.learn(x, policy.decide(x), 1.0)
    assert sorted(view_state(policy._arena).memory[:, 0]) == list(range(13, 21))
