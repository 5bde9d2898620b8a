"""The paper's rivals, one file each."""

from dgtrees.baselines.cbf import ContextualBanditForest
from dgtrees.baselines.decision import Decision
from dgtrees.baselines.linear_bandit import EpsilonGreedyLinear, LinUCB
from dgtrees.baselines.linear_continuous import (
    ContinuousDecision,
    LinearContinuousBandit,
    LinearRecipe,
)
from dgtrees.baselines.tao import TAOClassifier, TAORegressor
from dgtrees.baselines.vw import VWBandit

__all__ = [
    "ContextualBanditForest",
    "ContinuousDecision",
    "Decision",
    "EpsilonGreedyLinear",
    "LinUCB",
    "LinearContinuousBandit",
    "LinearRecipe",
    "TAOClassifier",
    "TAORegressor",
    "VWBandit",
]
