"""Logs of decisions: what was seen, what was done, how likely that was, and what it cost.

This module owns `Log` and the files it comes from; log_lines.py reads the single line, and what a
log says about a policy is evaluate.py's business.

Actions are numbered from 0 here. Both Vowpal Wabbit formats number them from 1, so their action 1
is our action 0. Every reader checks every line; what cannot be meant is refused by `DataError`
with the file, the line, the rule and the value found.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dgtrees.bandit.checks import shown, whole_number
from dgtrees.bandit.log_lines import FORMATS, BadLineError, columns_of_cells
from dgtrees.errors import DataError
from dgtrees.tables.files import blocks_of_lines, open_bytes, source_name
from dgtrees.writing import whole_file

__all__ = ["Log", "numbered_lines", "read_log", "write_log"]

_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_MAX_CELLS = 2**30  # 8 GB of float64: names that are really values make tables wider than that


@dataclass(frozen=True, eq=False)
class Log:
    """Rows of decisions as arrays, checked and read-only.

    Parameters
    ----------
    X : array of shape (rows, d)
        Features, finite float64.
    actions : array of shape (rows,)
        The action taken, from 0 to n_actions - 1.
    probabilities : array of shape (rows,)
        How likely the logging policy was to take it: above 0, at most 1.
    losses : array of shape (rows,)
        What it cost; any finite number, smaller is better.
    n_actions : int
        Number of actions there were to choose from.
    feature_names : tuple of d strings, default ("f0", "f1", ...)

    Examples
    --------
    >>> log = Log([[1.0], [2.0]], [0, 1], [0.5, 0.5], [1.0, 0.0], n_actions=2)
    >>> len(log), log.feature_names
    (2, ('f0',))
    """

    X: np.ndarray
    actions: np.ndarray
    probabilities: np.ndarray
    losses: np.ndarray
    n_actions: int
    feature_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        X = _numbers(self.X, "X")
        actions = np.asarray(self.actions)
        if actions.dtype.kind not in "iu":
            raise ValueError(f"actions must be whole numbers, got dtype {actions.dtype}")
        actions = actions.astype(np.int64)
        probabilities = _numbers(self.probabilities, "probabilities")
        losses = _numbers(self.losses, "losses")
        whole_number("n_actions", self.n_actions, 1, 2**31)
        if X.ndim != 2:
            raise ValueError(f"X must have shape (rows, d), got {X.shape}")
        for name, values in (
            ("actions", actions),
            ("probabilities", probabilities),
            ("losses", losses),
        ):
            if values.shape != (len(X),):
                raise ValueError(f"{name} must have shape ({len(X)},), got {values.shape}")
        names = tuple(self.feature_names) or default_names(X.shape[1])
        if len(names) != X.shape[1]:
            raise ValueError(f"feature_names must name {X.shape[1]} columns, got {len(names)}")
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"feature_names must differ from each other, got {twice!r} twice")
        _refuse_row(np.logical_not(np.isfinite(X).all(axis=1)), "X must be finite", X)
        known = (actions >= 0) & (actions < self.n_actions)
        _refuse_row(~known, f"actions must be from 0 to {self.n_actions - 1}", actions)
        likely = (probabilities > 0) & (probabilities <= 1)
        _refuse_row(~likely, "probabilities must be above 0 and at most 1", probabilities)
        _refuse_row(~np.isfinite(losses), "losses must be finite", losses)
        fields = {
            "X": X,
            "actions": actions,
            "probabilities": probabilities,
            "losses": losses,
            "n_actions": int(self.n_actions),
            "feature_names": names,
        }
        for name, value in fields.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.actions)

    def take(self, rows: Any) -> Log:
        """The log of some rows: indices, a mask or a slice."""
        return Log(
            self.X[rows],
            self.actions[rows],
            self.probabilities[rows],
            self.losses[rows],
            self.n_actions,
            self.feature_names,
        )


def default_names(columns: int) -> tuple[str, ...]:
    """The names ("f0", "f1", ...) of features that came without any."""
    return tuple(f"f{j}" for j in range(columns))


def _numbers(values: Any, name: str) -> np.ndarray:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, got {shown(values)}: encode them") from None


def _refuse_row(bad: np.ndarray, rule: str, values: np.ndarray) -> None:
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(f"{rule}, got {values[row]} in row {row}")


def read_log(
    source: str | os.PathLike[str] | io.IOBase | Any,
    format: str = "jsonl",
    *,
    n_actions: int | None = None,
    feature_names: Sequence[str] | None = None,
) -> Log:
    """Read a log from a path (plain, .gz, .bz2 or .xz) or an open stream (text or bytes).

    Parameters
    ----------
    source : path or stream
    format : {"jsonl", "vw", "dsjson"}
        "jsonl": one object a line, ``{"x": [1.5, 0], "action": 3, "probability": 0.7,
        "loss": 0.0}``; ``x`` may be an object of names and values, where a text value becomes a
        column "name=value"; other keys are ignored; actions from 0.
        "vw": Vowpal Wabbit's ``action:cost:probability |namespace name:value name ...``; a name
        alone has the value 1, a namespace "n" makes names "n^name"; actions from 1.
        "dsjson": ``_label_cost``, ``_label_probability``, ``_label_Action`` (from 1), and the
        features in ``c``. Objects inside objects make names "outer^inner"; names that start with
        "_", null, and features of single actions (``_multi``) are left out.
    n_actions : int, optional
        How many actions there were. Unless given: as many as the log shows.
    feature_names : sequence of str, optional
        The columns to keep, in this order, say those a policy was trained on; a name the log does
        not have becomes a column of zeros. Unless given: all names of the log, sorted, with
        numbers in names by their value ("f2" before "f10").

    Raises
    ------
    DataError
        If the file cannot be read or a line cannot be meant; the message names the line.

    Examples
    --------
    >>> text = io.StringIO("2:0.5:0.25 | height:1.5 tall\\n1:0:0.75 | height:0.5\\n")
    >>> log = read_log(text, "vw")
    >>> log.feature_names, log.X.tolist(), log.actions.tolist()
    (('height', 'tall'), [[1.5, 1.0], [0.5, 0.0]], [1, 0])
    """
    if format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")
    parse = FORMATS[format]
    table = _Table(None if feature_names is None else tuple(feature_names))
    events: list[tuple[int, float, float]] = []
    shown = 0
    name = source_name(source)
    for number, line in numbered_lines(source, name):
        try:
            event = parse(line)
            if n_actions is not None and event.action >= n_actions:
                raise BadLineError(
                    f"the action must be one of {n_actions}, got {_both(event.action)}: "
                    "read with a larger n_actions"
                )
            told = event.features
            table.add(columns_of_cells(told) if isinstance(told, dict) else told)
        except BadLineError as error:
            raise DataError(f"{name}, line {number}: {error}") from None
        events.append((event.action, event.probability, event.loss))
        shown = max(shown, event.n_actions)
    if not events:
        raise DataError(f"{name}: a log must have at least one line, found none: check the path")
    try:
        X = table.dense()
    except BadLineError as error:
        raise DataError(f"{name}: {error}") from None
    actions, probabilities, losses = zip(*events, strict=True)
    return Log(
        X,
        np.array(actions, dtype=np.int64),
        np.array(probabilities),
        np.array(losses),
        shown if n_actions is None else n_actions,
        table.names,
    )


def write_log(log: Log, target: str | os.PathLike[str] | Any) -> None:
    """Write JSON lines that `read_log` reads back to the last bit (.gz, .bz2, .xz by suffix).

    Features with names of their own are written by name; read them back in the same order with
    ``feature_names=log.feature_names``, and give ``n_actions`` if the last action was never taken.
    """
    if not isinstance(log, Log):
        raise TypeError(f"log must be a Log, got {shown(log)}: write_log(log, path)")
    if hasattr(target, "write"):
        _write(log, target)
        return
    opener = _OPENERS.get(Path(target).suffix)
    with whole_file(target, text=opener is None) as file:
        if opener is None:
            _write(log, file)
            return
        with opener(file, "wt", encoding="utf-8") as packed:
            _write(log, packed)


def _write(log: Log, stream: Any) -> None:
    named = log.feature_names != default_names(log.X.shape[1])
    rows = zip(
        log.X, log.actions.tolist(), log.probabilities.tolist(), log.losses.tolist(), strict=True
    )
    for x, action, probability, loss in rows:
        values = x.tolist()
        features = dict(zip(log.feature_names, values, strict=True)) if named else values
        event = {"x": features, "action": action, "probability": probability, "loss": loss}
        stream.write(json.dumps(event, ensure_ascii=False) + "\n")


def numbered_lines(source: Any, name: str) -> Iterator[tuple[int, str]]:
    """Numbered lines that are not blank."""
    if isinstance(source, io.TextIOBase):
        found: Iterator[tuple[int, str]] = enumerate(source, start=1)
        yield from ((number, line.strip()) for number, line in found if line.strip())
        return
    with open_bytes(source) as stream:
        for first, block in blocks_of_lines(stream, name):
            for number, line in enumerate(block.decode("utf-8").split("\n"), start=first):
                if line.strip():
                    yield number, line.strip()


class _Table:
    """Rows of features, kept sparse until all names are known."""

    def __init__(self, wanted: tuple[str, ...] | None):
        self.wanted = wanted
        self.names: tuple[str, ...] = wanted or ()
        self._column = {name: j for j, name in enumerate(wanted or ())}
        self._rows: list[tuple[np.ndarray, np.ndarray]] = []
        self._listed: int | None = None  # length of the rows that came as lists

    def add(self, features: dict[str, float] | np.ndarray) -> None:
        listed = len(features) if isinstance(features, np.ndarray) else None
        if self._rows and listed != self._listed:
            kinds = [
                "features by name" if n is None else f"a list of {n} features"
                for n in (self._listed, listed)
            ]
            raise BadLineError(f"all lines must agree on x, got {kinds[1]} after {kinds[0]}")
        self._listed = listed
        if isinstance(features, np.ndarray):
            self._rows.append((_NO_COLUMNS, features))
            return
        if self.wanted is None:
            column = self._column
            index = [column.setdefault(name, len(column)) for name in features]
            values = list(features.values())
        else:
            kept = [(self._column[k], v) for k, v in features.items() if k in self._column]
            index, values = [j for j, _ in kept], [v for _, v in kept]
        self._rows.append((np.array(index, dtype=np.int64), np.array(values, dtype=np.float64)))

    def dense(self) -> np.ndarray:
        """Rows (rows, d); settles `names`."""
        if self._listed is not None:
            X = np.array([values for _, values in self._rows]).reshape(len(self._rows), -1)
            names = default_names(self._listed)
            if self.wanted is None:
                self.names = names
                return X
            place = {name: j for j, name in enumerate(names)}
            chosen = np.zeros((len(X), len(self.wanted)))
            for j, name in enumerate(self.wanted):
                if name in place:
                    chosen[:, j] = X[:, place[name]]
            return chosen
        cells = len(self._rows) * len(self._column)
        if cells > _MAX_CELLS:
            raise BadLineError(
                f"at most {_MAX_CELLS} values fit a table, got {len(self._rows)} lines of "
                f"{len(self._column)} names: choose the columns to keep with feature_names"
            )
        place_of = np.arange(len(self._column))
        if self.wanted is None:
            self.names = tuple(sorted(self._column, key=_natural))
            for j, name in enumerate(self.names):
                place_of[self._column[name]] = j
        X = np.zeros((len(self._rows), len(self._column)))
        for x, (index, values) in zip(X, self._rows, strict=True):
            x[place_of[index]] = values
        return X


_NO_COLUMNS = np.empty(0, dtype=np.int64)


def _natural(name: str) -> tuple[list[str | int], str]:
    """A sorting key under which f2 comes before f10; text and numbers alternate in it."""
    parts = re.split(r"([0-9]{1,18})", name)
    return [int(part) if i % 2 else part for i, part in enumerate(parts)], name


def _both(action: int) -> str:
    return f"{action} ({action + 1} counted from 1)"
