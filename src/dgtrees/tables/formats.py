"""Which format a data file has, and its rows as `Batch`es of raw columns.

Raw means: strings from text files, whatever Arrow type otherwise. What they mean is decided in
`tables`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from dgtrees.errors import DataError
from dgtrees.tables.arff import parse_arff
from dgtrees.tables.batch import Batch, line_namer
from dgtrees.tables.binary import ARROW_STREAM, from_arrow, from_frame, from_npz, from_parquet
from dgtrees.tables.columns import pieces
from dgtrees.tables.delimited import read_delimited
from dgtrees.tables.files import check_dense_size, open_bytes, source_name
from dgtrees.tables.svmlight import parse_svmlight

__all__ = ["FORMATS", "batches"]

_COMPRESSIONS = (".gz", ".bz2", ".xz")


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
        yield from _checked(from_frame(source), name, name)
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
        if empty and len(batch.positions) < len(batch.names):
            repeated = min(n for n, times in Counter(batch.names).items() if times > 1)
            raise DataError(f"{name}: column names must differ, got {repeated!r} twice: rename one")
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
        named = line_namer(part.lines)
        yield Batch(part.names, columns, True, named, name, part.header, decimal=reading["decimal"])


def _from_svmlight(stream: BinaryIO, name: str) -> Iterator[Batch]:
    rows = parse_svmlight(stream, name)
    first = 0 if rows.indices.min(initial=1) == 0 else 1
    width = int(rows.indices.max(initial=first)) - first + 1
    check_dense_size(len(rows.labels), width, name)
    X = pa.array(np.ravel(rows.dense(first, width), order="F"))
    columns = [pa.chunked_array([column]) for column in pieces(X, len(rows.labels))]
    names = [f"x{first + j}" for j in range(width)]
    label = pa.chunked_array([rows.labels])
    yield Batch(
        ["label", *names],
        [label, *columns],
        False,
        line_namer(rows.lines),
        name,
        sparse=True,
        own_target="label",
    )


def _from_arff(stream: BinaryIO, name: str) -> Iterator[Batch]:
    parsed = parse_arff(stream, name)
    columns = [_arff_column(c, kind) for c, kind in zip(parsed.columns, parsed.kinds, strict=True)]
    yield Batch(parsed.names, columns, False, line_namer(parsed.lines), name)


def _arff_column(column: np.ndarray, kind: str) -> pa.ChunkedArray:
    if kind == "number":
        return pa.chunked_array([pa.array(column, from_pandas=True)])
    array = pa.array(column, type=pa.string())
    return pa.chunked_array([array.dictionary_encode() if kind == "nominal" else array])


_MAGIC = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    ARROW_STREAM: "arrow",
    b"PK\x03\x04": "npz",
}
FORMATS: dict[str, Any] = {
    "csv": _from_text,
    "parquet": from_parquet,
    "arrow": from_arrow,
    "svmlight": _from_svmlight,
    "arff": _from_arff,
    "npz": from_npz,
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
