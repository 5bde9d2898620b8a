"""Contexts as callers have them become cells: numbers, texts and gaps; or they are refused.

A context is a mapping, a pandas Series, a row of a frame, a list, a tuple or an array. Its cells
are numbers (truth values are 0 and 1), texts, or missing (None, NaN, pandas.NA). What is nested, a
date, or anything else is refused with what to do about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any, NoReturn

import numpy as np

from dgtrees.bandit.checks import shown
from dgtrees.tables.encoder import columns_of, is_frame
from dgtrees.tree.running_scale import LARGEST, usable

__all__ = ["Cells", "Parsed", "Row", "position_name", "read_cell", "read_context", "read_table"]

Cell = float | str | None
Cells = dict[str, Cell]


class Row(dict[str, Cell]):
    """Cells that came without names: x0, x1, .. in order."""


Parsed = np.ndarray | Cells
"""A row of numbers without gaps (float64), or cells by name."""


def position_name(place: int) -> str:
    """What the cell at a place of a row without names is called.

    >>> position_name(3)
    'x3'
    """
    return f"x{place}"


def read_context(x: Any, by_position: bool = False) -> Parsed:
    """One context as cells, or as a row of numbers where it has no names and nothing else.

    `by_position`: names of a Series or frame do not count.

    >>> read_context({"age": 31, "city": "Pune", "vip": True, "income": None})
    {'age': 31.0, 'city': 'Pune', 'vip': 1.0, 'income': None}
    >>> read_context([1, 2.5])
    array([1. , 2.5])
    """
    if isinstance(x, Mapping):
        return _by_name(x.items())
    if is_frame(x):
        rows = list(read_table(x, by_position))
        if len(rows) != 1:
            raise ValueError(f"a context must be one row, got a frame of {len(rows)}: pass one")
        return rows[0]
    if hasattr(x, "iloc") and hasattr(x, "index"):  # a pandas Series
        labels = x.index.tolist()
        if not by_position and labels != list(range(len(labels))):
            return _by_name(zip(labels, x.tolist(), strict=True))
        x = x.tolist()
    return _by_place(x)


def read_table(X: Any, by_position: bool = False) -> Iterator[Parsed]:
    """Contexts of a frame, or of a sequence of contexts, one after the other."""
    if is_frame(X):
        columns = columns_of(X)
        names = [str(name) for name, _ in columns]
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"a frame must have every column once, got {twice!r} twice: rename")
        for cells in zip(*(values.tolist() for _, values in columns), strict=True):
            plain = _by_place(cells) if by_position else _by_name(zip(names, cells, strict=True))
            yield plain
        return
    if isinstance(X, (str, bytes, Mapping)) or not np.iterable(X):
        raise ValueError(f"X must be rows: a frame, an array or a list, got {shown(X)}: pass [x]")
    for x in X:
        if isinstance(x, (Real, str)):
            raise ValueError(
                f"X must be rows, a context each, got {shown(x)} for one: pass [x] for a single row"
            )
        yield read_context(x, by_position)


def _by_name(items: Any) -> Cells:
    cells: Cells = {}
    for key, value in items:
        name = key if type(key) is str else _read_name(key)
        if name in cells:
            raise ValueError(f"a context must have every key once, got {name!r} twice: rename one")
        cells[name] = read_cell(value, name)
    for name in cells:
        if not (name.isascii() or _encodable(name)):
            raise ValueError(f"keys of a context must be valid text, got {shown(name)}")
    return cells


def _read_name(key: Any) -> str:
    if isinstance(key, (str, int, np.integer)) and not isinstance(key, bool):
        return str(key)
    raise ValueError(f"keys of a context must be text, got {shown(key)}: name it by text")


def _by_place(x: Any) -> Parsed:
    if isinstance(x, (str, bytes)) or not np.iterable(x):
        raise ValueError(
            f"a context must be a dict, a Series or a row, got {shown(x)}: pass {{'name': value}}"
        )
    try:
        row = np.asarray(x, dtype=np.float64, order="C")
        numbers = not isinstance(x, np.ndarray) or x.dtype != object
    except (TypeError, ValueError):
        row, numbers = np.empty(0), False
    if numbers and row.ndim == 1 and len(row) and usable(row):
        texts = not isinstance(x, np.ndarray) and any(isinstance(cell, str) for cell in x)
        if not texts:  # NumPy reads "1" as a number
            return row
    if isinstance(x, np.ndarray) and x.ndim != 1:
        raise ValueError(f"a context must be one row, a vector, got shape {x.shape}: pass X[i]")
    cells = list(x)
    if not cells:
        raise ValueError("a context must have at least one cell, got none: pass X[i]")
    named = ((position_name(j), cell) for j, cell in enumerate(cells))
    return Row((name, read_cell(cell, name)) for name, cell in named)


def read_cell(value: Any, name: str) -> Cell:
    """One cell: a number, a text, or None where it is missing.

    >>> read_cell(True, "vip"), read_cell(float("nan"), "age"), read_cell("Pune", "city")
    (1.0, None, 'Pune')
    """
    kind = type(value)
    if kind is str:
        if not (value.isascii() or _encodable(value)):
            _refuse_text(value, name)
        return value  # type: ignore[no-any-return]
    if value is None:
        return None
    if kind is float or kind is int or kind is bool:
        return _number(value, name)
    return _read_unusual(value, name)


def _read_unusual(value: Any, name: str) -> Cell:
    """Cells of other libraries' types."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        if value.dtype.kind == "M" or value.dtype.kind == "m":
            return None if np.isnat(value) else _refuse(value, name)
        return read_cell(value.item(), name)
    if isinstance(value, str):
        return read_cell(str(value), name)
    if isinstance(value, (Mapping, list, tuple, set, frozenset, np.ndarray)):
        raise ValueError(
            f"cells of a context must not be nested, got {shown(value)} for {name!r}: "
            f"give its parts keys of their own, such as {name + '.part'!r}"
        )
    if isinstance(value, (Real, Decimal)):
        return _number(value, name)
    try:
        if bool(value != value):  # NaT
            return None
    except (TypeError, ValueError):  # pandas.NA refuses to be compared
        return None
    return _refuse(value, name)


def _number(value: Any, name: str) -> float | None:
    try:
        number = float(value)
    except (OverflowError, ValueError):
        number = float("inf")
    if number != number:
        return None
    if not abs(number) <= LARGEST:
        raise ValueError(
            f"numbers of a context must be at most {LARGEST:g}, got {shown(value)} for {name!r}: "
            "rescale it, or leave it out"
        )
    return number


def _refuse(value: Any, name: str) -> NoReturn:
    remedy = "make text or a number of it"
    if isinstance(value, (date, time, timedelta, np.generic)):
        remedy = "give its parts, such as hour and weekday, or a number of seconds"
    raise ValueError(
        f"cells of a context must be numbers, text, truth values or missing, got "
        f"{shown(value)} for {name!r}: {remedy}"
    )


def _refuse_text(value: str, name: str) -> NoReturn:
    raise ValueError(f"text of a context must be valid, got {shown(value)} for {name!r}: clean it")


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a pair of surrogates
        return False
    return True
