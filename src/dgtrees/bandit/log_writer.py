"""LogWriter: an append-only log of decisions, one JSON object a line, that a kill does not break.

A line is written by one call of the system at the end of the file, so that lines of several
threads and processes never mix, and a process that is killed leaves whole lines; at worst, where
the system itself is cut short, a last one without its end. Readers skip such a line and count it. A
writer that finds one ends it with a mark, so that its own lines stay whole.

Lines are ``{"context": .., "decision": .., "loss": ..}``, or without the loss when it is not known
yet and then, later, ``{"id": .., "loss": ..}``.
"""

from __future__ import annotations

import json
import os
import threading
from typing import Any

import numpy as np

from dgtrees.bandit.answers import read_reward
from dgtrees.bandit.cells import Row, read_context
from dgtrees.bandit.checks import shown
from dgtrees.bandit.decision import Decision, SlateDecision
from dgtrees.bandit.ids import read_id
from dgtrees.errors import DataError

__all__ = ["CUT", "LogWriter"]

CUT = b"#cut"
"""What ends a line that its writer could not finish."""


class LogWriter:
    """Appends decisions and their losses to a file; any number of threads may share one.

    Parameters
    ----------
    path : path
        Made if it is not there.
    sync : bool, default False
        Whether every line must be on the disk before `write` returns. Without, lines survive the
        process that wrote them, but not a loss of power.

    Examples
    --------
    >>> import tempfile
    >>> from dgtrees.bandit import DGTBandit, read_decisions
    >>> policy = DGTBandit(actions=["mail", "gift"], random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with LogWriter(f"{folder}/decisions.jsonl") as log:
    ...         d = policy.decide({"age": 31})
    ...         log.write({"age": 31}, d)
    ...         log.write_loss(d, 0.2)
    ...     answers = read_decisions(f"{folder}/decisions.jsonl").answers
    >>> answers[0].context, answers[0].loss, answers[0].id == d.id
    ({'age': 31.0}, 0.2, True)
    """

    def __init__(self, path: str | os.PathLike[str], *, sync: bool = False) -> None:
        if not isinstance(path, (str, bytes, os.PathLike)):
            raise TypeError(f"a log needs the path of its file, got {shown(path)}: name one")
        self.path = os.fsdecode(path)
        self.sync = sync
        self._lock = threading.Lock()
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
        try:
            self._handle: int | None = os.open(self.path, flags, 0o666)
            size = os.fstat(self._handle).st_size
            whole = not size or os.pread(self._handle, 1, size - 1) == b"\n"
        except (OSError, ValueError) as error:  # ValueError: a null byte in the path
            told = getattr(error, "strerror", None) or error
            raise DataError(
                f"{self.path!r}: cannot be written ({told}): check path and permissions"
            ) from error
        self._whole = whole  # whether the file ends with the end of a line

    def write(
        self,
        context: Any,
        decision: Decision | SlateDecision,
        loss: float | None = None,
        *,
        reward: float | None = None,
    ) -> None:
        """Append a decision, and what it cost if that is known already."""
        if not isinstance(decision, (Decision, SlateDecision)):
            raise TypeError(
                f"decision must be what decide returned, got {shown(decision)}: log that"
            )
        told = json.loads(decision.to_json())
        read: Any = type(decision).from_json(told)  # what no reader takes must not be written
        if isinstance(read, Decision):
            read.check_probability()
        event = {"context": _plain(context), "decision": told}
        if loss is not None or reward is not None:
            if isinstance(decision, SlateDecision):
                raise ValueError(
                    "a decision of several actions has a loss per action, got one for all: call "
                    "write_loss with action="
                )
            event["loss"] = -read_reward(loss, reward, None)
        self._append(event)

    def write_loss(
        self,
        decision: Decision | SlateDecision | str,
        loss: float | None = None,
        *,
        reward: float | None = None,
        action: Any = None,
    ) -> None:
        """Append what a decision, given as it is or by its id, has cost."""
        action = action.item() if isinstance(action, np.generic) else action
        event: dict[str, Any] = {
            "id": _id_of(decision, action),
            "loss": -read_reward(loss, reward, None),
        }
        if action is not None:
            event["action"] = action
        self._append(event)

    def _append(self, event: dict[str, Any]) -> None:
        # ASCII: a line that is cut is never cut within a character.
        line = json.dumps(event, allow_nan=False, separators=(",", ":")).encode("ascii") + b"\n"
        with self._lock:
            if self._handle is None:
                raise DataError(f"{self.path}: the log must be open to be written, and is closed")
            if not self._whole:
                line = CUT + b"\n" + line
            try:
                self._whole = False
                self._whole = os.write(self._handle, line) == len(line)
                if self.sync:
                    os.fsync(self._handle)
            except OSError as error:
                raise DataError(f"{self.path}: cannot be written ({error.strerror})") from error
            if not self._whole:
                raise DataError(f"{self.path}: a line was cut short: make room on its disk")

    def close(self) -> None:
        """Close the file; closing again does nothing."""
        with self._lock:
            if self._handle is not None:
                os.close(self._handle)
            self._handle = None

    def __enter__(self) -> LogWriter:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def _id_of(decision: Any, action: Any) -> str:
    """The id of a decision that a loss of this action (None: of its only one) belongs to."""
    if isinstance(decision, SlateDecision):
        if action is None:
            raise ValueError("a decision of several actions has a loss per action: give action=")
        decision.probability_of(action)
    elif isinstance(decision, Decision):
        if action not in (None, decision.action):
            raise ValueError(
                f"action must be that of the decision, {decision.action!r}, got {shown(action)}: "
                "leave it out"
            )
    elif not isinstance(decision, str):
        raise TypeError(
            f"decision must be what decide returned, or its id, got {shown(decision)}: log that"
        )
    if not isinstance(action, (str, int, type(None))) or isinstance(action, bool):
        raise ValueError(f"action must be a name or a whole number, got {shown(action)}")
    found = decision if isinstance(decision, str) else decision.id
    read_id(found)
    return found


def _plain(context: Any) -> Any:
    """A context as JSON has it: what `learn` would read from it."""
    parsed = read_context(context)
    if isinstance(parsed, np.ndarray):
        return parsed.tolist()
    return list(parsed.values()) if isinstance(parsed, Row) else parsed
