"""One line of a log, in each format a log may be written in.

This module owns the grammar of lines: JSON lines of our own, Vowpal Wabbit's `--cb` text and its
dsjson. Files and line numbers are the business of those who call, who turn a `BadLineError` into a
`DataError`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["FORMATS", "BadLineError", "Event", "columns_of_cells"]

_MAX_ACTION = 2**31 - 1
_SEPARATOR = "^"  # as Vowpal Wabbit itself writes namespace and feature


class Event(NamedTuple):
    """One line: features by name, or all of them in order; the action counted from 0."""

    features: dict[str, float | str] | np.ndarray
    action: int
    probability: float
    loss: float
    n_actions: int
    lists_actions: bool = False
    """Whether the line says how many actions there were; otherwise `n_actions` is the least."""


class BadLineError(Exception):
    """What is wrong with a line; the reader adds file and number."""


def _show(value: object) -> str:
    """A value for a message of one line."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _number(value: object, what: str) -> float:
    """A finite number out of text or JSON."""
    try:
        if isinstance(value, str):
            # float() also takes "1_000", which no writer of numbers means.
            number = float("_" if "_" in value else value)
        elif isinstance(value, (int, float)):
            number = float(value)
        else:
            raise ValueError
    except (ValueError, OverflowError):
        raise BadLineError(f"{what} must be a finite number, got {_show(value)}") from None
    if not math.isfinite(number):
        raise BadLineError(f"{what} must be a finite number, got {_show(value)}: drop the line")
    return number


def _probability(value: object) -> float:
    number = _number(value, "the probability")
    if not 0 < number <= 1:
        raise BadLineError(
            f"the probability must be above 0 and at most 1, got {_show(value)}: "
            "log how likely the action taken was"
        )
    return number


