"""What a log, of whatever kind, tells a policy: contexts and checked answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dgtrees.bandit.action_names import ActionNames
from dgtrees.bandit.answers import Answer, read_reward
from dgtrees.bandit.checks import shown
from dgtrees.bandit.decision import check_probability
from dgtrees.bandit.decision_log import DecisionLog
from dgtrees.bandit.feedback import Range
from dgtrees.bandit.log_reader import read_decisions
from dgtrees.bandit.logs import Log
from dgtrees.bandit.recent import key_of
from dgtrees.tables.encoder import is_frame

__all__ = ["answers_of"]


def answers_of(
    log: Any, actions: ActionNames, loss_range: Range | None
) -> list[tuple[Any, Answer]]:
    """Contexts and answers of a log, all of them checked; a `Log` numbers actions in order."""
    if isinstance(log, Log):
        return [
            (
                row,
                Answer(
                    actions.index(actions.names[k] if k < len(actions) else k),
                    chance,
                    read_reward(loss, None, loss_range),
                    None,
                ),
            )
            for row, k, chance, loss in zip(
                log.X,
                log.actions.tolist(),
                log.probabilities.tolist(),
                log.losses.tolist(),
                strict=True,
            )
        ]
    if not isinstance(log, DecisionLog):
        if is_frame(log) or isinstance(log, (list, tuple, Mapping)):
            raise TypeError(
                f"a log must be a file, a Log or a DecisionLog, got {shown(log)}: read several "
                "files by read_decisions(*paths), a frame by log_from_frame"
            )
        log = read_decisions(log)
    found = []
    for place, answer in enumerate(log):
        try:
            told = Answer(
                actions.index(answer.action),
                check_probability(answer.probability),
                read_reward(answer.loss, None, loss_range),
                key_of(answer.id, answer.action if answer.slate else None),
            )
        except ValueError as error:
            raise ValueError(f"answer {place} of the log: {error}") from None
        found.append((answer.context, told))
    return found
