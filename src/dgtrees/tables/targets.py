"""The target column: classes or values, and which of the two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dgtrees.tables.batch import Batch
from dgtrees.tables.columns import Place, all_match, cannot_be_used, is_text
from dgtrees.tables.kinds import settle_column, settle_text
from dgtrees.tables.text_values import MISSING_MARKS, NUMBER

__all__ = [
    "MAX_CLASSES",
    "TargetScan",
    "one_spelling",
    "read_target",
    "refuse_missing",
    "target_column",
]

MAX_CLASSES = 26
"""Whole numbers are classes where there are at most so many different ones."""

_MOST_CLASSES = 10_000
_TRUTH = {"true", "false"}

_ENOUGH_VALUES = 100_000
"""So many different values are no classes any more, and enough to judge a column by."""


def target_column(batch: Batch, name: str) -> pa.ChunkedArray:
    """The target as it stands in the file, without blanks around it."""
    column = batch.column(name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if batch.text:
        column = pc.utf8_trim_whitespace(column)
    return column


def read_target(
    batch: Batch, name: str, task: str, rows: int, decimal: str, classes: Any = None
) -> tuple[np.ndarray, str]:
    """Classes or values, and the task."""
    place = Place(batch.source, name, batch.row_name)
    column = target_column(batch, name)
    refuse_missing(column, batch, place)
    if classes is not None and classes.dtype.kind == "U":
        labels = np.array(column.cast(pa.string()).to_pylist())
        return one_spelling(labels, classes), "classification"
    try:
        numbers = _numbers_or_none(column, batch.text, place, decimal)
    except pa.ArrowException as error:
        raise cannot_be_used(column, place, error) from error
    whole = numbers is not None and bool(np.all(numbers == np.floor(numbers)))
    if task == "auto":
        task = "classification"
        if numbers is None and batch.text:
            _refuse_few_words(column, place, decimal)
        if numbers is not None:
            distinct = len(np.unique(numbers))
            few = whole and distinct <= MAX_CLASSES and 2 * distinct <= max(rows, 4)
            task = "classification" if few else "regression"
    if task == "regression":
        if numbers is None:  # says which value is none
            settle_text(column.cast(pa.string()), place, "number", decimal)
            raise place.error("must hold numbers for regression: choose another target")
        return numbers, task
    if numbers is not None and whole and np.abs(numbers).max(initial=0) < 2**53:
        return numbers.astype(np.int64), task
    labels = column.cast(pa.string())
    if len(pc.unique(labels)) > _MOST_CLASSES:
        raise place.error(
            f"at most {_MOST_CLASSES:,} classes can be told apart, got more: check the target, or "
            "say task='regression'"
        )
    return one_spelling(np.array(labels.to_pylist(), dtype=str)), task


def one_spelling(labels: np.ndarray, known: np.ndarray | None = None) -> np.ndarray:
    """Labels that are all true and false, in whatever case, as two classes; others as they are.

    They are spelt as the `known` classes are. Without such, and only where a class is spelt in two
    ways, both are spelt in the first of these that occurs: true, True, TRUE.

    >>> one_spelling(np.array(["True", "TRUE", "FALSE"])).tolist()
    ['True', 'True', 'False']
    """
    found = set(labels.tolist())
    words = {label.lower() for label in found}
    if not words <= _TRUTH:
        return labels
    if known is not None:
        spelt = {label.lower(): label for label in known.tolist()}
        spelt |= {label: label for label in known.tolist()}
    elif len(found) == len(words):
        return labels
    else:
        styles = (str.lower, str.capitalize, str.upper)
        style = next((s for s in styles if any(s(label) == label for label in found)), str.lower)
        spelt = {word: style(word) for word in words}
    return np.array([spelt.get(x, spelt.get(x.lower(), x)) for x in labels.tolist()], dtype=str)


def _refuse_few_words(column: pa.ChunkedArray, place: Place, decimal: str) -> None:
    """A target of many different numbers and a few words has mistakes in it, not classes."""
    plain = pc.replace_substring(column, ",", ".") if decimal == "," else column
    numbers = pc.match_substring_regex(plain, NUMBER)
    distinct = len(pc.unique(pc.filter(column, numbers)))
    if distinct > MAX_CLASSES and 2 * pc.sum(numbers).as_py() >= len(column):
        settle_text(column, place, "number", decimal)


@dataclass
class TargetScan:
    """What tells the task and the classes, added up over the batches of a table of any size."""

    name: str
    rows: int = 0
    distinct: pa.Array | None = None
    text: bool = False
    source: str = ""
    decimal: str = "."

    def add(self, batch: Batch) -> None:
        """Take one more batch in; a missing target is refused."""
        column = target_column(batch, self.name)
        refuse_missing(column, batch, Place(batch.source, self.name, batch.row_name))
        self.rows += batch.rows
        self.text, self.source, self.decimal = batch.text, batch.source, batch.decimal
        self._join(pc.unique(column.combine_chunks()))

    def merge(self, other: TargetScan) -> None:
        """Take in what another scan, of other rows, has found."""
        if other.distinct is None:
            return
        self.rows += other.rows
        self.text, self.source, self.decimal = other.text, other.source, other.decimal
        self._join(other.distinct)

    def _join(self, found: pa.Array) -> None:
        if self.distinct is not None:
            found = pc.unique(pa.concat_arrays([self.distinct, found]))
        self.distinct = found[:_ENOUGH_VALUES]

    def judged(self, task: str) -> tuple[str, np.ndarray | None]:
        """The task, and the classes if it is classification."""
        column = pa.chunked_array([self.distinct])
        whole = Batch([self.name], [column], self.text, lambda row: "target", self.source)
        y, task = read_target(whole, self.name, task, self.rows, self.decimal)
        return task, np.unique(y) if task == "classification" else None


def refuse_missing(column: pa.ChunkedArray, batch: Batch, place: Place) -> None:
    """Refuse rows whose target is not known."""
    missing = pc.is_null(column, nan_is_null=True).to_numpy()
    if batch.text:
        marks = pa.array(MISSING_MARKS)
        missing = missing | pc.is_in(column, value_set=marks).to_numpy()
    if missing.any():
        raise place.error(
            f"the target must be known in every row, got {missing.sum():,} missing values: leave "
            "such rows out",
            int(np.flatnonzero(missing)[0]),
        )


def _numbers_or_none(
    column: pa.ChunkedArray, text: bool, place: Place, decimal: str
) -> np.ndarray | None:
    kind = column.type
    if not text and is_text(kind):
        return None
    if text:
        plain = pc.replace_substring(column, ",", ".") if decimal == "," else column
        if not all_match(plain, NUMBER):
            return None
        return settle_text(column, place, "number", decimal).to_numpy()
    if pa.types.is_boolean(kind):
        return None
    return settle_column(column, place, "number").to_numpy()