def _action(value: Any, first: int) -> int:
    """An action counted from 0, out of one counted from `first`."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,12}", value):
        value = int(value)
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or not first <= value <= _MAX_ACTION:
        raise BadLineError(
            f"the action must be a whole number from {first}, got {_show(value)}: "
            f"this format counts actions from {first}"
        )
    return int(value) - first


def _object(line: str) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadLineError(
            f"a line must be one JSON object, got {_show(line)} "
            f"({getattr(error, 'msg', 'nested too deeply')}): is this the right format?"
        ) from None
    if not isinstance(event, dict):
        raise BadLineError(f"a line must be one JSON object, got {_show(event)}")
    return event


def _field(event: dict[str, Any], name: str) -> Any:
    if name not in event:
        keys = ", ".join(sorted(event)[:8]) or "nothing"
        raise BadLineError(
            f"the field {name!r} must be there, got {_show(keys)}: is it the format?"
        )
    return event[name]


def _flatten(value: object, name: str, into: dict[str, float | str], skip_hidden: bool) -> None:
    """Collect the numbers and texts of nested JSON under names joined by "^"."""
    if isinstance(value, (dict, list)):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            if skip_hidden and (str(key).startswith("_") or inner is None):
                continue
            _flatten(inner, f"{name}{_SEPARATOR}{key}" if name else str(key), into, skip_hidden)
        return
    if name in into:
        raise BadLineError(f"a feature must have one value, got two for {_show(name)}: rename one")
    text = isinstance(value, str)
    into[name] = value if text else _number(value, f"the feature {_show(name)}")  # type: ignore[assignment]


def _features(value: object, skip_hidden: bool) -> dict[str, float | str]:
    features: dict[str, float | str] = {}
    try:
        _flatten(value, "", features, skip_hidden)
    except RecursionError:
        raise BadLineError(
            "features must not be nested too deeply, got hundreds of levels"
        ) from None
    return features


def columns_of_cells(cells: dict[str, float | str]) -> dict[str, float]:
    """Numbers by name; a text becomes a number 1 by the name "name=text".

    >>> columns_of_cells({"age": 31.0, "city": "Pune"})
    {'age': 31.0, 'city=Pune': 1.0}
    """
    found: dict[str, float] = {}
    for name, value in cells.items():
        column, number = (f"{name}={value}", 1.0) if isinstance(value, str) else (name, value)
        if column in found:
            told = _show(column)
            raise BadLineError(f"a feature must have one value, got two for {told}: rename one")
        found[column] = number
    return found


def _parse_jsonl(line: str) -> Event:
    event = _object(line)
    x = _field(event, "x")
    if isinstance(x, list):
        features: Any = np.array([_number(v, f"x[{j}]") for j, v in enumerate(x)], dtype=np.float64)
    elif isinstance(x, dict):
        features = _features(x, skip_hidden=False)
    else:
        raise BadLineError(f"x must be a list or an object of features, got {_show(x)}")
    action = _action(_field(event, "action"), first=0)
    probability = _probability(_field(event, "probability"))
    loss = _number(_field(event, "loss"), "the loss")
    return Event(features, action, probability, loss, action + 1)


def _parse_dsjson(line: str) -> Event:
    event = _object(line)
    context = _field(event, "c")
    if not isinstance(context, dict):
        raise BadLineError(f"the context c must be an object, got {_show(context)}")
    action = _action(_field(event, "_label_Action"), first=1)
    probability = _probability(_field(event, "_label_probability"))
    loss = _number(_field(event, "_label_cost"), "the cost")
    lists = {"a": event.get("a", []), "p": event.get("p", []), "_multi": context.get("_multi", [])}
    for name, values in lists.items():
        if not isinstance(values, list):
            raise BadLineError(f"{name} must be a list, one entry an action, got {_show(values)}")
    sizes = {len(values) for values in lists.values() if values}
    if len(sizes) > 1 or any(action >= size for size in sizes):
        found = ", ".join(f"{name}: {len(values)}" for name, values in lists.items() if values)
        raise BadLineError(
            f"a, p and _multi must be of one length that has room for action {action + 1}, "
            f"got {found}"
        )
    n_actions = max(sizes | {action + 1})
    cells = _features(context, skip_hidden=True)
    return Event(cells, action, probability, loss, n_actions, bool(sizes))


def _parse_vw(line: str) -> Event:
    label, bar, rest = line.partition("|")
    if label.split()[:1] == ["shared"]:
        raise BadLineError(
            "a line must be one whole decision, got 'shared', which starts the several lines "
            "of --cb_adf: write the log in --cb format or as dsjson"
        )
    tokens = label.split()
    if not bar or not tokens:
        raise BadLineError(
            f"a line must read action:cost:probability | features, got {_show(line)}"
        )
    # What touches the bar, or starts with an apostrophe, is Vowpal Wabbit's tag and no label.
    if tokens[-1].startswith("'") or not label[-1].isspace():
        tag = tokens.pop()
        if not tokens:
            raise BadLineError(
                f"a label must come before the |, got the tag {_show(tag)}: put a space between"
            )
    parts = tokens[0].split(":")
    if len(tokens) != 1 or len(parts) != 3:
        raise BadLineError(
            f"the label must be one action:cost:probability, got {_show(' '.join(tokens))}: "
            "a log here has the same actions in every line"
        )
    action = _action(parts[0], first=1)
    loss = _number(parts[1], "the cost")
    probability = _probability(parts[2])
    features: dict[str, float] = {}
    keys: dict[str, str] = {}
    for part in rest.split("|"):
        _vw_namespace(part, features, keys)
    return Event(_with_texts(features, keys), action, probability, loss, action + 1)


def _with_texts(features: dict[str, float], keys: dict[str, str]) -> dict[str, float | str]:
    """Features with "city=Rome" as a text, where it is the only value of its key."""
    single = {key: name for name, key in keys.items()}
    many = {key for name, key in keys.items() if single[key] != name}
    cells: dict[str, float | str] = {}
    for name, number in features.items():
        key = keys.get(name)
        text = number == 1.0 and key is not None and key not in features and key not in many
        if text and key is not None:
            cells[key] = name[len(key) + 1 :]
        else:
            cells[name] = number
    return cells


def _vw_namespace(part: str, features: dict[str, float], keys: dict[str, str]) -> None:
    """Add the features of one `name:weight feature:value ...`; the name touches the bar.

    `keys` gets what is before the "=" of names that have one.
    """
    tokens = part.split()
    prefix, weight = "", 1.0
    if tokens and not part[0].isspace():
        namespace, colon, scale = tokens.pop(0).partition(":")
        prefix = f"{namespace}{_SEPARATOR}"
        weight = _number(scale, f"the weight of namespace {_show(namespace)}") if colon else 1.0
    for token in tokens:
        name, colon, value = token.rpartition(":")
        if not colon:
            name, value = token, "1"
        if not name:
            raise BadLineError(f"a feature must have a name, got {_show(token)}: write name:value")
        number = weight * _number(value, f"the feature {_show(name)}")
        # A name given twice counts twice there, so it does here.
        total = features.get(prefix + name, 0.0) + number
        features[prefix + name] = _number(total, f"the feature {_show(name)}")
        key, equals, _ = name.partition("=")
        if key and equals:
            keys[prefix + name] = prefix + key


FORMATS: dict[str, Callable[[str], Event]] = {
    "jsonl": _parse_jsonl,
    "vw": _parse_vw,
    "dsjson": _parse_dsjson,
}
"""Readers of one line, by the name of their format."""
