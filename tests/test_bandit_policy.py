"""The interface that our policies and the baselines share."""

import numpy as np
import pytest

from dgtrees.bandit import (
    ContinuousDecision,
    ContinuousPolicy,
    Decision,
    DGTBandit,
    DGTContinuousBandit,
    FinitePolicy,
)
from dgtrees.paper.baselines import (
    ContextualBanditForest,
    EpsilonGreedyLinear,
    LinearContinuousBandit,
    LinUCB,
)

FINITE = [
    lambda: DGTBandit(3, 2, "constant", random_state=0),
    lambda: EpsilonGreedyLinear(3, warm_up=20, random_state=0),
    lambda: LinUCB(3, warm_up=20, random_state=0),
    lambda: ContextualBanditForest(3, n_trees=3, max_depth=2, warm_up=20, random_state=0),
]


@pytest.mark.parametrize("make", FINITE)
def test_decisions_have_the_probability_that_the_policy_tells_before(make):
    policy, rng = make(), np.random.default_rng(0)
    assert isinstance(policy, FinitePolicy)
    policy.decide(np.zeros(2))
    for x in rng.normal(size=(200, 2)):
        chances = policy.action_probabilities(x[None])
        decision = policy.decide(x)
        assert type(decision) is Decision
        assert chances.shape == (1, 3) and chances.sum() == pytest.approx(1.0)
        assert chances[0, decision.action] == pytest.approx(decision.probability)
        policy.learn(x, decision, float(decision.action != (x[0] > 0)))
    assert policy.predict(np.zeros((4, 2))).shape == (4,)


@pytest.mark.parametrize("kind", [DGTContinuousBandit, LinearContinuousBandit])
def test_policies_of_numbers(kind):
    policy = kind(0.0, 1.0, random_state=0)
    assert isinstance(policy, ContinuousPolicy) and not isinstance(policy, FinitePolicy)
    decision = policy.decide(np.ones(2))
    assert type(decision) is ContinuousDecision and 0.0 <= decision.action <= 1.0
    policy.learn(np.ones(2), decision, 0.5)
