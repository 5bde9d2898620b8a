"""An encoder that grows while a policy runs: contexts in, rows of numbers out.

Columns are appended when an answer is learnt whose context has something new, and never move or
vanish: for every earlier row a new column was 0. Deciding leaves the columns as they are (what they
do not know yet is left out), so that they are a function of the answers learnt, in their order.

* A number is a column. From its first gap on it has a second one that is 1 where the number is
  missing, and the gap is filled by the mean up to then. Truth values are the numbers 0 and 1.
* A text has a column for each of its first `values` different values, 1 where it has that value.
  From then on new values share `buckets` columns by CRC-32 of the text.
* When there are `columns` columns in all, everything new goes to `buckets` columns that all share:
  1 is added for a text (by CRC-32 of "key=text"), the number for a number (by CRC-32 of the key).
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np

from dgtrees.bandit.cells import Cells, Parsed, Row, position_name, read_context, read_table
from dgtrees.bandit.checks import shown
from dgtrees.tables.encoder import is_frame
from dgtrees.tree.running_scale import LARGEST

__all__ = ["LiveColumns"]

VALUES, BUCKETS, COLUMNS = 64, 16, 512


@dataclass
class Field:
    """Where the cells of one key go; -1 where they have no such column yet."""

    number: int = -1  # among the numbers, not among the columns
    buckets: int = -1  # the first of them
    values: dict[str, int] = field(default_factory=dict)


class LiveColumns:
    """Columns that grow with what is learnt.

    Parameters
    ----------
    values, buckets, columns : int
        See above; 64, 16 and 512 by default.

    Examples
    --------
    >>> columns = LiveColumns()
    >>> columns.grow(columns.read({"age": 31, "city": "Pune"})).tolist()
    [31.0, 1.0]
    >>> columns.grow(columns.read({"city": "Rome"})).tolist(), columns.names
    ([31.0, 0.0, 1.0, 1.0], ['age', 'city=Pune', 'city=Rome', 'age missing'])
    """

    def __init__(self, values: int = VALUES, buckets: int = BUCKETS, columns: int = COLUMNS):
        self.limits = values, buckets, columns
        self.width = 0
        self.positions: int | None = None  # cells of a row, where contexts have no names
        self.named = False  # whether contexts have names
        self._plain = False  # whether the first columns are those of a row of numbers
        self._fields: dict[str, Field] = {}
        self._shared = -1
        self._at = np.empty(0, dtype=np.int64)
        self._gap = np.empty(0, dtype=np.int64)
        self._total, self._count, self._fill = np.empty(0), np.empty(0), np.empty(0)

    @property
    def row_width(self) -> int:
        """Length of an encoded row: a learner has a column, of zeros, even before any is known."""
        return max(1, self.width)

    # Contexts

    def read(self, context: Any) -> Parsed:
        """A context as cells; refuses what cannot be one, and names where rows had none."""
        parsed = read_context(context, by_position=self.positions is not None)
        self._check(parsed)
        return parsed

    def _check(self, parsed: Parsed) -> None:
        named = not isinstance(parsed, (np.ndarray, Row))
        if named and self.positions is not None:
            raise ValueError(
                f"contexts must be rows of {self.positions} cells as the first one was, got "
                f"{shown(dict(parsed))}: start a new policy for contexts with names"
            )
        if not named and self.named:
            raise ValueError(
                f"contexts must have names as the first one had, got a row of {len(parsed)} "
                "cells: pass a dict or a Series"
            )
        if not named and self.positions not in (None, len(parsed)):
            raise ValueError(
                f"a row must have {self.positions} features as the first one had, "
                f"got {len(parsed)}: start a new policy for other features"
            )

    def check_alike(self, contexts: Iterable[Parsed]) -> None:
        """Refuse contexts that could not be learnt one after the other."""
        first = copy.copy(self)  # which the first context settles, and nobody else sees
        for parsed in contexts:
            first._check(parsed)
            first.settle(parsed)

    def check_width(self, width: int) -> None:
        """Refuse encoded rows of another width than the columns make."""
        if self.width not in (0, width):
            raise ValueError(f"a row must have {self.width} columns, got {width}: encode it again")

    @property
    def plain_only(self) -> bool:
        """Whether rows are numbers without gaps or texts, as far as has been seen."""
        return self._plain and self.width == self.positions

    def settle(self, parsed: Parsed) -> None:
        """Let the first context say whether contexts have names, and how long rows are."""
        if self.named or self.positions is not None:
            return
        self.named = not isinstance(parsed, (np.ndarray, Row))
        if self.named:
            return
        self.positions = len(parsed)
        if isinstance(parsed, np.ndarray):
            self._plain = True
            self._fields = {position_name(j): Field(number=j) for j in range(len(parsed))}
            self._at = np.arange(len(parsed))
            self._gap = np.full(len(parsed), -1)
            self._total, self._count = np.zeros((2, len(parsed)))
            self._fill = np.full(len(parsed), np.nan)
            self.width = len(parsed)

    def table(self, X: Any) -> np.ndarray:
        """Encoded rows of a frame, an array or a list of contexts, (rows, row_width)."""
        if self._plain and not is_frame(X):
            rows = _numbers(X)
            if rows is not None and rows.shape[1] == self.positions:
                more = self.width - rows.shape[1]
                return np.hstack([rows, np.zeros((len(rows), more))]) if more else rows
        found = []
        for parsed in read_table(X, by_position=self.positions is not None):
            self._check(parsed)
            found.append(self.encode(parsed))
        return np.array(found).reshape(-1, self.row_width)

    # Columns

    def encode(self, parsed: Parsed) -> np.ndarray:
        """The row (row_width,) of a context; what has no column yet is left out."""
        if isinstance(parsed, np.ndarray):
            if self._plain and self.width == self.positions:
                return parsed
            if self._plain:
                row = np.zeros(self.width)
                row[: self.positions] = parsed
                return row
            parsed = _with_names(parsed)
        row = np.zeros(self.row_width)
        given = np.zeros(len(self._at), dtype=bool)
        for key, cell in parsed.items():
            if cell is None:
                continue
            known = self._fields.get(key)
            if isinstance(cell, str):
                place = self._place(known, cell)
                if place >= 0:
                    row[place] = 1.0
                elif self._shared >= 0:
                    row[self._shared + self._bucket(f"{key}={cell}")] += 1.0
            elif known is not None and known.number >= 0:
                given[known.number] = True
                row[self._at[known.number]] = cell
            elif self._shared >= 0:
                row[self._shared + self._bucket(key)] += cell
        if not given.all():
            missing = np.flatnonzero(~given)
            row[self._at[missing]] = self._fillings(missing)
            gaps = self._gap[missing]
            row[gaps[gaps >= 0]] = 1.0
        np.clip(row, -LARGEST, LARGEST, out=row)  # a sum in a shared bucket
        return row

    def grow(self, parsed: Parsed) -> np.ndarray:
        """The row of a context that is learnt, with columns for what is new in it."""
        self.settle(parsed)
        if isinstance(parsed, np.ndarray) and self._plain:
            self.count(parsed[None])
            return self.encode(parsed)
        cells = _with_names(parsed) if isinstance(parsed, np.ndarray) else parsed
        given = []
        for key, cell in cells.items():
            if cell is None:
                continue
            known = self._fields.get(key)
            if known is None:
                if not self._has_room(1):
                    self._share()
                    continue
                known = self._fields[key] = Field()
            if isinstance(cell, str):
                self._add_value(known, cell)
            elif self._add_number(known):
                given.append((known.number, cell))
        for number, cell in given:
            self._total[number] += cell
            self._count[number] += 1
        self._add_gaps({number for number, _ in given})
        return self.encode(cells)

    def count(self, rows: np.ndarray) -> None:
        """Count rows of plain numbers (rows, positions) into the means, one after the other."""
        width, total = rows.shape[1], self._total
        if len(rows) == 1:
            total[:width] += rows[0]
        else:  # sums in order: the bits of one row at a time
            for start in range(0, len(rows), 256):
                part = np.vstack([total[:width], rows[start : start + 256]])
                total[:width] = np.add.accumulate(part)[-1]
        self._count[:width] += len(rows)
        if len(self._at) > width:
            self._add_gaps(set(range(width)))

    def _add_gaps(self, given: set[int]) -> None:
        for number in range(len(self._at)):
            if number not in given and self._gap[number] < 0:
                if np.isnan(self._fill[number]):
                    self._fill[number] = self._fillings(np.array([number]))[0]
                if self._has_room(1):
                    self._gap[number] = self._append(1)

    def _fillings(self, numbers: np.ndarray) -> np.ndarray:
        mean = self._total[numbers] / np.maximum(self._count[numbers], 1.0)
        fill = self._fill[numbers]
        filled: np.ndarray = np.where(np.isnan(fill), mean, fill)
        return filled

    def _place(self, known: Field | None, value: str) -> int:
        """The column of a text, -1 if it has none."""
        if known is None:
            return -1
        place = known.values.get(value, -1)
        return place if place >= 0 or known.buckets < 0 else known.buckets + self._bucket(value)

    def _bucket(self, text: str) -> int:
        return crc32(text.encode()) % self.limits[1]

    def _add_value(self, known: Field, value: str) -> None:
        if self._place(known, value) >= 0:
            return
        values, buckets, _ = self.limits
        if len(known.values) < values and self._has_room(1):
            known.values[value] = self._append(1)
        elif self._has_room(buckets):
            known.buckets = self._append(buckets)
        else:
            self._share()

    def _add_number(self, known: Field) -> bool:
        if known.number >= 0:
            return True
        if not self._has_room(1):
            self._share()
            return False
        known.number = len(self._at)
        self._at = np.append(self._at, self._append(1))
        self._gap = np.append(self._gap, -1)
        self._total, self._count = np.append(self._total, 0.0), np.append(self._count, 0.0)
        self._fill = np.append(self._fill, np.nan)
        return True

    def _has_room(self, more: int) -> bool:
        return self._shared < 0 and self.width + more <= self.limits[2]

    def _share(self) -> None:
        if self._shared < 0:
            self._shared = self._append(self.limits[1])

    def _append(self, count: int) -> int:
        first = self.width
        self.width += count
        return first

    @property
    def names(self) -> list[str]:
        """What the columns are called."""
        buckets = range(self.limits[1])
        found = {self._shared + b: f"other#{b}" for b in buckets} if self._shared >= 0 else {}
        for key, known in self._fields.items():
            if known.number >= 0:
                found[int(self._at[known.number])] = key
                found[int(self._gap[known.number])] = f"{key} missing"
            found |= {place: f"{key}={value}" for value, place in known.values.items()}
            if known.buckets >= 0:
                found |= {known.buckets + b: f"{key}#{b}" for b in buckets}
        return [found[place] for place in range(self.width)]

    @property
    def typical(self) -> np.ndarray:
        """The mean of every number and 0 for all other columns, (row_width,)."""
        row = np.zeros(self.row_width)
        row[self._at] = self._total / np.maximum(self._count, 1.0)
        return row


def _with_names(row: np.ndarray) -> Cells:
    return Row((position_name(j), value) for j, value in enumerate(row.tolist()))


def _numbers(X: Any) -> np.ndarray | None:
    """Rows of plain numbers as a float32 or float64 array, if X is that."""
    try:
        rows = np.asarray(X)
    except ValueError:  # rows of several lengths
        return None
    if rows.ndim != 2 or rows.dtype.kind not in "fiub":
        return None
    rows = rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)
    return np.ascontiguousarray(rows) if (np.abs(rows) <= LARGEST).all() else None
