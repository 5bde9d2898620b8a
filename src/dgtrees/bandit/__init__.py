"""Policies that learn from the loss of their own actions, and ways to judge them. Without torch."""

from dgtrees.bandit.batch_policy import fit_from_log, robust_losses
from dgtrees.bandit.curve import Curve
from dgtrees.bandit.decision import ContinuousDecision, Decision, SlateDecision
from dgtrees.bandit.decision_log import DecisionLog, LoggedAnswer, log_from_frame
from dgtrees.bandit.dgt_bandit import DGTBandit
from dgtrees.bandit.dgt_continuous_bandit import DGTContinuousBandit
from dgtrees.bandit.evaluate import Estimate, evaluate
from dgtrees.bandit.explore import DecayingEpsilon, Epsilon, Greedy, InverseGap, Softmax
from dgtrees.bandit.log_reader import read_decisions
from dgtrees.bandit.log_writer import LogWriter
from dgtrees.bandit.logs import Log, read_log, write_log
from dgtrees.bandit.online_recipe import BanditRecipe
from dgtrees.bandit.open_bandit import read_open_bandit
from dgtrees.bandit.policy import ContinuousPolicy, FinitePolicy, Policy
from dgtrees.bandit.simulation import simulate

__all__ = [
    "BanditRecipe",
    "ContinuousDecision",
    "ContinuousPolicy",
    "Curve",
    "DGTBandit",
    "DGTContinuousBandit",
    "DecayingEpsilon",
    "Decision",
    "DecisionLog",
    "Epsilon",
    "Estimate",
    "FinitePolicy",
    "Greedy",
    "InverseGap",
    "Log",
    "LogWriter",
    "LoggedAnswer",
    "Policy",
    "SlateDecision",
    "Softmax",
    "evaluate",
    "fit_from_log",
    "log_from_frame",
    "read_decisions",
    "read_log",
    "read_open_bandit",
    "robust_losses",
    "simulate",
    "write_log",
]
