"""Logs of decisions that `LogWriter` wrote, by one process or many, as a `DecisionLog`.

Decisions and losses on lines of their own find each other by id. Lines of `write_log`
(``{"x": .., "action": .., "probability": .., "loss": ..}``) are read too, and files that Vowpal
Wabbit wrote, see `foreign_logs`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any

from dgtrees.bandit.cells import read_context
from dgtrees.bandit.checks import number, shown
from dgtrees.bandit.decision import Decision, SlateDecision, check_probability
from dgtrees.bandit.decision_log import DecisionLog, LoggedAnswer
from dgtrees.bandit.feedback import check_loss
from dgtrees.bandit.foreign_logs import FOREIGN, read_foreign
from dgtrees.bandit.log_writer import CUT
from dgtrees.errors import DataError
from dgtrees.tables.files import blocks_of_lines, open_bytes, source_name

__all__ = ["read_decisions"]

_MARK = CUT.decode()


def read_decisions(
    *sources: Any,
    unanswered: float | None = None,
    format: str = "jsonl",
    actions: Sequence[Any] | None = None,
) -> DecisionLog:
    """The answered decisions of one or more files (plain, .gz, .bz2, .xz) or open streams.

    Parameters
    ----------
    *sources : paths or streams
        Answers of one file come in its order; of several files, in the order of their decisions'
        ids, which is that of time.
    unanswered : float, optional
        The loss of decisions that no line answers; without it they are left out.
    format : {"jsonl", "vw", "dsjson"}
        What `LogWriter` and `write_log` write; or Vowpal Wabbit's ``--cb`` text or its dsjson,
        whose lines are whole answers. In their contexts a key is the namespace, "^" and the
        feature, as in "user^age". ``city=Rome`` of the text format is a text, {"city": "Rome"},
        unless its line has two values of it, or a weight: these are numbers, {"city=Rome": 1.0},
        as a name without "=" is.
    actions : sequence of names, optional
        For Vowpal Wabbit's formats: what its actions 1, 2, .. are called; 0, 1, .. unless told.

    Returns
    -------
    DecisionLog
        Its `left_out` counts the lines that say nothing.

    Raises
    ------
    DataError
        If a file cannot be read or a whole line cannot be meant; the message names the line.
    """
    if not sources:
        raise ValueError("there must be a file or stream to read, got none: name its path")
    if format in FOREIGN:
        if unanswered is not None:
            raise ValueError(f"lines of {format} are answered, got unanswered={unanswered!r}")
        return read_foreign(sources, format, actions)
    if format != "jsonl":
        known = ", ".join(("jsonl", *FOREIGN))
        raise ValueError(f"format must be one of {known}, got {format!r}")
    if actions is not None:
        raise ValueError(f"a log of this format names its actions, got actions={shown(actions)}")
    if unanswered is not None:
        unanswered = check_loss(unanswered, "unanswered")
    reading = _Reading()
    for source in sources:
        name = source_name(os.fspath(source) if isinstance(source, os.PathLike) else source)
        for line_number, line, ended in _lines(source, name):
            if not ended or line.endswith(_MARK):
                reading.count_cut(line)
                continue
            try:
                reading.add(_object(line))
            except ValueError as error:
                raise DataError(f"{name}, line {line_number}: {error}") from None
    return reading.finish(len(sources) > 1, unanswered)


class _Reading:
    """Lines seen so far: decisions that wait for their answer, and answers."""

    def __init__(self) -> None:
        self.waiting: dict[str, tuple[Any, Any]] = {}
        self.early: list[tuple[str, dict[str, Any], int]] = []  # losses before their decisions
        self.answered: set[tuple[str, Any]] = set()
        self.found: list[tuple[int, LoggedAnswer]] = []
        self.left_out = {"unanswered": 0, "cut": 0, "duplicate": 0, "unknown": 0}
        self.names: dict[Any, None] = {}
        self._place = 0

    def count_cut(self, line: str) -> None:
        # A mark alone was written by one process while another finished its line.
        self.left_out["cut"] += line.strip() != _MARK

    def add(self, event: dict[str, Any]) -> None:
        self._place += 1
        if "decision" in event:
            self._add_decision(event)
        elif "x" in event:
            action = event.get("action")
            plain = LoggedAnswer(
                _context(event, "x"),
                Decision.from_json({"policy": "", "number": 0, **event}).action,
                check_probability(event.get("probability")),
                _loss(event.get("loss")),
            )
            self.names.setdefault(action)
            self.found.append((self._place, plain))
        elif "id" in event:
            self._add_loss(event, self._place)
        else:
            raise ValueError(
                "a line must have a decision, or an id and its loss, got "
                f"{shown(sorted(event))}: drop the line"
            )

    def _add_decision(self, event: dict[str, Any]) -> None:
        told = event["decision"]
        slate = isinstance(told, dict) and "actions" in told
        kind: Any = SlateDecision if slate else Decision
        decision = kind.from_json(told)
        context = _context(event, "context")
        self.names |= dict.fromkeys(decision.probabilities or ())
        if "loss" in event:
            self._answer(context, decision, None, event["loss"], self._place)
        elif decision.id:
            self.waiting[decision.id] = context, decision
        else:
            self.left_out["unanswered"] += 1

    def _add_loss(self, event: dict[str, Any], place: int) -> None:
        if not isinstance(event["id"], str) or "loss" not in event:
            raise ValueError(f"a loss must have an id, got {shown(event)}: drop the line")
        _loss(event["loss"])
        if event["id"] not in self.waiting:
            self.early.append((event["id"], event, place))
            return
        context, decision = self.waiting[event["id"]]
        self._answer(context, decision, event.get("action"), event["loss"], place)

    def _answer(self, context: Any, decision: Any, action: Any, loss: Any, place: int) -> None:
        slate = isinstance(decision, SlateDecision)
        chance = decision.probability_of(action) if slate else decision.probability
        action = action if slate else decision.action
        if decision.id and (decision.id, action) in self.answered:
            self.left_out["duplicate"] += 1
            return
        self.answered.add((decision.id, action))
        told = LoggedAnswer(
            context,
            action,
            check_probability(chance),
            _loss(loss),
            None if decision.probabilities is None else tuple(decision.probabilities),
            decision.policy,
            decision.id,
            slate,
        )
        self.found.append((place, told))

    def finish(self, by_id: bool, unanswered: float | None) -> DecisionLog:
        early, self.early = self.early, []
        for id, event, place in early:  # of another file, or of a quicker process
            if id in self.waiting:
                self._add_loss(event, place)
            else:
                known = any(id == one for one, _ in self.answered)
                self.left_out["duplicate" if known else "unknown"] += 1
        done = {id for id, _ in self.answered}
        for id, (context, decision) in self.waiting.items():
            if id in done:
                continue
            if unanswered is None or isinstance(decision, SlateDecision):
                self.left_out["unanswered"] += 1
            else:
                self._place += 1
                self._answer(context, decision, None, unanswered, self._place)
        order = sorted(self.found, key=lambda one: (one[1].id if by_id else "", one[0]))
        return DecisionLog([answer for _, answer in order], tuple(self.names), None, self.left_out)


def _context(event: dict[str, Any], name: str) -> Any:
    context = event.get(name)
    if not isinstance(context, dict) and not (isinstance(context, list) and context):
        raise ValueError(
            f"the {name} must be an object or a list of cells, got {shown(context)}: drop the line"
        )
    read_context(context)  # refuses what no policy could take, while the line is known
    return context


def _loss(value: Any) -> float:
    loss = number("loss", value, ": drop the line")
    if not isfinite(loss):
        raise ValueError(f"loss must be finite, got {loss}: drop the line")
    return loss


def _object(line: str) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        event = line
    if not isinstance(event, dict):
        raise ValueError(
            f"a line must be one JSON object, got {shown(event)}: drop the line, or give format="
        )
    return event


def _lines(source: Any, name: str) -> Iterator[tuple[int, str, bool]]:
    """Numbered lines that are not blank, and whether they have an end."""
    path = os.fspath(source) if isinstance(source, os.PathLike) else source
    with open_bytes(path) as stream:
        for first, block in blocks_of_lines(stream, name):
            lines = block.decode("utf-8").split("\n")
            ended = len(lines) - 1  # what follows the last end of a line
            for place, line in enumerate(lines):
                if line.strip():
                    yield first + place, line.strip(), place < ended
