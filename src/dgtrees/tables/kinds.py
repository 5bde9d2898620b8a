"""What a column is, decided from its values: the one policy for files, frames and Arrow tables.

`settle_text` takes a column of text and `settle_column` one of any Arrow type. Both give float64
for numbers, a dictionary of strings for categories, and dates as they are: an Arrow type, or text
whose order of day, month and year is for `dates` to find. What nothing can be learnt from is
refused, with the call that helps. `suspect` finds numbers that only name or count rows.
"""

from __future__ import annotations

import re
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dgtrees.tables.columns import (
    Place,
    all_match,
    as_category,
    as_number,
    is_numeric_type,
    is_text,
    require_finite,
    shown,
    whole_without_point,
    with_decimal_point,
    with_gaps,
)
from dgtrees.tables.dates import find_order
from dgtrees.tables.text_values import NUMBER, is_missing

__all__ = ["KINDS", "check_on_unusable", "settle_column", "settle_text", "suspect", "to_arrow"]

KINDS = ("number", "category", "date")
"""What a column can be said to be."""

_DECIMAL_COMMA = r"^[+-]?\d+,\d+$"
_COMMA_HINT = "if that is a decimal comma, say decimal=','; if it groups digits, remove it"
_AMOUNT = r"^[$€£¥]?\s*[+-]?\d[\d,. ']*\s*[%$€£¥]?$"
_DATE = (
    r"^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))"
    r"([T ]\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s*(Z|[+-]\d{2}:?\d{2})?)?$|^\d{1,2}:\d{2}(:\d{2})?$"
)
_SEVERAL_WORDS = r"\S\s+\S+\s+\S"
_NAMED_ID = re.compile(r"(?i:(^|[\W_])(id|uuid|guid|number|nr|no)$)|[a-z](Id|ID|Number|Nr|No)$")
_MOST_BANDS, _REPEATED = 64, 10
"""Numbers with a few words among them are categories, if there are no more different values than
that, and each word is there so often that it is no slip."""

_MOSTLY = 0.5
"""Share of numbers from which a column is one of numbers, and anything else in it a mistake."""

_FEW_VALUES = 30
"""Distinct values that are never taken for free text or identifiers, however few the rows."""

_NEARLY_ALL = 0.95
"""Share of rows with a value of their own from which whole numbers that are named so are names."""


def check_on_unusable(choice: str) -> None:
    """Refuse what is no way to deal with columns that nothing can be learnt from."""
    if choice not in ("warn", "raise", "drop"):
        raise ValueError(f"on_unusable must be 'warn', 'raise' or 'drop', got {choice!r}")


def settle_text(
    texts: pa.ChunkedArray, place: Place, kind: str | None = None, decimal: str = "."
) -> pa.ChunkedArray:
    """A column of text as numbers, categories or text of dates; `kind` settles which.

    Without `kind`: numbers if all values are; an error if at least half of them are and the rest
    is not, unless few values repeat (<1, 1, 2, >2), which are categories; dates if all values are;
    otherwise categories, unless they look like names of rows.
    """
    if kind not in ("category", "date") and decimal == ".":
        try:  # most columns are numbers without gaps
            return require_finite(pc.cast(texts, pa.float64()), texts, place)
        except pa.ArrowInvalid:
            pass
    texts = with_gaps(texts)
    if kind == "category":
        return as_category(whole_without_point(texts))
    if kind == "date":
        return texts
    if (boolean := _boolean(texts)) is not None:
        return boolean
    plain = with_decimal_point(texts, decimal)
    try:
        return require_finite(pc.cast(plain, pa.float64()), texts, place)
    except pa.ArrowInvalid:
        pass
    _refuse_numbers_with_others(texts, plain, place, kind)
    if all_match(texts, _DATE):
        return _dates(texts, place)
    _refuse_amounts(texts, place)
    return _category(as_category(texts), place)


def settle_column(values: pa.ChunkedArray, place: Place, kind: str | None = None) -> Any:
    """A column of an Arrow type as numbers, categories or dates."""
    if pa.types.is_dictionary(values.type):
        values = pc.cast(values, values.type.value_type)
        if kind is None:  # declared to be categories: names, whatever they look like
            return as_category(values)
    if pa.types.is_float16(values.type):
        values = values.cast(pa.float32())
    type_ = values.type
    if is_text(type_):
        return settle_text(values.cast(pa.string()), place, kind)
    if kind == "category" and is_numeric_type(type_):
        return as_category(values)
    if pa.types.is_null(type_):
        return values.cast(pa.float64())
    if pa.types.is_date(type_) or pa.types.is_timestamp(type_):
        return values
    if is_numeric_type(type_) and kind != "date":
        return as_number(values, place)
    if pa.types.is_temporal(type_):
        raise _times_refused(place, str(type_))
    what = "dates" if kind == "date" else "one number, name or date per row"
    raise place.unusable(
        f"must hold {what}, got the type {type_}", "spread it over several columns, or "
    )


