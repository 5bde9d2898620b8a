"""Dates and times: which order day, month and year stand in, and the parts that a tree can use.

Clock times are taken as they are written; those with an offset or a time zone are put to UTC.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np

from dgtrees.tables.text_values import is_missing, without_blanks

__all__ = ["ORDERS", "PARTS", "find_order", "parse_date", "parts_of", "to_dates"]

ORDERS = ("ymd", "dmy", "mdy")
PARTS = ("year", "month", "weekday", "hour")
"""What a date becomes; weekdays count from Monday, which is 0."""

_DATE = re.compile(
    r"(\d{1,4})([-/.])(\d{1,2})\2(\d{1,4})"
    r"([T ](\d{1,2}):(\d{2})(:(\d{2})([.,]\d+)?)?\s*(Z|[+-]\d{2}:?\d{2})?)?",
    re.ASCII,
)


def parse_date(text: str, order: str = "ymd") -> datetime:
    """The date and time that text states, whole seconds, without a time zone.

    >>> parse_date("2019-03-23 20:21:09")
    datetime.datetime(2019, 3, 23, 20, 21, 9)
    >>> parse_date("10/13/2014", "mdy")
    datetime.datetime(2014, 10, 13, 0, 0)
    """
    found = _DATE.fullmatch(text)
    if found is None or len(found[1 if order == "ymd" else 4]) != 4:
        raise ValueError(f"must be a date with four digits of its year, got {text!r}")
    number = dict(zip(order, (int(found[1]), int(found[3]), int(found[4])), strict=True))
    hour, minute, second = (int(found[k] or 0) for k in (6, 7, 9))
    moment = datetime(number["y"], number["m"], number["d"], hour, minute, second)
    return moment - _offset(found[11])


def _offset(text: str | None) -> timedelta:
    if text in (None, "Z"):
        return timedelta()
    assert text is not None
    size = timedelta(hours=int(text[1:3]), minutes=int(text[-2:]))
    return -size if text[0] == "-" else size


def find_order(texts: Iterable[str]) -> list[str]:
    """The orders in which all texts are dates: none, one, or two where nobody can tell."""
    left = list(ORDERS)
    points = True
    for text in texts:
        left = [order for order in left if _is_date(text, order)]
        if not left:
            return []
        points = points and "." in text[:3]
    # 3.4.2020 is written where the day comes first.
    return ["dmy"] if points and left == ["dmy", "mdy"] else left


def _is_date(text: str, order: str) -> bool:
    try:
        parse_date(text, order)
    except ValueError:
        return False
    return True


def to_dates(values: np.ndarray, name: str, order: str = "ymd") -> np.ndarray:
    """A column of dates, or of text of such, as datetime64[s]; NaT for a gap."""
    if values.dtype.kind == "M":
        return values.astype("datetime64[s]")
    moments = {}
    for value in values.tolist():
        if isinstance(value, str) and value not in moments:
            moments[value] = _moment(value, name, order)
    found = [
        moments[value] if isinstance(value, str) else _moment(value, name, order)
        for value in values.tolist()
    ]
    return np.array(found, dtype="datetime64[s]")


def _moment(value: Any, name: str, order: str) -> Any:
    """One value as NumPy takes it."""
    if isinstance(value, str):
        text = without_blanks(value)
        try:
            return None if text is None else parse_date(text, order)
        except ValueError as error:
            raise ValueError(
                f"column {name!r} must hold dates, as in fit ({order}), got {value!r}: fix it, or "
                "leave it empty if unknown"
            ) from error
    if is_missing(value):
        return None
    if isinstance(value, datetime):
        aware = value.tzinfo is not None
        return value.astimezone(UTC).replace(tzinfo=None) if aware else value
    if isinstance(value, (date, np.datetime64)):
        return value
    raise ValueError(f"column {name!r} must hold dates, got {value!r}: it was a date in fit")


def parts_of(dates: np.ndarray) -> dict[str, np.ndarray]:
    """`PARTS` of dates (rows,), each float64 (rows,), NaN for a gap.

    >>> parts_of(np.array(["2026-11-18T02:30"], dtype="datetime64[s]"))["weekday"]
    array([2.])
    """
    days = dates.astype("datetime64[D]")
    months = dates.astype("datetime64[M]").astype(np.int64)
    whole = {
        "year": 1970 + months // 12,
        "month": months % 12 + 1,
        "weekday": (days.astype(np.int64) + 3) % 7,
        "hour": (dates - days).astype("timedelta64[h]").astype(np.int64),
    }
    return {part: np.where(np.isnat(dates), np.nan, whole[part]) for part in PARTS}
