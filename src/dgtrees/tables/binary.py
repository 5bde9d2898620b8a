"""Binary formats and frames in memory as `Batch`es: Parquet, Arrow, npz, pandas, polars."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from pyarrow import ipc, parquet

from dgtrees.errors import DataError
from dgtrees.tables.arrow_messages import MessageStream, check_file
from dgtrees.tables.batch import Batch, row_namer
from dgtrees.tables.columns import Place
from dgtrees.tables.files import source_name
from dgtrees.tables.growth import check_growth
from dgtrees.tables.kinds import to_arrow
from dgtrees.tables.row_labels import row_labels

__all__ = [
    "ARROW_STREAM",
    "from_arrow",
    "from_frame",
    "from_npz",
    "from_parquet",
    "load_npz",
]

ARROW_STREAM = b"\xff\xff\xff\xff"
"""How a stream of Arrow messages begins."""

_ROWS_A_BATCH = 65_536
_BATCH_BYTES = 1 << 24


def from_npz(stream: BinaryIO, name: str) -> Iterator[Batch]:
    """Arrays of an npz file: X, y and sample_weight, or one array a column."""
    yield _arrays_as_batch(load_npz(stream, name), name)


def load_npz(stream: BinaryIO, name: str) -> dict[str, np.ndarray]:
    """All arrays of an npz file by name; there is no way to objects, which are pickles."""
    content = stream.read()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as members:
            check_growth(sum(m.file_size for m in members.infolist()), len(content), name)
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files}
    except DataError:
        raise
    except Exception as error:  # NumPy raises half a dozen types on damaged archives
        raise DataError(f"{name}: not a readable npz file ({_one_line(error)})") from error


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
        raise DataError(f"{name}: sample_weight must hold numbers of at least 0: fix it")
    for key, column in columns.items():
        if column.dtype.kind not in "biufUM":
            raise DataError(
                f"{name}, column {key!r}: must hold numbers or strings, got the type "
                f"{column.dtype}: save it as such"
            )
    arrow = [pa.chunked_array([_to_arrow(np.ascontiguousarray(c))]) for c in columns.values()]
    weight = None if weight is None else weight.astype(np.float64)
    return Batch(
        list(columns), arrow, False, row_namer(0), name, own_target=own_target, weight=weight
    )


def _to_arrow(column: np.ndarray) -> pa.Array:
    if column.dtype.kind == "M":
        return pa.array(column.astype("datetime64[us]"))
    if column.dtype.kind == "f":
        column = column.astype(np.float64)
    column = column.astype(column.dtype.newbyteorder("="))
    return pa.array(column.tolist()) if column.dtype.kind == "U" else pa.array(column)


def from_parquet(
    stream: BinaryIO,
    name: str,
    start: int = 0,
    stop: int | None = None,
    columns: list[str] | None = None,
) -> Iterator[Batch]:
    """Rows `start` to `stop` of a Parquet file, some row groups at a time; all columns if None."""
    with _arrow_errors(name, "Parquet"):
        content = _seekable(stream)
        size = content.seek(0, io.SEEK_END)
        file = parquet.ParquetFile(content, buffer_size=1 << 20, page_checksum_verification=True)
        groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
        # Runs of equal values take no room in the file: a value counts as a byte at least.
        grown = [max(group.total_byte_size, group.num_rows * group.num_columns) for group in groups]
        check_growth(sum(grown), size, name)
    ends = np.cumsum([group.num_rows for group in groups], dtype=np.int64)
    stop = file.metadata.num_rows if stop is None else stop
    wanted = {
        number: group
        for number, group in enumerate(groups)
        if ends[number] > start and ends[number] - group.num_rows < stop
    }
    first = min((int(ends[i]) - group.num_rows for i, group in wanted.items()), default=0)
    found = (b for some in _bundles(wanted) for b in file.iter_batches(*some, columns=columns))
    for batch in _from_record_batches(found, name, "Parquet", file.schema_arrow, first):
        low, high = max(0, start - first), min(batch.rows, stop - first)
        if low < high:
            yield batch if high - low == batch.rows else batch.between(low, high)
        first += batch.rows


def _bundles(groups: dict[int, Any]) -> Iterator[tuple[int, list[int]]]:
    """Rows a batch, and numbers of row groups to read together.

    One iterator over a whole file would keep every group it has read. Batches of long rows have
    fewer of them.
    """
    bundle: list[int] = []
    rows = size = 0
    last = max(groups, default=-1)
    for number, group in groups.items():
        bundle.append(number)
        rows, size = rows + group.num_rows, size + group.total_byte_size
        if rows >= _ROWS_A_BATCH or size >= _BATCH_BYTES or number == last:
            fitting = _BATCH_BYTES * max(rows, 1) // max(size, 1)
            yield min(_ROWS_A_BATCH, max(1000, fitting)), bundle
            bundle, rows, size = [], 0, 0


def from_arrow(stream: BinaryIO, name: str) -> Iterator[Batch]:
    """Rows of an Arrow file or stream."""
    with _arrow_errors(name, "Arrow"):
        if stream.peek(8).startswith(ARROW_STREAM):  # type: ignore[attr-defined]
            messages = MessageStream(stream, name)
            reader: Any = ipc.open_stream(io.BufferedReader(messages))
            found: Iterator[Any] = _whole(reader, messages)
        else:
            content = _seekable(stream)
            check_file(content, name)
            reader = ipc.open_file(content)
            found = (reader.get_batch(i) for i in range(reader.num_record_batches))
    yield from _from_record_batches(found, name, "Arrow", reader.schema)


def _whole(reader: Any, messages: MessageStream) -> Iterator[pa.RecordBatch]:
    rows = 0
    for batch in reader:
        rows += batch.num_rows
        yield batch
    messages.check_ended(rows)


def _from_record_batches(
    found: Iterator[pa.RecordBatch], name: str, format: str, schema: pa.Schema, row: int = 0
) -> Iterator[Batch]:
    labels = row_labels(schema)
    while True:
        with _arrow_errors(name, format):
            part = next(found, None)
            if part is None:
                return
            part.validate(full=True)
            names, columns = _named_columns(part, labels)
        yield Batch(names, [pa.chunked_array([c]) for c in columns], False, row_namer(row), name)
        row += part.num_rows


def _named_columns(part: Any, labels: set[str]) -> tuple[list[str], list[Any]]:
    """Names and columns of a table without row labels."""
    names = part.schema.names
    places = [i for i, name in enumerate(names) if name not in labels]
    return [names[i] for i in places], [part.column(i) for i in places]


def from_frame(frame: Any) -> Iterator[Batch]:
    """A pandas, polars or Arrow table."""
    name = source_name(frame)
    if isinstance(frame, pa.Table):
        table = frame
    elif hasattr(frame, "to_arrow"):  # polars
        table = frame.to_arrow()
    else:
        names = [str(column) for column in frame.columns]
        columns = [
            to_arrow(frame.iloc[:, j], Place(name, n, row_namer(0))) for j, n in enumerate(names)
        ]
        yield Batch(names, columns, False, row_namer(0), name)
        return
    names, columns = _named_columns(table, row_labels(table.schema))
    yield Batch(names, columns, False, row_namer(0), name)


_DAMAGED = (pa.ArrowException, OSError, ValueError, IndexError, OverflowError, struct.error)


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
        if isinstance(error, _DAMAGED):
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
