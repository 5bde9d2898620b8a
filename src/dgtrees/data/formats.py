"""Which format a data file has, and its rows as `Batch`es of raw columns.

Raw means: strings from text files, whatever Arrow type otherwise. What they mean is decided in
`tables`.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from pyarrow import ipc, parquet

from dgtrees.data.arff import parse_arff
from dgtrees.data.delimited import read_delimited
from dgtrees.data.files import check_dense_size, open_bytes, source_name
from dgtrees.data.svmlight import parse_svmlight
from dgtrees.errors import DataError

__all__ = ["FORMATS", "Batch", "batches"]

_ROWS_A_BATCH = 65_536
_BATCH_BYTES = 1 << 24
_COMPRESSIONS = (".gz", ".bz2", ".xz")


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

    def column(self, name: str) -> pa.ChunkedArray:
        """Values of one column."""
        return self.columns[self.names.index(name)]

    def with_columns(self, names: list[str], columns: list[pa.ChunkedArray]) -> Batch:
        """This batch with more columns."""
        return replace(self, names=self.names + names, columns=self.columns + columns)

    def renamed(self, names: dict[str, str]) -> Batch:
        """This batch with other names for some columns."""
        return replace(self, names=[names.get(name, name) for name in self.names])

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


def batches(
    source: Any,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    decimal: str = ".",
) -> Iterator[Batch]:
    """Rows of a file or DataFrame, at least one; raises `DataError` if there is none."""
    if format is not None and format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")
    if decimal not in (".", ","):
        raise ValueError(f"decimal must be '.' or ',', got {decimal!r}")
    name = source_name(source)
    if _is_in_memory(source):
        yield from _checked(_from_frame(source), name, name)
        return
    if not isinstance(source, (str, Path)) and not hasattr(source, "read"):
        raise TypeError(
            "a table must be a path, an open binary file, or a pandas, polars or Arrow table, got "
            f"{type(source).__name__}: wrap arrays in a DataFrame, collect lazy frames"
        )
    with open_bytes(source) as stream:
        if format is None:
            format = _found_format(source, stream)
        if format == "csv":
            reading = {
                "delimiter": delimiter,
                "header": header,
                "encoding": encoding,
                "decimal": decimal,
            }
            if delimiter is None and _suffix(source) == ".tsv":
                reading["delimiter"] = "\t"
            found: Iterator[Batch] = _from_text(stream, name, reading)
        else:
            found = FORMATS[format](stream, name)
        yield from _checked(found, name, f"{name}, line 1")


def _checked(found: Iterator[Batch], name: str, start: str) -> Iterator[Batch]:
    """Batches that have rows and columns of different names."""
    empty = True
    for batch in found:
        if empty and (repeated := {n for n in batch.names if batch.names.count(n) > 1}):
            raise DataError(
                f"{name}: column names must differ, got {min(repeated)!r} twice: rename one"
            )
        if empty and "" in batch.names:
            raise DataError(
                f"{name}, column {batch.names.index('') + 1}: every column must have a name, got "
                "an empty one: name it"
            )
        if batch.rows:
            empty = False
            yield batch
    if empty:
        raise DataError(f"{start}: must hold at least one row, got none: check where it comes from")


def _is_in_memory(source: Any) -> bool:
    return isinstance(source, pa.Table) or (hasattr(source, "columns") and hasattr(source, "shape"))


def _suffix(source: Any) -> str:
    suffixes = Path(source).suffixes if isinstance(source, (str, Path)) else []
    plain = [s.lower() for s in suffixes if s.lower() not in _COMPRESSIONS]
    return plain[-1] if plain else ""


def _found_format(source: Any, stream: BinaryIO) -> str:
    """By how the content begins, then by the name, then CSV."""
    start = stream.peek(1 << 16)[: 1 << 16]  # type: ignore[attr-defined]
    if _suffix(source) in (".xlsx", ".xls", ".ods"):
        raise DataError(f"{source}: spreadsheets are not read: save it as CSV or Parquet")
    for magic, format in _MAGIC.items():
        if start.startswith(magic):
            return format
    by_name = _SUFFIXES.get(_suffix(source))
    if by_name is not None:
        return by_name
    lines = start.split(b"\n")
    said = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith(b"%")]
    if said and said[0].lower().startswith((b"@relation", b"@attribute")):
        return "arff"
    entries = said[0].split(b"#")[0].split()[1:] if said else []
    if entries and all(e.count(b":") == 1 and e.split(b":")[0].isdigit() for e in entries):
        return "svmlight"
    return "csv"


def _from_text(stream: BinaryIO, name: str, reading: dict[str, Any]) -> Iterator[Batch]:
    for part in read_delimited(stream, name, **reading):
        columns = [pa.chunked_array([column]) for column in part.columns]
        named = _line_namer(part.lines)
        yield Batch(part.names, columns, True, named, name, part.header, decimal=reading["decimal"])


def _line_namer(lines: np.ndarray) -> Callable[[int], str]:
    return lambda row: f"line {lines[row]}"


def _row_namer(first: int) -> Callable[[int], str]:
    return lambda row: f"row {first + row + 1}"


def _from_svmlight(stream: BinaryIO, name: str) -> Iterator[Batch]:
    rows = parse_svmlight(stream, name)
    first = 0 if rows.indices.min(initial=1) == 0 else 1
    width = int(rows.indices.max(initial=first)) - first + 1
    check_dense_size(len(rows.labels), width, name)
    X = rows.dense(first, width)
    columns = [pa.chunked_array([np.ascontiguousarray(X[:, j])]) for j in range(width)]
    names = [f"x{first + j}" for j in range(width)]
    label = pa.chunked_array([rows.labels])
    yield Batch(
        ["label", *names],
        [label, *columns],
        False,
        _line_namer(rows.lines),
        name,
        sparse=True,
        own_target="label",
    )


def _from_arff(stream: BinaryIO, name: str) -> Iterator[Batch]:
    parsed = parse_arff(stream, name)
    columns = [_arff_column(c, kind) for c, kind in zip(parsed.columns, parsed.kinds, strict=True)]
    yield Batch(parsed.names, columns, False, _line_namer(parsed.lines), name)


def _arff_column(column: np.ndarray, kind: str) -> pa.ChunkedArray:
    if kind == "number":
        return pa.chunked_array([pa.array(column, from_pandas=True)])
    array = pa.array(column, type=pa.string())
    return pa.chunked_array([array.dictionary_encode() if kind == "nominal" else array])


def _from_npz(stream: BinaryIO, name: str) -> Iterator[Batch]:
    try:
        with np.load(io.BytesIO(stream.read()), allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
    except Exception as error:  # NumPy raises half a dozen types on damaged archives
        raise DataError(f"{name}: not a readable npz file ({_one_line(error)})") from error
    yield _arrays_as_batch(arrays, name)


def _arrays_as_batch(arrays: dict[str, np.ndarray], name: str) -> Batch:
    own_target, weight = None, None
    if "X" in arrays:
        X = arrays["X"]
        if X.ndim != 2:
            raise DataError(f"{name}: X must have two dimensions, got the shape {X.shape}")
        given = arrays.get("feature_names")
        names = [f"x{j}" for j in range(X.shape[1])]
        if given is not None:
            names = [str(n) for n in np.ravel(given)]
        if len(names) != X.shape[1]:
            raise DataError(
                f"{name}: feature_names must name the {X.shape[1]} columns of X, got {len(names)}"
            )
        columns = {n: X[:, j] for j, n in enumerate(names)}
        if len(columns) < len(names):
            raise DataError(f"{name}: feature_names must differ, got one twice: rename it")
        if "y" in arrays:
            own_target = "y"
            if "y" in columns:
                raise DataError(f"{name}: feature_names must not hold 'y', the target: rename it")
            columns["y"] = arrays["y"]
        weight = arrays.get("sample_weight")
    else:
        columns = arrays
    rows = {len(c) if c.ndim == 1 else -1 for c in columns.values()}
    if weight is not None:
        rows.add(len(weight) if weight.ndim == 1 else -1)
    if len(rows) != 1 or -1 in rows:
        raise DataError(
            f"{name}: arrays must be X (rows, features) and y (rows,), or columns of one length, "
            f"got {', '.join(f'{k} {v.shape}' for k, v in list(arrays.items())[:8]) or 'none'}"
        )
    if weight is not None and not (weight.dtype.kind in "biuf" and np.all(weight >= 0)):
        raise DataError(f"{name}: sample_weight must hold numbers of at least 0: mend it")
    for key, column in columns.items():
        if column.dtype.kind not in "biufUM":
            raise DataError(
                f"{name}, column {key!r}: must hold numbers or strings, got the type "
                f"{column.dtype}: save it as such"
            )
    arrow = [pa.chunked_array([_to_arrow(np.ascontiguousarray(c))]) for c in columns.values()]
    weight = None if weight is None else weight.astype(np.float64)
    return Batch(
        list(columns), arrow, False, _row_namer(0), name, own_target=own_target, weight=weight
    )


def _to_arrow(column: np.ndarray) -> pa.Array:
    if column.dtype.kind == "M":
        return pa.array(column.astype("datetime64[us]"))
    if column.dtype.kind == "f":
        column = column.astype(np.float64)
    column = column.astype(column.dtype.newbyteorder("="))
    return pa.array(column.tolist()) if column.dtype.kind == "U" else pa.array(column)


def _from_parquet(stream: BinaryIO, name: str) -> Iterator[Batch]:
    with _arrow_errors(name, "Parquet"):
        file = parquet.ParquetFile(
            _seekable(stream), buffer_size=1 << 20, page_checksum_verification=True
        )
        groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    found = (b for some in _bundles(groups) for b in file.iter_batches(*some))
    yield from _from_record_batches(found, name, "Parquet", file.schema_arrow.names)


def _bundles(groups: list[Any]) -> Iterator[tuple[int, list[int]]]:
    """Rows a batch, and numbers of row groups to read together.

    One iterator over a whole file would keep every group it has read. Batches of long rows have
    fewer of them.
    """
    bundle: list[int] = []
    rows = size = 0
    for number, group in enumerate(groups):
        bundle.append(number)
        rows, size = rows + group.num_rows, size + group.total_byte_size
        if rows >= _ROWS_A_BATCH or size >= _BATCH_BYTES or number == len(groups) - 1:
            fitting = _BATCH_BYTES * max(rows, 1) // max(size, 1)
            yield min(_ROWS_A_BATCH, max(1000, fitting)), bundle
            bundle, rows, size = [], 0, 0


def _from_arrow(stream: BinaryIO, name: str) -> Iterator[Batch]:
    with _arrow_errors(name, "Arrow"):
        if stream.peek(8).startswith(_ARROW_STREAM):  # type: ignore[attr-defined]
            reader: Any = ipc.open_stream(stream)
            found: Iterator[Any] = iter(reader)
        else:
            reader = ipc.open_file(_seekable(stream))
            found = (reader.get_batch(i) for i in range(reader.num_record_batches))
    yield from _from_record_batches(found, name, "Arrow", reader.schema.names)


def _from_record_batches(
    found: Iterator[pa.RecordBatch], name: str, format: str, names: list[str]
) -> Iterator[Batch]:
    row = 0
    while True:
        with _arrow_errors(name, format):
            part = next(found, None)
            if part is None:
                return
            part.validate(full=True)
        columns = [pa.chunked_array([column]) for column in part.columns]
        yield Batch([str(n) for n in names], columns, False, _row_namer(row), name)
        row += part.num_rows


def _from_frame(frame: Any) -> Iterator[Batch]:
    name = source_name(frame)
    if isinstance(frame, pa.Table):
        table = frame
    elif hasattr(frame, "to_arrow"):  # polars
        table = frame.to_arrow()
    else:
        names = [str(column) for column in frame.columns]
        columns = [_pandas_column(frame.iloc[:, j], n, name) for j, n in enumerate(names)]
        yield Batch(names, columns, False, _row_namer(0), name)
        return
    yield Batch(list(table.column_names), list(table.columns), False, _row_namer(0), name)


def _pandas_column(series: Any, column: str, name: str) -> pa.ChunkedArray:
    try:
        array = pa.Array.from_pandas(series)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        kinds = {type(value).__name__: row for row, value in reversed(list(enumerate(series)))}
        row = max(kinds.values())
        raise DataError(
            f"{name}, row {row + 1}, column {column!r}: values must be of one type, got "
            f"{', '.join(sorted(kinds))}: convert the column"
        ) from error
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


class _arrow_errors:  # noqa: N801 - used like a function
    """Arrow's errors as a DataError of one line."""

    def __init__(self, name: str, format: str) -> None:
        self.name, self.format = name, format

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, MemoryError):
            raise DataError(
                f"{self.name}: needs more memory than there is: if the file is not damaged, read "
                "it in batches (--stream)"
            ) from error
        if isinstance(error, (pa.ArrowException, OSError, ValueError, OverflowError)):
            raise DataError(
                f"{self.name}: not a readable {self.format} file ({_one_line(error)}): get it again"
            ) from error


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:160] or type(error).__name__


def _seekable(stream: BinaryIO) -> Any:
    """Files as they are; pipes and compressed files, read into memory."""
    raw = getattr(stream, "raw", stream)
    plain = isinstance(raw, (io.FileIO, io.BytesIO)) and stream.seekable()
    return stream if plain else io.BytesIO(stream.read())


_ARROW_STREAM = b"\xff\xff\xff\xff"
_MAGIC = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    _ARROW_STREAM: "arrow",
    b"PK\x03\x04": "npz",
}
FORMATS: dict[str, Any] = {
    "csv": _from_text,
    "parquet": _from_parquet,
    "arrow": _from_arrow,
    "svmlight": _from_svmlight,
    "arff": _from_arff,
    "npz": _from_npz,
}
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".arff": "arff",
    ".npz": "npz",
}
