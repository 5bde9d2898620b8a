"""A DGTBandit on labelled rows: what `simulate` calls, with rows that are encoded already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dgtrees.bandit.answers import read_answer, read_reward
from dgtrees.bandit.cells import read_table
from dgtrees.bandit.decision import Decision
from dgtrees.bandit.learner import Learner
from dgtrees.bandit.live_columns import LiveColumns
from dgtrees.bandit.tree_learner import TreeLearner

if TYPE_CHECKING:
    from dgtrees.bandit.named_policy import NamedPolicy

__all__ = ["decide_encoded", "grow_rows", "learn_encoded", "play_stream"]

_NO_LEAF = 2**62


def grow_rows(policy: NamedPolicy, X: Any) -> np.ndarray:
    """Encoded rows of a table that is streamed; all of its columns are known from the start."""
    contexts = policy._contexts
    with policy._lock:
        if isinstance(contexts, LiveColumns):
            parsed = list(read_table(X, by_position=contexts.positions is not None))
            contexts.check_alike(parsed)
            for cells in parsed:
                contexts.settle(cells)
                if not isinstance(cells, np.ndarray):
                    contexts.grow(cells)
        rows = policy._rows(X)
        more = 0 if policy._learner is None else rows.shape[1] - policy._learner.n_features
        if policy._learner is not None and more > 0:
            policy._learner.add_features(more)
    return rows


def _learner(policy: NamedPolicy, width: int) -> Learner:
    learner: Learner = policy._learner or policy._begin(width)
    return learner


def decide_encoded(policy: NamedPolicy, row: np.ndarray) -> tuple[Decision, int]:
    """The decision for an encoded row, and its leaf; the largest number where there is none."""
    with policy._lock:
        mask = policy._actions.mask(None)
        learner, leaf = _learner(policy, len(row)), _NO_LEAF
        if isinstance(learner, TreeLearner):
            leaf = int(learner.outputs(row[None])[0][0])
        action, chances = learner.decide(row, mask)
        policy.n_decisions += 1
        name, number = policy._actions.names[action], policy.n_decisions
        return Decision(name, float(chances[action]), policy.id, number), leaf


def learn_encoded(policy: NamedPolicy, row: np.ndarray, decision: Decision, loss: Any) -> None:
    """Learn the loss of a decision that was taken for an encoded row."""
    reward = read_reward(loss, None, policy.loss_range)
    answer = read_answer(policy._actions, policy.id, decision, None, None, reward)
    with policy._lock:
        learner = _learner(policy, len(row))
        learner.learn(row, answer.action, answer.reward, answer.probability)
        _count(policy, row[None])


def play_stream(
    policy: NamedPolicy,
    X: np.ndarray,
    y: np.ndarray,
    order: np.ndarray,
    visits: np.ndarray,
    loss: str,
) -> np.ndarray:
    """Decide and learn for labelled rows, compiled; losses in their order."""
    reward = [read_reward(value, None, policy.loss_range) for value in (0.0, 1.0)]
    with policy._lock:
        policy._contexts.check_width(X.shape[1])
        learner: Any = _learner(policy, X.shape[1])
        told = (visits,) if isinstance(learner, TreeLearner) else ()
        losses: np.ndarray = learner.stream(X, y, order, *reward, *told)
        _count(policy, X[order])
        policy.n_decisions += len(order)
    return losses


def _count(policy: NamedPolicy, rows: np.ndarray) -> None:
    """Let the means of plain columns know of rows that went past them."""
    contexts = policy._contexts
    if isinstance(contexts, LiveColumns) and contexts.plain_only:
        contexts.count(rows)
