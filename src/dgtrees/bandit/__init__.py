"""Learning and judging policies that see only the loss of the action taken. Without torch."""

from dgtrees.bandit.evaluate import Estimate, evaluate
from dgtrees.bandit.logs import Log, read_log, write_log

__all__ = ["Estimate", "Log", "evaluate", "read_log", "write_log"]
