"""Learning and judging policies that see only the loss of the action taken. Without torch."""

from dgtrees.bandit.evaluate import Estimate, evaluate
from dgtrees.bandit.logs import Log, LogFileError, read_log, write_log

__all__ = ["Estimate", "Log", "LogFileError", "evaluate", "read_log", "write_log"]
