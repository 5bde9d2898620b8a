"""Logs that Vowpal Wabbit wrote, as a `DecisionLog`: contexts as dicts, texts as texts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from dgtrees.bandit.checks import shown
from dgtrees.bandit.decision_log import DecisionLog, LoggedAnswer
from dgtrees.bandit.log_lines import FORMATS, BadLineError
from dgtrees.bandit.logs import numbered_lines
from dgtrees.errors import DataError
from dgtrees.tables.files import source_name

__all__ = ["FOREIGN", "read_foreign"]

FOREIGN = ("vw", "dsjson")


def read_foreign(
    sources: Sequence[Any], format: str, actions: Sequence[Any] | None = None
) -> DecisionLog:
    """The decisions of files or streams, one after the other; see `read_decisions`.

    >>> import io
    >>> text = io.StringIO("2:0.5:0.25 |user age:31 city=Rome vip\\n")
    >>> read_foreign([text], "vw", ["mail", "gift"]).answers[0][:4]
    ({'user^age': 31.0, 'user^city': 'Rome', 'user^vip': 1.0}, 'gift', 0.25, 0.5)
    """
    parse = FORMATS[format]
    if isinstance(actions, (str, bytes)) or not (actions is None or np.iterable(actions)):
        raise ValueError(f"actions must be a list of names, got {shown(actions)}: name each")
    names = None if actions is None else tuple(actions)
    if names is not None and (not names or len(set(names)) != len(names)):
        raise ValueError(f"actions must be different names, got {shown(actions)}: name each once")
    answers = []
    for source in sources:
        path = os.fspath(source) if isinstance(source, os.PathLike) else source
        name = source_name(path)
        for number, line in numbered_lines(path, name):
            try:
                answers.append(_read(parse(line), names))
            except BadLineError as error:
                raise DataError(f"{name}, line {number}: {error}") from None
    return DecisionLog(answers, names or ())


def _read(event: Any, names: tuple[Any, ...] | None) -> LoggedAnswer:
    if names is not None and event.n_actions > len(names):
        raise BadLineError(
            f"a line must be about the {len(names)} actions that were named, got one of "
            f"{event.n_actions}: name all of them by actions="
        )
    known = range(event.n_actions) if names is None else names
    allowed = tuple(known[: event.n_actions]) if event.lists_actions else None
    return LoggedAnswer(event.features, known[event.action], event.probability, event.loss, allowed)
