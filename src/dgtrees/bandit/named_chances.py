"""What a policy would do in the contexts of a `DecisionLog`: probabilities by the log's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgtrees.bandit.checks import shown
from dgtrees.bandit.decision_log import DecisionLog
from dgtrees.bandit.logs import Log
from dgtrees.bandit.named_policy import NamedPolicy

__all__ = ["judged_by_name"]


def judged_by_name(policy: Any, log: DecisionLog) -> tuple[np.ndarray, Log]:
    """Probabilities (answers, actions) of a policy, and the log as rows of numbers.

    Actions are numbered as in the log; those that only the policy knows come after them.
    """
    names = list(log.actions)
    if isinstance(policy, NamedPolicy):
        names += [name for name in policy._actions.names if name not in names]
        return _of_named(policy, log, names), log.to_log(names)
    if hasattr(policy, "action_probabilities"):
        given = np.asarray(policy.action_probabilities(log.rows))
    else:
        given = np.asarray(policy.predict(log.rows) if hasattr(policy, "predict") else policy)
    if given.ndim == 2:
        return given, log.to_log(names)
    if given.shape != (len(log),):
        raise ValueError(
            f"a policy must give an action to each of {len(log)} contexts, got shape {given.shape}"
        )
    taken = given.tolist()
    names += [name for name in dict.fromkeys(taken) if name not in names]
    place = {name: k for k, name in enumerate(names)}
    chances = np.zeros((len(log), len(names)))
    chances[np.arange(len(log)), [place[name] for name in taken]] = 1.0
    return chances, log.to_log(names)


def _of_named(policy: NamedPolicy, log: DecisionLog, names: list[Any]) -> np.ndarray:
    """A policy's probabilities among the actions that were allowed."""
    active = set(policy.actions)
    place = {name: k for k, name in enumerate(names)}
    columns = [place[name] for name in policy._actions.names]
    chances = np.zeros((len(log), len(names)))
    with policy._lock:
        learner, contexts = policy._need_learner(), policy._contexts
        for row, answer in enumerate(log):
            allowed = answer.allowed
            if allowed is not None:
                allowed = tuple(name for name in allowed if name in active)
                if not allowed:
                    raise ValueError(
                        f"the policy must know some action of every answer, got none of "
                        f"{shown(answer.allowed)} in answer {row}: add_action them"
                    )
            mask = policy._actions.mask(allowed)
            x = contexts.encode(contexts.read(answer.context))
            chances[row, columns] = learner.probabilities(x, mask)
    return chances
