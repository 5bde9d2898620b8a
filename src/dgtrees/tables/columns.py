"""Arrow columns as numbers or names, and `Place`, which tells where something is wrong with one.

Gives Arrow columns of two types only: float64 with nulls, and dictionary-encoded strings with
nulls. What a column is to be is decided in `kinds`.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dgtrees.errors import DataError, Problems, UnusableColumnError
from dgtrees.tables.text_values import MISSING_MARKS

__all__ = [
    "Place",
    "all_match",
    "as_category",
    "as_number",
    "cannot_be_used",
    "drop_call",
    "is_numeric_type",
    "is_text",
    "numbers_at_once",
    "pieces",
    "require_finite",
    "settle_columns",
    "shown",
    "whole_without_point",
    "with_decimal_point",
    "with_gaps",
]


@dataclass(frozen=True)
class Place:
    """Names a column, and the row that something is wrong with; of a frame if without source."""

    source: str
    column: str
    row_name: Callable[[int], str] = lambda row: f"row {row}"

    def where(self, row: int | None = None) -> str:
        """The column, and a row (from 0) of it if given."""
        parts = [self.source, "" if row is None else self.row_name(row), f"column {self.column!r}"]
        return ", ".join(part for part in parts if part)

    def error(self, message: str, row: int | None = None) -> Exception:
        """An error about this column: `DataError`, or `ValueError` where it is a frame's."""
        kind = DataError if self.source else ValueError
        return kind(f"{self.where(row)}: {message}")

    def unusable(
        self, reason: str, others: str = "", row: int | None = None
    ) -> UnusableColumnError:
        """The error for a column to drop; `others` says what else can be done."""
        step = f"drop the column ({drop_call([self.column], bool(self.source))})"
        return UnusableColumnError(f"{self.where(row)}: {reason}: {others}{step}", self.column)

    @property
    def as_category(self) -> str:
        """How to say that the column holds categories."""
        if self.source:
            name = shlex.quote(self.column)
            return f"kinds={{{self.column!r}: 'category'}} or --category {name}"
        return f"encoder=Encoder(kinds={{{self.column!r}: 'category'}})"


def drop_call(columns: list[str], file: bool) -> str:
    """What to call, or to type, to have columns of a file or of a frame left out."""
    if file:
        return f"drop={columns} or --drop {shlex.quote(','.join(columns))}"
    return f"encoder=Encoder(drop={columns})"


def settle_columns(problems: Problems, file: bool) -> None:
    """Raise what was found, and if several columns are to be dropped, the call that does it."""
    unusable = [error for error in problems.found if isinstance(error, UnusableColumnError)]
    if len(unusable) < 2:
        problems.settle()
    names = [str(error.column) for error in unusable]
    problems.settle(f"drop all of them with {drop_call(names, file)}")


def as_number(values: pa.ChunkedArray, place: Place) -> pa.ChunkedArray:
    """Numbers as float64; NaN becomes null, infinity is refused."""
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int8())
    return require_finite(values.cast(pa.float64(), safe=False), None, place)


def pieces(array: pa.Array, length: int) -> list[pa.Array]:
    """Columns of `length` rows that stand one after the other in an array."""
    return [array.slice(at, length) for at in range(0, len(array), length)]


def numbers_at_once(columns: list[pa.ChunkedArray]) -> list[pa.ChunkedArray] | None:
    """Columns of one length that are finite numbers and gaps, or text of such; None if one is not.

    What Arrow takes for a call is what a short column takes: a wide table has many of them.
    """
    try:
        flat = pa.concat_arrays([chunk for column in columns for chunk in column.chunks])
        flat = with_gaps(flat) if pa.types.is_string(flat.type) else flat
        numbers = pc.cast(flat, pa.float64())
    except pa.ArrowInvalid:
        return None
    if not np.isfinite(numbers.drop_null().to_numpy()).all():
        return None
    return [pa.chunked_array([piece]) for piece in pieces(numbers, len(columns[0]))]


def as_category(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Names as dictionary-encoded strings."""
    if pa.types.is_floating(values.type):
        # A gap turned whole numbers into floats: 3.0 is the category "3".
        whole = pc.all(pc.equal(values, pc.floor(values)), min_count=0).as_py()
        small = pc.all(pc.less(pc.abs(values), 2.0**53), min_count=0).as_py()
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
        values = values.cast(pa.int64()) if whole and small else values
    elif pa.types.is_boolean(values.type) or not is_text(values.type):
        values = pa.chunked_array([values.combine_chunks()])
    return values.cast(pa.string()).dictionary_encode().unify_dictionaries()


def cannot_be_used(column: pa.ChunkedArray, place: Place, error: Exception) -> Exception:
    """The error for a type of column that Arrow itself refuses to convert."""
    reason = " ".join(str(error).split())[:120]
    return place.error(f"the type {column.type} cannot be used ({reason}): convert or drop it")


def shown(value: Any) -> str:
    """A value as errors quote it, shortened."""
    text = str(value)
    return repr(text if len(text) <= 40 else text[:37] + "...")


def with_gaps(texts: Any) -> Any:
    """Texts without blanks around them, null where they stand for a missing value."""
    texts = pc.utf8_trim_whitespace(texts)
    missing = pc.is_in(texts, value_set=pa.array(MISSING_MARKS))
    return pc.if_else(missing, pa.scalar(None, pa.string()), texts)


def with_decimal_point(texts: pa.ChunkedArray, decimal: str) -> pa.ChunkedArray:
    """Numbers with a decimal comma, written with a point; anything else is no number any more."""
    if decimal == ".":
        return texts
    # A point would group thousands there; what it would mean in such a file is left open.
    comma = pc.match_substring_regex(texts, r"^[+-]?(\d+(,\d*)?|,\d+)([eE][+-]?\d+)?$")
    return pc.if_else(comma, pc.replace_substring(texts, ",", "."), pa.scalar("not a number"))


def require_finite(numbers: pa.ChunkedArray, texts: Any, place: Place) -> pa.ChunkedArray:
    """Numbers with null for NaN; infinity is refused, as the text has it if there is one."""
    if np.isfinite(numbers.to_numpy()).all():  # a null is NaN there
        return numbers
    endless = pc.fill_null(pc.is_inf(numbers), False)
    if pc.any(endless, min_count=0).as_py():
        row = int(np.flatnonzero(endless.to_numpy())[0])
        got = (numbers if texts is None else texts)[row].as_py()
        raise place.error(
            f"must be finite, got {shown(got)}: replace it by a number or leave it empty", row
        )
    return pc.if_else(pc.is_nan(numbers), pa.scalar(None, pa.float64()), numbers)


def whole_without_point(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """3.0 as 3 throughout: what a gap in a column of whole numbers makes other programs write."""
    if not all_match(texts, r"^-?\d+\.0$"):
        return texts
    return pc.replace_substring_regex(texts, r"\.0$", "")


def all_match(texts: pa.ChunkedArray, pattern: str) -> bool:
    """Whether all values that are there match a pattern."""
    return bool(pc.all(pc.match_substring_regex(texts, pattern), min_count=0).as_py())


def is_numeric_type(kind: pa.DataType) -> bool:
    """Whether an Arrow type is a number or a boolean."""
    types = pa.types
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_boolean(kind)
    )


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type is a kind of string."""
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))
