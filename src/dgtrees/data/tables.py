"""Table: one data file (or DataFrame) as features, target and weights, ready for an estimator.

`read_table` reads a whole file, `TableStream` one that may be larger than memory. The formats
have modules of their own; here it is decided which one a file has, which column is the target,
what task that means, and what every other column is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dgtrees.data.columns import NUMBER, Place, shown, typed_column, typed_text
from dgtrees.data.formats import Batch, batches
from dgtrees.errors import DataError

__all__ = ["Table", "TableStream", "read_table"]

MAX_CLASSES = 26
"""Whole numbers are classes where there are at most so many different ones."""

_KINDS = ("number", "category")


@dataclass(frozen=True)
class Table:
    """Rows to learn from or to predict.

    Attributes
    ----------
    X : pyarrow.Table
        Features, which every estimator takes as it is: float64 or dictionary-encoded strings,
        null where a value is missing.
    y : ndarray of shape (rows,) or None
        Classes (whole numbers or strings) or values.
    weight : ndarray of shape (rows,) or None
    task : {"classification", "regression"} or None
    kinds : dict
        "number" or "category" for every feature.
    target : str or None
        Name of the target column.
    source : str
        What it was read from.
    """

    X: pa.Table
    y: np.ndarray | None
    weight: np.ndarray | None
    task: str | None
    kinds: dict[str, str]
    target: str | None
    source: str

    def __len__(self) -> int:
        return int(self.X.num_rows)


@dataclass(frozen=True)
class Columns:
    """Which columns play which part, and what they are.

    Parameters
    ----------
    target, weight : str, int or None
        A name, or a position from 0 (from the end if negative).
    drop : sequence of str
        Columns to leave out.
    kinds : mapping
        "number" or "category" for columns where that is known beforehand.
    features : sequence of str or None
        The columns a model expects, in its order; others are left out.
    """

    target: str | int | None = None
    weight: str | int | None = None
    drop: Sequence[str] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    features: Sequence[str] | None = None

    def __post_init__(self) -> None:
        for name, kind in self.kinds.items():
            if kind not in _KINDS:
                raise ValueError(f"the kind of {name!r} must be one of {_KINDS}, got {kind!r}")


def read_table(
    source: Any,
    target: str | int | None = None,
    *,
    task: str = "auto",
    weight: str | int | None = None,
    drop: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    features: Sequence[str] | None = None,
    **reading: Any,
) -> Table:
    """Read a file or a DataFrame into one `Table`.

    Parameters
    ----------
    source : path, "-", binary stream, pandas, polars or Arrow table
        CSV, Parquet, Arrow, svmlight, ARFF or npz; text formats may be compressed (gz, bz2, xz).
    target : str or int, optional
        Name of the target column, or its position from 0 (-1: the last). svmlight files and npz
        files with a ``y`` have their own.
    task : {"auto", "classification", "regression"}
        "auto": strings and at most 26 different whole numbers are classes.
    weight : str or int, optional
        Column of row weights.
    drop : sequence of str
        Columns to leave out.
    kinds : mapping, optional
        "number" or "category" for columns where the guess would be wrong.
    features : sequence of str, optional
        Exactly the columns to return, in this order: those a model was trained on.
    **reading
        format, delimiter, header, encoding, decimal.

    Raises
    ------
    DataError
        Naming file, line and column, the rule, what was found and what to do.

    Examples
    --------
    >>> import io
    >>> text = b"age,city,buys\\n34,Oslo,no\\n,Rome,yes\\n51,Rome,yes\\n"
    >>> table = read_table(io.BytesIO(text), target="buys")
    >>> table.kinds, table.task, table.y.tolist()
    ({'age': 'number', 'city': 'category'}, 'classification', ['no', 'yes', 'yes'])
    """
    check_task(task)
    columns = Columns(target, weight, drop, kinds or {}, features)
    parts = list(batches(source, **reading))
    return _typed(Batch.joined(parts), columns, task)


class TableStream:
    """A file as `Table` batches, again and again, never in memory as a whole.

    The first batch decides what every column is. A first pass over the target alone finds the
    task, the classes and the number of rows.

    Parameters
    ----------
    source : path
        A CSV, Parquet or Arrow file.
    **others
        As in `read_table`.
    """

    def __init__(
        self,
        source: Any,
        target: str | int | None = None,
        *,
        task: str = "auto",
        weight: str | int | None = None,
        drop: Sequence[str] = (),
        kinds: Mapping[str, str] | None = None,
        features: Sequence[str] | None = None,
        **reading: Any,
    ) -> None:
        check_task(task)
        self.source, self.reading = source, reading
        self.columns = Columns(target, weight, drop, kinds or {}, features)
        self.task: str | None = task
        self.classes: np.ndarray | None = None
        self.n_rows = 0
        if target is not None:
            self._scan(target, task)

    def _scan(self, target: str | int, task: str) -> None:
        distinct: pa.Array | None = None
        for batch in batches(self.source, **self.reading):
            name = _named(batch, target, "target")
            column = _target_column(batch, name)
            found = pc.unique(column.combine_chunks())
            distinct = found if distinct is None else pc.unique(pa.concat_arrays([distinct, found]))
            self.n_rows += batch.rows
            if len(distinct) > 100_000:  # no classes any more, and enough to judge by
                distinct = distinct[:100_000]
        whole = Batch(
            [name], [pa.chunked_array([distinct])], batch.text, lambda row: "target", batch.source
        )
        y, self.task = _target(whole, name, task, self.n_rows, self.reading.get("decimal", "."))
        if self.task == "classification":
            self.classes = np.unique(y)
            if len(self.classes) > 10_000:
                raise DataError(
                    f"{batch.source}, column {name!r}: {len(self.classes):,} classes are more than "
                    "a tree can hold: check the target, or say task='regression'"
                )

    def __iter__(self) -> Iterator[Table]:
        columns, task = self.columns, self.task or "auto"
        for batch in batches(self.source, **self.reading):
            table = _typed(batch, columns, task, self.classes)
            if not columns.kinds or len(columns.kinds) < len(table.kinds):
                columns = Columns(
                    columns.target, columns.weight, columns.drop, table.kinds, columns.features
                )
            yield table


def check_task(task: str) -> None:
    """Refuse a task that does not exist."""
    if task not in ("auto", "classification", "regression"):
        raise ValueError(f"task must be auto, classification or regression, got {task!r}")


def _typed(batch: Batch, columns: Columns, task: str, classes: Any = None) -> Table:
    """A batch of raw columns as a Table."""
    decimal = batch.decimal
    target = columns.target
    if target is None and columns.features is None:
        target = batch.own_target
    y, name, found = None, None, None
    if target is not None:
        name = _named(batch, target, "target")
        y, found = _target(batch, name, task, batch.rows, decimal, classes)
    weight, weight_name = batch.weight, None
    if columns.weight is not None:
        weight_name = _named(batch, columns.weight, "weight")
        weight = _weights(batch, weight_name, decimal)
    for dropped in columns.drop:
        _named(batch, dropped, "drop")
    for declared in columns.kinds if columns.features is None else ():
        _named(batch, declared, "kinds")
    if columns.features is None:
        left_out = {name, weight_name, batch.own_target, *columns.drop}
        features = [n for n in batch.names if n not in left_out]
    else:
        batch = _aligned(batch, columns.features)
        features = list(columns.features)
    if not features:
        raise DataError(f"{batch.source}: must have at least one column besides the target")
    typed = {n: _feature(batch, n, columns.kinds.get(n), decimal) for n in features}
    kinds = {
        n: "category" if pa.types.is_dictionary(c.type) else "number" for n, c in typed.items()
    }
    return Table(pa.table(typed), y, weight, found, kinds, name, batch.source)


def _feature(batch: Batch, name: str, kind: str | None, decimal: str) -> pa.ChunkedArray:
    place = Place(batch.source, name, batch.row_name)
    column = batch.column(name)
    if batch.text:
        return typed_text(column, place, kind, decimal)
    return typed_column(column, place, kind)


def _named(batch: Batch, column: str | int, role: str) -> str:
    """A column's name, given that or its position."""
    names = batch.names
    if isinstance(column, str):
        if column in names:
            return column
        if not column.lstrip("-").isdigit():
            listed = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
            raise DataError(
                f"{batch.source}: {role} must be one of its columns, got {column!r}: they are "
                f"{listed}"
            )
        column = int(column)
    if not -len(names) <= column < len(names):
        raise DataError(
            f"{batch.source}: {role} must be a position between {-len(names)} and "
            f"{len(names) - 1}, got {column}"
        )
    return names[column]


