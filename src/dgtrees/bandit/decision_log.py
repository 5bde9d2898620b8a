"""DecisionLog: answered decisions with contexts as they were, whoever decided.

What `learn_log` learns from and `evaluate` judges by. Contexts have names and texts here; as rows
of numbers, for estimators that need them, they are a `Log`. Files come from `log_reader`, frames
from `log_from_frame`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dgtrees.bandit.cells import read_context
from dgtrees.bandit.checks import number, shown
from dgtrees.bandit.decision import check_probability
from dgtrees.bandit.live_columns import LiveColumns
from dgtrees.bandit.logs import Log
from dgtrees.tables.encoder import columns_of, is_frame

__all__ = ["DecisionLog", "LoggedAnswer", "log_from_frame"]


class LoggedAnswer(NamedTuple):
    """One action that was taken, and what it cost."""

    context: Any
    action: Any
    probability: float
    loss: float
    allowed: tuple[Any, ...] | None = None
    """Names of the actions there were to choose from; None where nobody said."""
    policy: str = ""
    id: str = ""
    slate: bool = False
    """Whether it was one of several actions of one decision."""


@dataclass(frozen=True, eq=False)
class DecisionLog:
    """Answered decisions, in the order of their answers.

    Parameters
    ----------
    answers : sequence of LoggedAnswer
    actions : tuple of names
        All that the log knows of, in the order in which they came; numbers in order.
    action_features : dict of a dict per action, optional
    left_out : dict
        Lines that say nothing: "unanswered" decisions, "cut" lines of a writer that was killed,
        "duplicate" answers, answers to "unknown" decisions.
    contexts : optional
        Contexts as a frame, where the log was made from one.

    Examples
    --------
    >>> log = DecisionLog([LoggedAnswer({"age": 31}, "mail", 0.5, 1.0)], ("mail", "gift"))
    >>> len(log), log.to_log().X.tolist()
    (1, [[31.0]])
    """

    answers: list[LoggedAnswer]
    actions: tuple[Any, ...] = ()
    action_features: dict[Any, dict[str, Any]] | None = None
    left_out: dict[str, int] = field(default_factory=dict)
    contexts: Any = None

    def __post_init__(self) -> None:
        answers = list(self.answers)
        known = dict.fromkeys(self.actions)
        for answer in answers:
            known |= dict.fromkeys(answer.allowed or ())
            known.setdefault(answer.action)
        names: list[Any] = list(known)
        if names and all(type(name) is int for name in names):
            names = list(range(max(names) + 1)) if max(names) < 100_000 else sorted(names)
        object.__setattr__(self, "answers", answers)
        object.__setattr__(self, "actions", tuple(names))

    def __len__(self) -> int:
        return len(self.answers)

    def __iter__(self) -> Iterator[LoggedAnswer]:
        return iter(self.answers)

    @property
    def losses(self) -> np.ndarray:
        """What the answers cost, (answers,)."""
        return np.array([answer.loss for answer in self.answers])

    @property
    def rows(self) -> Any:
        """The contexts: a frame where the log was made from one, otherwise a list."""
        if self.contexts is not None:
            return self.contexts
        return [answer.context for answer in self.answers]

    def take(self, rows: Any) -> DecisionLog:
        """The log of some answers: indices, a mask or a slice."""
        chosen = np.arange(len(self))[rows].tolist()
        contexts = self.contexts
        if contexts is not None:
            contexts = contexts.iloc[chosen] if hasattr(contexts, "iloc") else contexts[chosen]
        answers = [self.answers[row] for row in chosen]
        return DecisionLog(answers, self.actions, self.action_features, {}, contexts)

    def to_log(self, actions: Iterable[Any] | None = None) -> Log:
        """The log as rows of numbers, with actions numbered in the order of `actions`.

        Contexts are encoded as a policy would, with the columns of all of them.
        """
        names = list(self.actions if actions is None else actions)
        place = {name: k for k, name in enumerate(names)}
        unknown = [answer.action for answer in self.answers if answer.action not in place]
        if unknown:
            raise ValueError(
                f"actions must name all actions of the log, got {shown(unknown[0])} besides: add it"
            )
        columns = LiveColumns()
        parsed = [columns.read(answer.context) for answer in self.answers]
        for cells in parsed:
            columns._check(cells)
            columns.grow(cells)
        X = np.array([columns.encode(cells) for cells in parsed]).reshape(len(self), -1)
        return Log(
            X,
            np.array([place[answer.action] for answer in self.answers], dtype=np.int64),
            np.array([answer.probability for answer in self.answers]),
            self.losses,
            len(names),
            _different(columns.names or ["nothing"]),
        )


def _different(names: list[str]) -> tuple[str, ...]:
    """Names of columns, each with a number where it comes again."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return tuple(found) if len(set(found)) == len(found) else ()


