"""Table: one data file (or DataFrame) as features, target and weights, ready for an estimator.

`read_table` reads a whole file, `TableStream` one that may be larger than memory. The formats
have modules of their own; here it is decided which one a file has, which column is the target,
what task that means, and what every other column is.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from dgtrees.errors import ColumnWarning, DataError, Problems, UnusableColumnError
from dgtrees.tables.batch import Batch
from dgtrees.tables.columns import Place, cannot_be_used, numbers_at_once, settle_columns, shown
from dgtrees.tables.encoding import UNUSED
from dgtrees.tables.formats import batches
from dgtrees.tables.kinds import KINDS, check_on_unusable, settle_column, settle_text, suspect
from dgtrees.tables.names import Names, named
from dgtrees.tables.targets import TargetScan, read_target

__all__ = ["Columns", "Table", "TableStream", "named", "read_table", "typed"]

_CELLS_AT_ONCE = 1 << 12


@dataclass(frozen=True)
class Table:
    """Rows to learn from or to predict.

    Attributes
    ----------
    X : pyarrow.Table
        Features, which every estimator takes as it is: float64, dictionary-encoded strings, or
        dates (as text, if they were text), null where a value is missing.
    y : ndarray of shape (rows,) or None
        Classes (whole numbers or strings) or values.
    weight : ndarray of shape (rows,) or None
    task : {"classification", "regression"} or None
    kinds : dict
        "number", "category" or "date" for every feature.
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
        "number", "category" or "date" for columns where that is known beforehand.
    on_unusable : {"warn", "raise", "drop"}
        What to do with columns that nothing can be learnt from, as in `read_table`.
    features : sequence of str or None
        The columns a model expects, in its order; others are left out.
    """

    target: str | int | None = None
    weight: str | int | None = None
    drop: Sequence[str] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    features: Sequence[str] | None = None
    on_unusable: str = "warn"

    def __post_init__(self) -> None:
        check_on_unusable(self.on_unusable)
        for name, kind in self.kinds.items():
            if kind not in (*KINDS, UNUSED):
                raise ValueError(f"the kind of {name!r} must be one of {KINDS}, got {kind!r}")


def read_table(
    source: Any,
    target: str | int | None = None,
    *,
    task: str = "auto",
    weight: str | int | None = None,
    drop: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    features: Sequence[str] | None = None,
    on_unusable: str = "warn",
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
        "auto": strings are classes, and so are whole numbers if there are at most 26 different
        ones, with two rows each on average; anything else is a value.
    weight : str or int, optional
        Column of row weights.
    drop : sequence of str
        Columns to leave out, each by itself or several with commas between them.
    kinds : mapping, optional
        "number", "category" or "date" for columns where the guess would be wrong.
    features : sequence of str, optional
        Exactly the columns to return, in this order: those a model was trained on.
    on_unusable : {"warn", "raise", "drop"}
        What to do with identifiers, free text and other columns that nothing can be learnt from:
        leave them out with a warning, or refuse the table. Numbers that seem to count or name rows
        are used, with a warning; "drop" leaves them out, too.
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
    columns = Columns(target, weight, drop, kinds or {}, features, on_unusable)
    parts = list(batches(source, **reading))
    return typed(Batch.joined(parts), columns, task)


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
        on_unusable: str = "warn",
        **reading: Any,
    ) -> None:
        check_task(task)
        self.source, self.reading = source, reading
        self.columns = Columns(target, weight, drop, kinds or {}, features, on_unusable)
        self.task: str | None = task
        self.classes: np.ndarray | None = None
        self.n_rows = 0
        if target is not None:
            self._scan(target, task)

    def _scan(self, target: str | int, task: str) -> None:
        scan: TargetScan | None = None
        for batch in batches(self.source, **self.reading):
            scan = scan or TargetScan(named(batch, target, "target"))
            scan.add(batch)
        assert scan is not None  # a file without rows has been refused
        self.n_rows = scan.rows
        self.task, self.classes = scan.judged(task)

    def __iter__(self) -> Iterator[Table]:
        columns, task = self.columns, self.task or "auto"
        for batch in batches(self.source, **self.reading):
            table = typed(batch, columns, task, self.classes)
            columns = replace(columns, kinds=table.kinds, features=table.X.column_names)
            yield table


def check_task(task: str) -> None:
    """Refuse a task that does not exist."""
    if task not in ("auto", "classification", "regression"):
        raise ValueError(f"task must be auto, classification or regression, got {task!r}")


def typed(batch: Batch, columns: Columns, task: str, classes: Any = None) -> Table:
    """A batch of raw columns as a Table."""
    decimal = batch.decimal
    target = columns.target
    if target is None and columns.features is None:
        target = batch.own_target
    names = Names(batch)
    name = None if target is None else names.one(target, "target")
    weight_name = None if columns.weight is None else names.one(columns.weight, "weight")
    if columns.features is None:
        dropped = names.several(columns.drop, "drop")
        kinds = names.kinds(columns.kinds)
        names.settle()
        left_out = {name, weight_name, batch.own_target, *dropped}
        features = [n for n in batch.names if n not in left_out]
        aligned = batch
    else:
        kinds = dict(columns.kinds)
        features = list(columns.features)
        aligned = _aligned(batch, names, features, {name, weight_name})
    if not features:
        raise DataError(f"{batch.source}: must have at least one column besides the target")
    y, found, weight = None, None, batch.weight
    problems = Problems()  # of all columns, so that they can be fixed together
    if name is not None:
        with problems.collect():
            y, found = read_target(batch, name, task, batch.rows, decimal, classes)
    if weight_name is not None:
        with problems.collect():
            weight = _weights(batch, weight_name, decimal)
    of_features = Problems()
    typed = _features(aligned, features, kinds, decimal, of_features)
    if columns.on_unusable != "raise" and columns.features is None:
        _leave_out(typed, kinds, of_features, columns.on_unusable == "drop")
    problems.found += of_features.found
    settle_columns(problems, file=True)
    if not typed:
        raise DataError(f"{batch.source}: must have a column that can be used, got none: add one")
    kinds = {n: kinds.get(n) or _kind_of(c.type) for n, c in typed.items()}
    return Table(pa.table(typed), y, weight, found, kinds, name, batch.source)


def _features(
    batch: Batch, names: list[str], kinds: Mapping[str, str], decimal: str, problems: Problems
) -> dict[str, pa.ChunkedArray]:
    """Columns as numbers or categories; short ones by the group, where all of a group are plain."""
    found: dict[str, pa.ChunkedArray] = {}
    width = max(1, _CELLS_AT_ONCE // max(1, batch.rows))
    plain = pa.string() if batch.text else pa.float64()
    for at in range(0, len(names), width):
        group = names[at : at + width]
        columns = [batch.column(name) for name in group]
        alike = all(column.type == plain for column in columns)
        alike = alike and all(kinds.get(name) in (None, "number") for name in group)
        numbers = numbers_at_once(columns) if alike and width > 1 and decimal == "." else None
        if numbers is not None:
            found.update(zip(group, numbers, strict=True))
            continue
        for name in group:
            with problems.collect():
                found[name] = _feature(batch, name, kinds.get(name), decimal)
    return found


def _kind_of(type_: pa.DataType) -> str:
    if pa.types.is_dictionary(type_):
        return "category"
    return "number" if pa.types.is_floating(type_) else "date"


def _leave_out(
    columns: dict[str, pa.ChunkedArray],
    kinds: Mapping[str, str],
    problems: Problems,
    counters: bool,
) -> None:
    """Leave columns out that nothing can be learnt from, `counters` of rows too; tell of each.

    What somebody has declared to be of some kind stays a problem.
    """
    told, kept = list[str](), list[Exception]()
    for error in problems.found:
        if isinstance(error, UnusableColumnError) and error.column not in kinds:
            told.append(str(error))
        else:
            kept.append(error)
    problems.found = kept
    numbers = [n for n, column in columns.items() if pa.types.is_floating(column.type)]
    for name in numbers if counters else []:
        reason = None if name in kinds else suspect(name, columns[name].to_numpy())
        if reason is not None:
            told.append(f"column {name!r} {reason}, which says nothing about new rows")
            del columns[name]
    for text in told:
        warnings.warn(f"left out: {text}", ColumnWarning, stacklevel=2)


def _feature(batch: Batch, name: str, kind: str | None, decimal: str) -> pa.ChunkedArray:
    place = Place(batch.source, name, batch.row_name)
    if kind == UNUSED:
        return pa.chunked_array([pa.nulls(batch.rows, pa.float64())])
    column = batch.column(name)
    try:
        if batch.text:
            return settle_text(column, place, kind, decimal)
        return settle_column(column, place, kind)
    except pa.ArrowException as error:  # a type nobody has met yet
        raise cannot_be_used(column, place, error) from error


def _aligned(batch: Batch, names: Names, features: list[str], others: set[str | None]) -> Batch:
    """The batch with the columns a model expects, whatever their order here."""
    missing = [name for name in features if name not in names.known]
    unnamed = [name for name in batch.names if name not in others]
    # What a sparse file does not mention is 0.
    zeros = batch.sparse and all(re.fullmatch(r"x\d+", name) for name in missing)
    in_order = not batch.header and len(unnamed) == len(features)
    if missing and not (zeros or in_order):
        names.refuse_missing(missing)
    names.settle()
    if missing and zeros:
        column = pa.chunked_array([np.zeros(batch.rows)])
        return batch.with_columns(missing, [column] * len(missing))
    if missing:
        return batch.renamed(dict(zip(unnamed, features, strict=True)))
    return batch


def _weights(batch: Batch, name: str, decimal: str) -> np.ndarray:
    place = Place(batch.source, name, batch.row_name)
    weight = _feature(batch, name, "number", decimal).to_numpy()
    bad = ~(weight >= 0)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        got = "a missing value" if np.isnan(weight[row]) else shown(weight[row])
        raise place.error(f"weights must be numbers of at least 0, got {got}: fix it", row)
    return weight
