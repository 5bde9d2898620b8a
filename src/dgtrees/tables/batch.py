"""Batch: some rows of a file, column by column, as the file has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

__all__ = ["Batch", "line_namer", "row_namer"]


@dataclass(frozen=True)
class Batch:
    """Some rows of a file, column by column, as the file has them.

    `row_name` turns a row's number (from 0) into what errors call it, such as "line 7".
    """

    names: list[str]
    columns: list[pa.ChunkedArray]
    text: bool
    row_name: Callable[[int], str]
    source: str
    header: bool = True
    sparse: bool = False
    own_target: str | None = None
    weight: np.ndarray | None = None
    decimal: str = "."

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0]) if self.columns else 0

    @cached_property
    def positions(self) -> dict[str, int]:
        """Where every column stands, so that looking up all of them is linear in their number."""
        return {name: position for position, name in enumerate(self.names)}

    def column(self, name: str) -> pa.ChunkedArray:
        """Values of one column."""
        return self.columns[self.positions[name]]

    def with_columns(self, names: list[str], columns: list[pa.ChunkedArray]) -> Batch:
        """This batch with more columns."""
        return replace(self, names=self.names + names, columns=self.columns + columns)

    def renamed(self, names: dict[str, str]) -> Batch:
        """This batch with other names for some columns."""
        return replace(self, names=[names.get(name, name) for name in self.names])

    def between(self, start: int, stop: int) -> Batch:
        """Some of the rows of a batch without weights of its own; errors name them as before."""
        return replace(
            self,
            columns=[column.slice(start, stop - start) for column in self.columns],
            row_name=lambda row: self.row_name(start + row),
        )

    @classmethod
    def joined(cls, parts: list[Batch]) -> Batch:
        """All parts as one batch."""
        if len(parts) == 1:
            return parts[0]
        ends = np.cumsum([part.rows for part in parts])

        def row_name(row: int) -> str:
            part = int(np.searchsorted(ends, row, side="right"))
            return parts[part].row_name(row - int(ends[part]) + parts[part].rows)

        columns = [
            pa.chunked_array([chunk for column in same for chunk in column.chunks])
            for same in zip(*[part.columns for part in parts], strict=True)
        ]
        return replace(parts[0], columns=columns, row_name=row_name)


def line_namer(lines: np.ndarray) -> Callable[[int], str]:
    """Rows named by the lines they begin in."""
    return lambda row: f"line {lines[row]}"


def row_namer(first: int) -> Callable[[int], str]:
    """Rows named by their number from 1, after `first` others."""
    return lambda row: f"row {first + row + 1}"
