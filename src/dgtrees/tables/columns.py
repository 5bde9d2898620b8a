"""What a column of text or of an Arrow type is: numbers, categories, or something to refuse.

Takes Arrow columns and gives Arrow columns of two types only: float64 with nulls, and
dictionary-encoded strings with nulls. `Place` tells where a row came from, for errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dgtrees.errors import DataError

__all__ = [
    "MISSING_MARKS",
    "NUMBER",
    "Place",
    "as_category",
    "as_number",
    "numbers_at_once",
    "pieces",
    "typed_column",
    "typed_text",
]

MISSING_MARKS = (
    "", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NAN", "NULL", "null", "None",
)  # fmt: skip
"""What stands for a missing value in text files."""

NUMBER = r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$"
_DECIMAL_COMMA = r"^[+-]?\d+,\d+$"
_COMMA_HINT = "if that is a decimal comma, say decimal=','; if it groups digits, remove it"
_AMOUNT = r"^[$€£¥]?\s*[+-]?\d[\d,. ']*\s*[%$€£¥]?$"
_DATE = (
    r"^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))"
    r"([T ]\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s*(Z|[+-]\d{2}:?\d{2})?)?$|^\d{1,2}:\d{2}(:\d{2})?$"
)
_MOSTLY = 0.5
"""Share of numbers from which a column is one of numbers, and anything else in it a mistake."""

_FEW_VALUES = 30
"""Distinct values that are never taken for free text, however few the rows."""


@dataclass(frozen=True)
class Place:
    """Names a column, and the row that something is wrong with."""

    source: str
    column: str
    row_name: Callable[[int], str]

    def error(self, message: str, row: int | None = None) -> DataError:
        """A `DataError` about this column, and about a row (from 0) of it if given."""
        where = "" if row is None else f", {self.row_name(row)}"
        return DataError(f"{self.source}{where}, column {self.column!r}: {message}")


def typed_text(
    texts: pa.ChunkedArray, place: Place, kind: str | None = None, decimal: str = "."
) -> pa.ChunkedArray:
    """A column of a text file as numbers or categories; `kind` settles which.

    Without `kind`: numbers if all values are; an error if at least half of them are and the rest
    is not; otherwise categories, unless they look like dates or free text.
    """
    if kind != "category" and decimal == ".":
        try:  # most columns are numbers without gaps
            return _finite(pc.cast(texts, pa.float64()), texts, place)
        except pa.ArrowInvalid:
            pass
    texts = _with_gaps(texts)
    if kind == "category":
        return as_category(_whole_without_point(texts))
    if (boolean := _boolean(texts)) is not None:
        return boolean
    plain = _with_decimal_point(texts, decimal)
    try:
        return _finite(pc.cast(plain, pa.float64()), texts, place)
    except pa.ArrowInvalid:
        pass
    numbers = pc.fill_null(pc.match_substring_regex(plain, NUMBER), True).to_numpy()
    present = len(texts) - texts.null_count
    bad_row = int(np.flatnonzero(~numbers)[0])
    bad = texts[bad_row].as_py()
    if kind == "number" or numbers.sum() - texts.null_count >= _MOSTLY * present:
        hint = "mend it"
        if kind is None:
            hint += ", leave it empty if unknown, or declare the column a category"
        if pc.match_substring_regex(pa.array([bad]), _DECIMAL_COMMA)[0].as_py():
            hint = _COMMA_HINT
        raise place.error(
            f"must hold numbers only, as in the rest of the column, got {shown(bad)}: {hint}",
            bad_row,
        )
    if all_match(texts, _DECIMAL_COMMA):
        raise place.error(
            f"must be numbers or categories, got {shown(bad)}: {_COMMA_HINT}; otherwise declare "
            "the column a category",
            bad_row,
        )
    if all_match(texts, _AMOUNT):
        raise place.error(
            f"must be plain numbers, got {shown(bad)}: remove signs of currency, per cent and "
            "groups of digits, or declare the column a category",
            bad_row,
        )
    if all_match(texts, _DATE):
        raise dates_refused(place, shown(bad), bad_row)
    return _category_or_refused(as_category(texts), place)


def typed_column(values: pa.ChunkedArray, place: Place, kind: str | None = None) -> Any:
    """A column of an Arrow type as numbers or categories."""
    kind_of = values.type
    if pa.types.is_dictionary(kind_of):
        values = pc.cast(values, kind_of.value_type)
        if kind is None:  # declared to be categories: names, whatever they look like
            return as_category(values)
        kind_of = values.type
    if pa.types.is_float16(kind_of):
        values = values.cast(pa.float32())
        kind_of = values.type
    if kind == "category" and (_is_numeric(kind_of) or is_text(kind_of)):
        return as_category(values)
    if pa.types.is_null(kind_of):
        return values.cast(pa.float64())
    if pa.types.is_temporal(kind_of):
        raise dates_refused(place, str(kind_of))
    if _is_numeric(kind_of):
        return as_number(values, place)
    if not is_text(kind_of):
        raise place.error(
            f"must hold one number or one name a row, got the type {kind_of}: spread it over "
            "several columns, or drop it"
        )
    if kind == "number":
        return typed_text(values.cast(pa.string()), place, kind)
    return _category_or_refused(as_category(values), place)


def as_number(values: pa.ChunkedArray, place: Place) -> pa.ChunkedArray:
    """Numbers as float64; NaN becomes null, infinity is refused."""
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int8())
    return _finite(values.cast(pa.float64(), safe=False), None, place)


def pieces(array: pa.Array, length: int) -> list[pa.Array]:
    """Columns of `length` rows that stand one after the other in an array."""
    return [array.slice(at, length) for at in range(0, len(array), length)]


def numbers_at_once(columns: list[pa.ChunkedArray]) -> list[pa.ChunkedArray] | None:
    """Columns of one length that are finite numbers and gaps, or text of such; None if one is not.

    What Arrow takes for a call is what a short column takes: a wide table has many of them.
    """
    try:
        flat = pa.concat_arrays([chunk for column in columns for chunk in column.chunks])
        flat = _with_gaps(flat) if pa.types.is_string(flat.type) else flat
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


def dates_refused(place: Place, what: str, row: int | None = None) -> DataError:
    """The error for dates and times of day, which have no scale of their own."""
    return place.error(
        f"holds dates or times ({what}), which no tree can use as they are: turn them into "
        "numbers (a year, days since an event), or drop the column",
        row,
    )


def cannot_be_used(column: pa.ChunkedArray, place: Place, error: Exception) -> DataError:
    """The error for a type of column that Arrow itself refuses to convert."""
    reason = " ".join(str(error).split())[:120]
    return place.error(f"the type {column.type} cannot be used ({reason}): convert or drop it")


def shown(value: Any) -> str:
    """A value as errors quote it, shortened."""
    text = str(value)
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _with_gaps(texts: Any) -> Any:
    """Texts without blanks around them, null where they stand for a missing value."""
    texts = pc.utf8_trim_whitespace(texts)
    missing = pc.is_in(texts, value_set=pa.array(MISSING_MARKS))
    return pc.if_else(missing, pa.scalar(None, pa.string()), texts)


def _with_decimal_point(texts: pa.ChunkedArray, decimal: str) -> pa.ChunkedArray:
    if decimal == ".":
        return texts
    # A point would group thousands there; what it would mean in such a file is left open.
    comma = pc.match_substring_regex(texts, r"^[+-]?(\d+(,\d*)?|,\d+)([eE][+-]?\d+)?$")
    return pc.if_else(comma, pc.replace_substring(texts, ",", "."), pa.scalar("not a number"))


def _finite(numbers: pa.ChunkedArray, texts: Any, place: Place) -> pa.ChunkedArray:
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


def _whole_without_point(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """3.0 as 3 throughout: what a gap in a column of whole numbers makes other programs write."""
    if not all_match(texts, r"^-?\d+\.0$"):
        return texts
    return pc.replace_substring_regex(texts, r"\.0$", "")


def _boolean(texts: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """True and false as 1 and 0, if there is nothing else."""
    sample = pc.unique(texts[:1000]).to_pylist()
    values = {v.lower() for v in sample if v is not None}
    if not values or not values <= {"true", "false"}:
        return None
    lower = pc.utf8_lower(texts)
    if not pc.all(pc.is_in(lower, value_set=pa.array(["true", "false", None]))).as_py():
        return None
    return pc.equal(lower, "true").cast(pa.int8()).cast(pa.float64())


def all_match(texts: pa.ChunkedArray, pattern: str) -> bool:
    """Whether all values that are there match a pattern."""
    return bool(pc.all(pc.match_substring_regex(texts, pattern), min_count=0).as_py())


def _category_or_refused(values: pa.ChunkedArray, place: Place) -> pa.ChunkedArray:
    present = len(values) - values.null_count
    distinct = len(values.chunk(0).dictionary) if values.num_chunks else 0
    if distinct > _FEW_VALUES and distinct > _MOSTLY * present:
        example = values.chunk(0).dictionary[0].as_py()
        raise place.error(
            f"looks like free text or identifiers ({distinct:,} different values in {present:,} "
            f"rows, such as {shown(example)}): drop the column, or declare it a category"
        )
    return values


def _is_numeric(kind: pa.DataType) -> bool:
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