def _aligned(batch: Batch, features: Sequence[str]) -> Batch:
    """The batch with the columns a model expects, whatever their order here."""
    missing = [name for name in features if name not in batch.names]
    if not missing:
        return batch
    if batch.sparse:  # what a sparse file does not mention is 0
        zeros = pa.chunked_array([np.zeros(batch.rows)])
        return batch.with_columns(missing, [zeros] * len(missing))
    if not batch.header and len(batch.names) == len(features):
        return batch.renamed(list(features))
    raise DataError(
        f"{batch.source}: must have the columns the model was trained on, got none named "
        f"{missing[0]!r}" + (f" ({len(missing)} are missing)" if len(missing) > 1 else "")
    )


def _target_column(batch: Batch, name: str) -> pa.ChunkedArray:
    column = batch.column(name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if batch.text:
        column = pc.utf8_trim_whitespace(column)
    return column


def _target(
    batch: Batch, name: str, task: str, rows: int, decimal: str, classes: Any = None
) -> tuple[np.ndarray, str]:
    """Classes or values, and the task."""
    place = Place(batch.source, name, batch.row_name)
    column = _target_column(batch, name)
    _refuse_missing(column, batch, place)
    if classes is not None and classes.dtype.kind == "U":
        return np.array(column.cast(pa.string()).to_pylist()), "classification"
    numbers = _numbers_or_none(column, batch.text, place, decimal)
    whole = numbers is not None and bool(np.all(numbers == np.floor(numbers)))
    if task == "auto":
        task = "classification"
        if numbers is not None:
            distinct = len(np.unique(numbers))
            few = whole and distinct <= MAX_CLASSES and 2 * distinct <= max(rows, 4)
            task = "classification" if few else "regression"
    if task == "regression":
        if numbers is None:  # says which value is none
            typed_text(column.cast(pa.string()), place, "number", decimal)
            raise place.error("must hold numbers for regression: choose another target")
        return numbers, task
    if numbers is not None and whole and np.abs(numbers).max(initial=0) < 2**53:
        return numbers.astype(np.int64), task
    return np.array(column.cast(pa.string()).to_pylist(), dtype=str), task


def _refuse_missing(column: pa.ChunkedArray, batch: Batch, place: Place) -> None:
    missing = pc.is_null(column, nan_is_null=True).to_numpy()
    if batch.text:
        marks = pa.array(["", "?", "NA", "NaN", "nan", "NULL", "null"])
        missing = missing | pc.is_in(column, value_set=marks).to_numpy()
    if missing.any():
        raise place.error(
            "the target must be known in every row, got a missing value: drop such rows",
            int(np.flatnonzero(missing)[0]),
        )


def _numbers_or_none(
    column: pa.ChunkedArray, text: bool, place: Place, decimal: str
) -> np.ndarray | None:
    kind = column.type
    if not text and (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return None
    if text:
        plain = pc.replace_substring(column, ",", ".") if decimal == "," else column
        if not pc.all(pc.match_substring_regex(plain, NUMBER), min_count=0).as_py():
            return None
        return typed_text(column, place, "number", decimal).to_numpy()
    if pa.types.is_boolean(kind):
        return None
    return typed_column(column, place, "number").to_numpy()


def _weights(batch: Batch, name: str, decimal: str) -> np.ndarray:
    place = Place(batch.source, name, batch.row_name)
    weight = _feature(batch, name, "number", decimal).to_numpy()
    bad = ~(weight >= 0)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        got = "a missing value" if np.isnan(weight[row]) else shown(weight[row])
        raise place.error(f"weights must be numbers of at least 0, got {got}: mend it", row)
    return weight