def to_arrow(values: Any, place: Place) -> pa.ChunkedArray:
    """Objects of a frame as an Arrow column; those of several types as text."""
    try:
        column = pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        cells = [None if is_missing(value) else value for value in values]
        plain = (str, Real, Decimal, np.bool_, type(None))
        for row, cell in enumerate(cells):
            if not isinstance(cell, plain):
                what = f"must hold one number, name or date per row, got {shown(cell)}"
                raise place.unusable(what, "convert it, or ", row) from error
        column = pa.array([None if v is None else str(v) for v in cells], type=pa.string())
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def suspect(name: str, numbers: np.ndarray) -> str | None:
    """Why a column of numbers looks as if it only named or counted rows; None if it does not.

    >>> suspect("row", np.arange(100.0))
    'counts rows (whole numbers from 0 to 99, each of them once)'
    """
    whole = numbers[~np.isnan(numbers)]
    if len(whole) <= _FEW_VALUES or not np.array_equal(whole[:99], np.floor(whole[:99])):
        return None
    if not np.array_equal(whole, np.floor(whole)):
        return None
    rows, distinct, low, high = len(whole), len(np.unique(whole)), whole.min(), whole.max()
    if distinct == rows and high - low == rows - 1:
        return f"counts rows (whole numbers from {low:.0f} to {high:.0f}, each of them once)"
    if _NAMED_ID.search(name) and distinct > _NEARLY_ALL * rows:
        return f"looks like an identifier ({distinct:,} different whole numbers in {rows:,} rows)"
    return None


def _refuse_numbers_with_others(
    texts: pa.ChunkedArray, plain: pa.ChunkedArray, place: Place, kind: str | None
) -> None:
    """Refuse what is no number where at least half of a column are, or where all must be."""
    numbers = pc.fill_null(pc.match_substring_regex(plain, NUMBER), True).to_numpy()
    present = len(texts) - texts.null_count
    row = int(np.flatnonzero(~numbers)[0])
    bad = texts[row].as_py()
    if kind != "number" and numbers.sum() - texts.null_count < _MOSTLY * present:
        return
    if kind is None and _are_bands(texts, numbers):
        return
    hint = "fix it"
    if kind is None:
        hint += ", leave it empty if unknown, or declare the column a category "
        hint += f"({place.as_category})"
    if re.match(_DECIMAL_COMMA, bad):
        hint = _COMMA_HINT
    raise place.error(
        f"must hold numbers only, as in the rest of the column, got {shown(bad)}: {hint}", row
    )


def _are_bands(texts: pa.ChunkedArray, numbers: np.ndarray) -> bool:
    """Whether few different values repeat, and those that are no numbers too: <1, 1, .., >20."""
    others = pc.value_counts(texts.filter(pa.array(~numbers))).field("counts").to_numpy()
    return len(pc.unique(texts)) <= _MOST_BANDS and int(others.min()) >= _REPEATED


def _refuse_amounts(texts: pa.ChunkedArray, place: Place) -> None:
    """Refuse numbers that are written with commas, signs or groups of digits."""
    declare = f"declare the column a category ({place.as_category})"
    if all_match(texts, _DECIMAL_COMMA):
        row, bad = _first(texts)
        raise place.error(
            f"must be numbers or categories, got {shown(bad)}: {_COMMA_HINT}; otherwise {declare}",
            row,
        )
    if all_match(texts, _AMOUNT):
        row, bad = _first(texts)
        raise place.error(
            f"must be plain numbers, got {shown(bad)}: remove signs of currency, per cent and "
            f"groups of digits, or {declare}",
            row,
        )


def _first(texts: pa.ChunkedArray) -> tuple[int, str]:
    """The first value that is there, after its row."""
    row = int(np.flatnonzero(pc.is_valid(texts).to_numpy())[0])
    return row, texts[row].as_py()


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


def _dates(texts: pa.ChunkedArray, place: Place) -> pa.ChunkedArray:
    """Text of dates, if it can be told what they mean."""
    orders = find_order(pc.unique(texts).drop_null().to_pylist())
    row, example = _first(texts)
    if not orders:
        raise _times_refused(place, shown(example), row)
    if len(orders) > 1:
        raise place.unusable(
            f"holds dates ({shown(example)}) of which nobody can tell day and month apart",
            "write them as 2026-11-18, or ",
            row,
        )
    return texts


def _times_refused(place: Place, what: str, row: int | None = None) -> Exception:
    return place.unusable(
        f"holds dates or times ({what}), which no tree can use as they are",
        "write dates as 2026-11-18 02:30, turn times into numbers (minutes since an event), or ",
        row,
    )


def _category(values: pa.ChunkedArray, place: Place) -> pa.ChunkedArray:
    present = len(values) - values.null_count
    names = values.chunk(0).dictionary if values.num_chunks else pa.array([], pa.string())
    if len(names) <= _FEW_VALUES or len(names) <= _MOSTLY * present:
        return values
    wordy = pc.sum(pc.match_substring_regex(names, _SEVERAL_WORDS)).as_py()
    what = "free text" if wordy > _MOSTLY * len(names) else "identifiers"
    raise place.unusable(
        f"looks like {what} ({len(names):,} different values in {present:,} rows, such as "
        f"{shown(names[0].as_py())})",
        f"declare it a category ({place.as_category}), or ",
    )
