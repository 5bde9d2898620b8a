"""A linear policy of continuous actions."""

import pickle

import numpy as np
import pytest

from dgtrees.bandit import ContinuousDecision
from dgtrees.paper.baselines import LinearContinuousBandit, LinearRecipe


def regression(rows, seed):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(rows, 3))
    return Z * [1.0, 50.0, 0.1] + [0.0, 9.0, 1.0], 10 + Z @ [2.0, -1.0, 0.5]


def regress(policy, loss=np.square, rows=6000):
    X, y = regression(rows, 0)
    for x, target in zip(X, y, strict=True):
        decision = policy.decide(x)
        assert all(policy.low <= action <= policy.high for action in decision.actions)
        policy.learn(x, decision, [loss(action - target) for action in decision.actions])
    Xt, yt = regression(1000, 1)
    return np.sqrt(np.mean((policy.predict(Xt) - yt) ** 2))


@pytest.mark.parametrize("loss", [np.square, np.abs], ids=["squared", "absolute"])
@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"feedback": "two-point"}, 0.15),
        ({"feedback": "one-point"}, 0.6),
        ({"feedback": "two-point", "recipe": "paper", "delta": 0.5}, 0.5),
        ({"feedback": "one-point", "recipe": "paper", "delta": 1.0}, 1.5),
        ({"feedback": "two-point", "recipe": "paper", "delta": 0.5, "momentum": 0.4}, 0.5),
    ],
)
def test_continuous_actions(loss, options, error):
    # The targets' own spread is 2.3.
    assert regress(LinearContinuousBandit(-5, 25, random_state=0, **options), loss) < error


def test_without_bounds():
    policy = LinearContinuousBandit(-np.inf, np.inf, delta=3.0, random_state=0)
    assert policy.predict([[0.0, 0.0, 0.0]]).tolist() == [0.0]
    assert regress(policy) < 0.5


def test_the_two_estimates_of_a_slope():
    two = LinearContinuousBandit(0, 10, feedback="two-point", delta=0.5, recipe="paper")
    decision = two.decide([1.0])
    assert decision == ContinuousDecision((5.5, 4.5), 5.0)
    assert two._derivative(decision, np.array([4.0, 1.0])) == pytest.approx(3.0)
    one = LinearContinuousBandit(0, 10, delta=0.5, recipe="paper", random_state=0)
    assert one._derivative(ContinuousDecision((4.5,), 5.0), np.array([4.0])) == pytest.approx(-8)
    assert {one.decide([1.0]).action for _ in range(20)} == {4.5, 5.5}
    better = LinearContinuousBandit(0, 10, delta=0.5, random_state=0)
    slopes = [better._derivative(ContinuousDecision((5.5,), 5.0), np.array([v])) for v in (4, 6, 5)]
    assert slopes == pytest.approx([0.0, 4.0, 0.0])


def test_bad_feedback_to_a_continuous_policy():
    policy = LinearContinuousBandit(0, 10, random_state=0)
    x, good = [1.0, 2.0], policy.decide([1.0, 2.0])
    policy.learn(x, good, 0.5)
    before = pickle.dumps(policy)
    for decision, loss, message in [
        (good, np.nan, "a loss must be finite, got nan"),
        (good, [1.0, 2.0], r"one-point feedback must be 1 loss\(es\)"),
        (ContinuousDecision((4.0, 6.0), 5.0), 1.0, r"got 1\.0 of 2"),
        (ContinuousDecision((5.0,), 5.0), 1.0, "must lie around its centre"),
        (ContinuousDecision((np.nan,), 5.0), 1.0, "must lie around its centre"),
    ]:
        with pytest.raises(ValueError, match=message):
            policy.learn(x, decision, loss)
    assert pickle.dumps(policy) == before


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LinearContinuousBandit(1, 1), "low must be below high, got 1 and 1"),
        (lambda: LinearContinuousBandit(0, np.nan), "low must be below high"),
        (lambda: LinearContinuousBandit(0, np.inf), "delta must be given for bounds 0 and inf"),
        (lambda: LinearContinuousBandit(0, 1, delta=0.6), r"delta must be above 0 and at most \("),
        (lambda: LinearContinuousBandit(0, 1, feedback="x"), "feedback must be 'one-point' or"),
        (lambda: LinearContinuousBandit(0, 1, recipe="x"), "recipe must be one of default, paper"),
        (lambda: LinearContinuousBandit(0, 1, warm_up=0), "warm_up must be at least 2 rows"),
        (lambda: LinearRecipe(optimizer="adam"), "optimizer must be one of adagrad, rmsprop"),
        (lambda: LinearRecipe(learning_rate=0), "learning_rate must be a number above 0, got 0"),
        (lambda: LinearRecipe(momentum=1), "momentum must be a number from 0 to 0.999999, got 1"),
        (lambda: LinearRecipe(l2=-1), "l2 must be a number of at least 0, got -1"),
    ],
)
def test_settings_that_cannot_be_meant(make, message):
    with pytest.raises(ValueError, match=message):
        make()
