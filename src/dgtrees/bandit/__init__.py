"""Policies that learn from the loss of their own actions, and ways to judge them. Without torch."""

from dgtrees.bandit.decision import ContinuousDecision, Decision
from dgtrees.bandit.evaluate import Estimate, evaluate
from dgtrees.bandit.explore import DecayingEpsilon, Epsilon, Greedy, InverseGap, Softmax
from dgtrees.bandit.logs import Log, read_log, write_log
from dgtrees.bandit.online_recipe import BanditRecipe
from dgtrees.bandit.policy import DGTBandit, DGTContinuousBandit
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
    "Estimate",
    "Greedy",
    "InverseGap",
    "Log",
    "Softmax",
    "evaluate",
    "read_log",
    "simulate",
    "write_log",
]
