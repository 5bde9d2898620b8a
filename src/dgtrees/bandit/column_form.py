"""Live columns in a file: plain values out, and columns that are checked back."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgtrees.bandit.live_columns import Field, LiveColumns
from dgtrees.schema import Check, flag, items, maybe, number, record, shown, text, whole

__all__ = ["COLUMNS_FORM", "describe_columns", "restore_columns"]

_MOST = 10**6
_PLACE = whole(-1, _MOST)
_FINITE = number()


def _each(*checks: Check) -> Check:
    """A list of so many items, each with a check of its own."""

    def check_all(value: Any, name: str) -> None:
        items(lambda item, place: None, len(checks), len(checks))(value, name)
        for place, (check, item) in enumerate(zip(checks, value, strict=True)):
            check(item, f"{name}[{place}]")

    return check_all


COLUMNS_FORM: Check = record(
    {
        "limits": items(whole(1, _MOST), 3, 3),
        "named": flag,
        "positions": maybe(whole(1, 2**31 - 1)),
        "plain": flag,
        "shared": _PLACE,
        "numbers": items(_each(_PLACE, _PLACE, _FINITE, whole(0), maybe(_FINITE))),
        "fields": items(_each(text(), _PLACE, _PLACE, items(_each(text(), _PLACE)))),
    }
)
"""What a file's header says of live columns."""


def describe_columns(columns: LiveColumns) -> dict[str, Any]:
    """Everything, in plain values; floats survive to the last bit.

    >>> columns = LiveColumns()
    >>> row = columns.grow(columns.read({"age": 31}))
    >>> restore_columns(describe_columns(columns)).names
    ['age']
    """
    numbers = zip(
        columns._at, columns._gap, columns._total, columns._count, columns._fill, strict=True
    )
    return {
        "limits": list(columns.limits),
        "named": columns.named,
        "positions": columns.positions,
        "plain": columns._plain,
        "shared": columns._shared,
        "numbers": [
            [int(at), int(gap), float(total), int(count), None if fill != fill else float(fill)]
            for at, gap, total, count, fill in numbers
        ],
        "fields": [
            [key, field.number, field.buckets, [[v, place] for v, place in field.values.items()]]
            for key, field in columns._fields.items()
        ],
    }


def restore_columns(told: dict[str, Any]) -> LiveColumns:
    """What `describe_columns` described; refuses columns that do not lie side by side."""
    COLUMNS_FORM(told, "columns")
    found = LiveColumns(*told["limits"])
    found.named, found.positions = told["named"], told["positions"]
    found._plain, found._shared = told["plain"], told["shared"]
    numbers = told["numbers"]
    found._at = np.array([n[0] for n in numbers], dtype=np.int64)
    found._gap = np.array([n[1] for n in numbers], dtype=np.int64)
    found._total = np.array([n[2] for n in numbers], dtype=np.float64)
    found._count = np.array([n[3] for n in numbers], dtype=np.float64)
    fills = [np.nan if n[4] is None else n[4] for n in numbers]
    found._fill = np.array(fills, dtype=np.float64)
    for key, number_, buckets, values in told["fields"]:
        found._fields[key] = Field(number_, buckets, dict(map(tuple, values)))
    found.width = _check_places(found, told)
    return found


def _check_places(found: LiveColumns, told: dict[str, Any]) -> int:
    """How many columns there are, which must have one owner each."""
    buckets = range(found.limits[1])
    places = [*found._at.tolist(), *found._gap[found._gap >= 0].tolist()]
    places += [found._shared + b for b in buckets] if found._shared >= 0 else []
    owners = []
    for field in found._fields.values():
        places += [*field.values.values()]
        places += [field.buckets + b for b in buckets] if field.buckets >= 0 else []
        owners += [field.number] if field.number >= 0 else []
    plain = not found._plain or (
        found.positions is not None
        and found._at[: found.positions].tolist() == list(range(found.positions))
    )
    fits = (
        sorted(places) == list(range(len(places)))
        and sorted(owners) == list(range(len(found._at)))
        and len(found._fields) == len(told["fields"])
        and not (found.named and found.positions is not None)
        and plain
    )
    if not fits:
        raise ValueError(f"columns must lie side by side, the file has {shown(sorted(places))}")
    return len(places)
