"""Policies that learn from the loss of their own actions, and nothing else. Never imports torch."""

from dgtrees.bandit.decision import ContinuousDecision, Decision
from dgtrees.bandit.explore import DecayingEpsilon, Epsilon, Greedy, InverseGap, Softmax
from dgtrees.bandit.policy import DGTBandit, DGTContinuousBandit
from dgtrees.bandit.recipe import BanditRecipe
from dgtrees.bandit.simulate import Curve, simulate

__all__ = [
    "BanditRecipe",
    "ContinuousDecision",
    "Curve",
    "DGTBandit",
    "DGTContinuousBandit",
    "DecayingEpsilon",
    "Decision",
    "Epsilon",
    "Greedy",
    "InverseGap",
    "Softmax",
    "simulate",
]