def log_from_frame(
    frame: Any,
    *,
    action: str = "action",
    probability: str = "probability",
    loss: str | None = None,
    reward: str | None = None,
    context: Iterable[str] | None = None,
) -> DecisionLog:
    """A log from a plain data frame (pandas, polars, Arrow), a row per answered decision.

    Parameters
    ----------
    frame : DataFrame
    action, probability : str
        Columns of the action taken and of how likely it was.
    loss, reward : str, optional
        The column of losses, "loss" unless told, or of rewards.
    context : names of columns, optional
        What was known; all other columns unless told.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [31, 58], "sent": ["mail", "gift"], "p": 0.5, "won": [0, 1]})
    >>> log = log_from_frame(frame, action="sent", probability="p", reward="won")
    >>> log.answers[1][:4]
    ({'age': 58.0}, 'gift', 0.5, -1.0)
    """
    if not is_frame(frame):
        raise ValueError(f"a log must be a frame, a Log or a DecisionLog, got {shown(frame)}")
    if loss is not None and reward is not None:
        raise ValueError(f"give loss or reward, got both {loss!r} and {reward!r}: leave one out")
    if isinstance(context, (str, bytes)) or not (context is None or np.iterable(context)):
        raise ValueError(f"context must be a list of columns, got {shown(context)}: give ['...']")
    context = None if context is None else list(context)
    cost = reward or loss or "loss"
    named = [(str(name), values) for name, values in columns_of(frame)]
    columns = {name: values.tolist() for name, values in named}
    if len(columns) < len(named):
        twice = next(name for name in columns if [n for n, _ in named].count(name) > 1)
        raise ValueError(f"a frame must have every column once, got {twice!r} twice: rename one")
    for name in (action, probability, cost, *(context or ())):
        if name not in columns:
            raise ValueError(
                f"a frame must have the column {name!r}, got {shown(list(columns))}: name it by "
                "action=, probability=, loss= or reward=, context="
            )
    taken = {action, probability, cost}
    names = [name for name in columns if name not in taken] if context is None else context
    told = taken.intersection(names)
    if told:
        raise ValueError(
            f"a context must be what was known before the decision, got the column "
            f"{min(told)!r}: leave it out of context="
        )
    if not names:
        raise ValueError(
            "a frame must have columns for contexts, got none besides the answers: add what was "
            "known"
        )
    answers = []
    for row in range(len(columns[action])):
        try:
            answers.append(
                LoggedAnswer(
                    _read_context({name: columns[name][row] for name in names}),
                    _read_action(columns[action][row]),
                    check_probability(columns[probability][row]),
                    _read_cost(columns[cost][row], cost, reward is not None),
                )
            )
        except ValueError as error:
            raise ValueError(f"row {row}: {error}") from None
    arrow = hasattr(frame, "column_names")
    return DecisionLog(answers, contexts=frame.select(names) if arrow else frame[names])


def _read_context(cells: dict[str, Any]) -> dict[str, Any]:
    read_context(cells)  # refuses what no policy could take, while the row is known
    return cells


def _read_action(name: Any) -> Any:
    if isinstance(name, float) and name.is_integer():  # a column of numbers that had gaps once
        return int(name)
    if isinstance(name, str) or (isinstance(name, int) and not isinstance(name, bool)):
        return name
    raise ValueError(
        f"action must be a name or a whole number, got {shown(name)}: name it, or leave the row out"
    )


def _read_cost(value: Any, name: str, reward: bool) -> float:
    advice = ": leave the row out"
    cost = float(value) if isinstance(value, bool) else number(name, value, advice)
    if not np.isfinite(cost):
        raise ValueError(f"{name} must be finite, got {cost}{advice}")
    return 0.0 - cost if reward else cost
