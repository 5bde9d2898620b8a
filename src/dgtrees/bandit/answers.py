"""Answers as they come from outside: whose decision, which action, how likely, what it brought.

Everything is checked here, before anything is learnt.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dgtrees.bandit.action_names import ActionNames
from dgtrees.bandit.checks import number, shown
from dgtrees.bandit.decision import Decision, SlateDecision, check_probability
from dgtrees.bandit.feedback import Range, check_loss, loss_share
from dgtrees.bandit.recent import key_of

__all__ = ["Answer", "read_answer", "read_reward"]


class Answer(NamedTuple):
    """What a learner is told, and what the answer is remembered by (None: by nothing)."""

    action: int
    probability: float
    reward: float
    key: int | None


def read_reward(loss: Any, reward: Any, loss_range: Range | None) -> float:
    """A reward from a reward, or from a loss with its sign turned; exactly one must be given."""
    if (loss is None) == (reward is None):
        both = "both" if loss is not None else "neither"
        raise ValueError(f"an answer has a loss or a reward, got {both}: give one of them")
    name, value = ("loss", loss) if reward is None else ("reward", reward)
    if np.iterable(value) and not isinstance(value, (str, bytes)):
        raise ValueError(
            f"{name} must be one number, got {shown(value)}: a decision has one {name}; of several "
            "actions, learn each with its own"
        )
    if loss_range is None:
        found = check_loss(value, name)
        return found if loss is None else -found
    found = number(name, value, ": leave it out")
    lost = -found if loss is None else found
    loss_share(lost, *loss_range)
    return -lost


def read_answer(
    actions: ActionNames,
    policy: str,
    decision: Any,
    action: Any,
    probability: Any,
    reward: float,
) -> Answer:
    """The answer to a decision of this policy, or to an action that somebody else took."""
    if decision is None:
        if action is None or probability is None:
            raise ValueError(
                "learn needs the decision, or action= and probability= of somebody else's, got "
                f"action={shown(action)} and probability={shown(probability)}: give both"
            )
        return Answer(actions.index(action), check_probability(probability), reward, None)
    if not isinstance(decision, (Decision, SlateDecision)):
        raise TypeError(
            f"decision must be the Decision that decide returned, "
            f"got {shown(decision)}: read logged ones with from_json"
        )
    if decision.policy != policy:
        raise ValueError(
            f"decision must be one of this policy ({policy}), got one of {decision.policy!r}: "
            "learn with the policy that decided, or give its action= and probability="
        )
    if probability is not None:
        raise ValueError(
            f"probability is part of the decision, got {shown(probability)} too: leave it out"
        )
    if isinstance(decision, SlateDecision):
        return _read_slate(actions, decision, action, reward)
    if action is not None and action != decision.action:
        raise ValueError(
            f"action must be that of the decision, {decision.action!r}, got {shown(action)}: "
            "leave it out"
        )
    place = actions.index(decision.action)
    decision.check_probability()
    return Answer(place, float(decision.probability), reward, key_of(decision.id))


def _read_slate(
    actions: ActionNames, decision: SlateDecision, action: Any, reward: float
) -> Answer:
    if action is None:
        raise ValueError(
            f"a decision of {len(decision.actions)} actions is learnt one action at a time, got no "
            "action: give action= and its own loss, for each that was answered"
        )
    chance = check_probability(decision.probability_of(action))
    return Answer(actions.index(action), chance, reward, key_of(decision.id, action))
