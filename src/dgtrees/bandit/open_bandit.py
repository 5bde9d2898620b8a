"""Logs of the Open Bandit Dataset (Saito et al. 2020) as a `DecisionLog`.

A row shows which of some dozens of fashion items was put at one of three positions of a page, how
likely the logging policy was to do so, and whether it was clicked. Features of users are hashed
texts; the affinities of a user to items are counts, mostly 0.
"""

from __future__ import annotations

import csv
import io
import os
from typing import Any

from dgtrees.bandit.checks import shown
from dgtrees.bandit.decision import check_probability
from dgtrees.bandit.decision_log import DecisionLog, LoggedAnswer
from dgtrees.errors import DataError
from dgtrees.tables.files import open_bytes, source_name

__all__ = ["read_open_bandit"]

_NEEDED = ("item_id", "position", "click", "propensity_score")
_USER, _AFFINITY, _ITEM = "user_feature_", "user-item_affinity_", "item_feature_"


def read_open_bandit(
    log: Any, items: Any = None, *, affinities: bool = False, position: int | None = None
) -> DecisionLog:
    """Read one campaign's log of one policy, and what is known of its items.

    Parameters
    ----------
    log : path or stream
        The CSV file of a campaign, plain or compressed.
    items : path or stream, optional
        Its ``item_context.csv``; becomes the log's `action_features`.
    affinities : bool, default False
        Whether contexts have the affinities that are not 0, too.
    position : int, optional
        Rows of one position only, 1 to 3; without it, the position is part of the context.

    Returns
    -------
    DecisionLog
        Actions are the numbers of items; the loss is -1 where the item was clicked, and 0.
    """
    columns = _read(log, _NEEDED)
    users = [name for name in columns if name.startswith(_USER)]
    liked = [name for name in columns if name.startswith(_AFFINITY)] if affinities else []
    answers = []
    for row, place in enumerate(columns["position"]):
        if position is not None and place != str(position):
            continue
        context: dict[str, Any] = {name: columns[name][row] for name in users}
        if position is None:
            context["position"] = place
        try:
            counts = {name: float(columns[name][row]) for name in liked}
            context |= {name: count for name, count in counts.items() if count}
            answers.append(
                LoggedAnswer(
                    context,
                    int(columns["item_id"][row]),
                    check_probability(float(columns["propensity_score"][row])),
                    0.0 - float(columns["click"][row]),
                )
            )
        except ValueError as error:
            raise DataError(f"{source_name(log)}, line {row + 2}: {error}") from None
    if not answers:
        raise DataError(f"{source_name(log)}: a log must have rows of position {position}, got 0")
    features = None if items is None else _read_items(items)
    return DecisionLog(answers, tuple(features or ()), features)


def _read_items(items: Any) -> dict[Any, dict[str, Any]]:
    columns = _read(items, ("item_id",))
    names = [name for name in columns if name.startswith(_ITEM)]
    return {
        int(item): {name: _number_or_text(columns[name][row]) for name in names}
        for row, item in enumerate(columns["item_id"])
    }


def _read(source: Any, needed: tuple[str, ...]) -> dict[str, list[str]]:
    """Columns of a CSV file by name, as text."""
    name = source_name(source)
    path = os.fspath(source) if isinstance(source, os.PathLike) else source
    try:
        with open_bytes(path) as stream:
            rows = csv.reader(io.TextIOWrapper(stream, "utf-8", newline=""), strict=True)
            header = next(rows, [])
            for missing in needed:
                if missing not in header:
                    raise DataError(
                        f"{name}: an Open Bandit file must have the column {missing!r}, got "
                        f"{shown(header[:6])}: is it the right file?"
                    )
            cells = list(rows)
    except (csv.Error, UnicodeDecodeError) as error:
        raise DataError(f"{name}: must be a CSV file in UTF-8 ({error})") from error
    for line, row in enumerate(cells, start=2):
        if len(row) != len(header):
            raise DataError(f"{name}, line {line}: must have {len(header)} cells, got {len(row)}")
    columns = zip(*cells, strict=True) if cells else ([] for _ in header)
    return {column: list(values) for column, values in zip(header, columns, strict=True)}


def _number_or_text(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell
