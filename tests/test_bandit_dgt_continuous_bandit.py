"""DGTContinuousBandit: what it tries, learns from and refuses."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from dgtrees import BanditRecipe, DGTBandit, DGTContinuousBandit, load
from dgtrees.bandit import (
    ContinuousDecision,
)
from dgtrees.bandit.online_recipe import RECIPES
from dgtrees.errors import ModelFileError, StateError
from dgtrees.model import file as model_file
from dgtrees.tree.state import view_state
from taught_policies import X, Y, saved, teach_value


@pytest.mark.parametrize(
    ("change", "loss", "message"),
    [
        ({}, np.nan, "got nan"),
        ({}, [1.0], "pair of losses"),
        ({}, 1.0, "pair of losses"),
        ({"actions": (0.0,)}, [1.0, 2.0], r"has 2 action\(s\)"),
        ({"actions": (0.0, 9.0)}, [1.0, 2.0], "between -1 and 4, got 9.0"),
        ({"actions": (0.5, 0.5)}, [1.0, 2.0], "must differ from their centre"),
        ({"centre": np.nan}, [1.0, 2.0], "between -1 and 4, got nan"),
        ({"policy": "x"}, [1.0, 2.0], "got one of 'x'"),
        ({}, [1.0, True], "must be a number, got True"),
        ({}, [1.0, 10**400], "must fit a float"),
        ({"centre": 0.4}, [1.0, 2.0], "centre 0.4 in the middle"),
        ({"centre": "0.25"}, [1.0, 2.0], "actions must be a number, got '0.25'"),
        ({"actions": (0.0, None)}, [1.0, 2.0], "actions must be a number, got None"),
        ({"actions": "ab"}, [1.0, 2.0], "has 2"),
        ({"actions": 0.5}, [1.0, 2.0], "has 2"),
    ],
)
def test_continuous_bad_input_changes_nothing(change, loss, message, tmp_path):
    policy = teach_value(DGTContinuousBandit(-1, 4, 2, feedback="two-point"), range(30))
    before = saved(policy, tmp_path)
    decision = ContinuousDecision((0.0, 0.5), 0.25, policy.id, 1)._replace(**change)
    with pytest.raises(ValueError, match=message):
        policy.learn(X[0], decision, loss if loss is not np.nan else [loss, loss])
    with pytest.raises(ValueError, match=message):
        policy.learn_many(X[:1], [decision], [loss if loss is not np.nan else [loss, loss]])
    assert saved(policy, tmp_path) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"low": 2.0}, "low and high must ascend"),
        ({"feedback": "full"}, "one-point"),
        ({"delta": 3}, "half"),
        ({"delta": "x"}, "delta must be a number"),
        ({"delta": True}, "delta must be a number"),
        ({"low": -1e308, "high": 1e308}, "difference"),
        ({"low": 1e20, "high": 1e20 + 1e5}, "further apart"),
    ],
)
def test_wrong_continuous_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        DGTContinuousBandit(**{"low": 0.0, "high": 1.0} | arguments)


def test_numbers_have_linear_leaves_but_in_the_paper():
    assert DGTContinuousBandit(0, 1).leaf == "linear"
    assert DGTContinuousBandit(0, 1, recipe="paper").leaf == "constant"
    assert DGTContinuousBandit(0, 1, recipe="paper", leaf="linear").leaf == "linear"


@pytest.mark.parametrize("feedback", ["one-point", "two-point"])
def test_continuous_actions_stay_in_bounds_and_improve(feedback):
    policy = DGTContinuousBandit(0, 3, 3, feedback=feedback, random_state=0)
    start = np.mean((1.5 - Y) ** 2)
    for passes in range(25):
        teach_value(policy, np.random.default_rng(passes).permutation(400))
    assert np.mean((policy.predict(X) - Y) ** 2) < 0.25 * start
    decisions = [policy.decide(x) for x in X]
    actions = np.array([d.actions for d in decisions])
    assert (actions >= 0).all() and (actions <= 3).all()
    assert {np.sign(d.action - d.centre) for d in decisions} == {-1, 1}


@pytest.mark.parametrize("feedback", ["one-point", "two-point"])
def test_the_largest_losses_leave_a_sound_policy(feedback):
    policy = DGTContinuousBandit(0, 1, 3, "linear", feedback=feedback, random_state=0)
    for i, x in enumerate(X):
        sign = -1 if i % 3 else 1
        loss = [sign * 1e12, -sign * 1e12] if feedback == "two-point" else sign * 1e12
        policy.learn(x, policy.decide(x), loss)
    assert np.isfinite(view_state(policy._arena).nodes).all()
    assert np.isfinite(policy.predict(X)).all()


@pytest.mark.parametrize("feedback", ["one-point", "two-point"])
def test_the_paper_recipe_takes_the_slopes_of_its_equations(feedback):
    """One leaf row a step, SGD at rate 1 and no replay: the leaf moves by the slope itself."""
    alone = {"output_bias": False, "leaf_spread": 0.0}  # nothing but the slope moves the answer
    recipe = replace(RECIPES["paper"]["constant"], leaf_optimizer="sgd", leaf_rate=1.0, **alone)
    assert not recipe.baseline and BanditRecipe().baseline
    policy = DGTContinuousBandit(-1, 1, 1, feedback=feedback, delta=0.5, recipe=recipe)
    for loss in (0.25, -0.125, 0.5):
        d = policy.decide(X[0])
        before = view_state(policy._arena).leaves.copy()
        step = d.action - d.centre
        policy.learn(X[0], d, loss if feedback == "one-point" else [loss, 0.0625])
        slope = loss / step if feedback == "one-point" else (loss - 0.0625) / (2 * step)
        moved = (before - view_state(policy._arena).leaves).ravel()
        assert moved[np.abs(moved).argmax()] == pytest.approx(slope)
        assert np.count_nonzero(moved) == 1
    assert not view_state(policy._arena).baseline_counts.any()


@pytest.mark.parametrize("feedback", ["one-point", "two-point"])
@pytest.mark.parametrize(
    ("low", "high", "delta"),
    [
        (0.1, 0.7, 0.3),
        (-0.1, 0.7, 0.4),
        (0.0, 0.3, 0.15),
        (-1.3, 1e9, None),
        (1e9, 1e9 + 2, 0.0011),
        (0, 1, 1e-6),
        (-8e307, 8e307, None),
        (1e-299, 1e-298, None),
    ],
)
def test_a_policy_accepts_its_own_decisions(feedback, low, high, delta):
    policy = DGTContinuousBandit(low, high, 2, feedback=feedback, delta=delta, random_state=0)
    for i, x in enumerate(X):
        d = ContinuousDecision.from_json(policy.decide(x).to_json())
        policy.learn(x, d, [1.0, 2.0] if feedback == "two-point" else float(i % 3))
    assert policy.n_answers == len(X)
    with pytest.raises(ValueError, match="delta must be from"):
        DGTContinuousBandit(low, high, delta=1e-7 * 0.5 * (high - low))


def test_a_step_that_rounds_to_more_than_half_the_range_is_accepted():
    policy = DGTContinuousBandit(-0.1, 0.7, delta=0.4)
    middle = 0.5 * (-0.1 + 0.7)
    steps = [ContinuousDecision((end,), middle).step(policy._half) for end in (-0.1, 0.7)]
    assert max(map(abs, steps)) > 1
    policy.learn(X[0], ContinuousDecision((0.7,), middle, policy.id, 1), 1.0)
    policy.learn(X[0], ContinuousDecision((-0.1,), middle, policy.id, 1), 1.0)


# By batches, as the paper's recipe learns

BATCHES = replace(RECIPES["paper"]["continuous, constant"], hidden=(8, 6), batch_size=16, steps=60)


@pytest.mark.parametrize("feedback", ["one-point", "two-point"])
def test_batches_stream_as_decide_and_learn_do(feedback, tmp_path):
    def policy():
        return DGTContinuousBandit(
            -1, 4, 3, "constant", feedback=feedback, recipe=BATCHES, random_state=3
        )

    streamed, taught = policy(), policy()
    taught.id = streamed.id
    order = np.random.default_rng(1).integers(len(X), size=150)
    visits = np.zeros(8, dtype=np.int64)
    losses = streamed._stream(X, Y.astype(float), order, visits, "squared")
    found = []
    for row in order:
        decision = taught.decide(X[row])
        loss = [(np.float64(action) - Y[row]) ** 2 for action in decision.actions]
        taught.learn(X[row], decision, loss if len(loss) == 2 else loss[0])
        found.append(np.mean(loss))
    np.testing.assert_allclose(losses, found, rtol=1e-12)
    assert visits.sum() == 150 and taught.n_answers == streamed.n_answers == 150
    assert saved(taught, tmp_path) == saved(streamed, tmp_path)


def test_batches_learn_go_on_after_a_file_and_end_in_a_model(tmp_path):
    policy = DGTContinuousBandit(-1, 4, 3, feedback="two-point", recipe=BATCHES, random_state=0)
    order = np.random.default_rng(0).integers(len(X), size=1500)
    policy._stream(X, Y.astype(float), order, np.zeros(8, dtype=np.int64), "squared")
    assert np.abs(policy.predict(X) - Y).mean() < 0.6  # 1 knowing only their mean
    policy.save(tmp_path / "policy.dgt")
    other = load(tmp_path / "policy.dgt")
    for one in (policy, other):
        teach_value(one, range(40))
    assert saved(policy, tmp_path) == saved(other, tmp_path)
    np.testing.assert_array_equal(policy.predict(X), other.predict(X))
    np.testing.assert_allclose(policy.model_.predict(X), policy.predict(X), atol=1e-9)
    assert (policy.apply(X) == policy.tree_.apply(X)).all()


def test_the_papers_recipe_learns_by_batches_and_is_for_values_only():
    policy = DGTContinuousBandit(0, 1, recipe="paper")
    assert policy.leaf == "constant" and policy.recipe_.n_layers == 3
    with pytest.raises(StateError, match="has not seen a row yet"):
        policy.predict(X)
    with pytest.raises(ValueError, match="recipe must be default, paper or a BanditRecipe"):
        DGTBandit(2, recipe=BATCHES)


def test_files_of_batches_that_lie_are_refused(tmp_path):
    policy = DGTContinuousBandit(-1, 4, 3, feedback="two-point", recipe=BATCHES, random_state=0)
    teach_value(policy, range(40))
    policy.save(tmp_path / "policy.dgt")
    header, arrays = model_file.read(tmp_path / "policy.dgt")
    lies = [
        {"recipe": header["recipe"] | {"hidden": 10**9}},
        {"recipe": header["recipe"] | {"n_layers": 1}},
        {"recipe": {"n_layers": 3}},
        {"parameters": header["parameters"] | {"max_depth": 60}},
        {"n_features": 4},
    ]
    for lie in lies:
        with pytest.raises(ModelFileError):
            DGTContinuousBandit._from_file(header | lie, arrays)


def test_a_copy_of_batches_is_independent(tmp_path):
    policy = DGTContinuousBandit(-1, 4, 3, feedback="two-point", recipe=BATCHES, random_state=0)
    teach_value(policy, range(40))
    other = pickle.loads(pickle.dumps(policy))
    before = saved(policy, tmp_path)
    assert saved(other, tmp_path) == before
    teach_value(other, range(40, 80))
    assert saved(policy, tmp_path) == before
