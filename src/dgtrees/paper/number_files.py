"""Arrays from the publishers' text and idx files: what several parsers read alike."""

from __future__ import annotations

import io
from typing import BinaryIO

import numpy as np
import pyarrow as pa
from pyarrow import csv

from dgtrees.errors import DataError
from dgtrees.paper.archives import FileSource

__all__ = ["name_columns", "read_csv", "read_header", "read_idx", "read_numbers", "read_spaced"]


def read_numbers(
    stream: BinaryIO,
    source: str,
    columns: list[str],
    dtype: type = np.float64,
    delimiter: str = ",",
) -> np.ndarray:
    """The rest of a delimited text without a header as an array (rows, columns)."""
    kind = pa.from_numpy_dtype(dtype)
    try:
        table = csv.read_csv(
            stream,
            read_options=csv.ReadOptions(column_names=columns),
            parse_options=csv.ParseOptions(delimiter=delimiter),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(columns, kind), null_values=[], strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid as error:
        reason = str(error).splitlines()[0]
        raise DataError(
            f"{source} must hold {len(columns)} numbers per row, but {reason}: delete it and fetch "
            "it again"
        ) from error
    out = np.empty((table.num_rows, len(columns)), dtype=dtype)
    for i, column in enumerate(table.columns):
        out[:, i] = column.to_numpy()
    return out


def read_header(stream: BinaryIO, delimiter: str = ",") -> list[str]:
    """The names in the first line."""
    return stream.readline().decode().strip().split(delimiter)


def name_columns(count: int) -> list[str]:
    """Names for columns that have none."""
    return [f"x{i}" for i in range(count)]


def read_csv(source: FileSource, name: str, columns: int, dtype: type = np.float64) -> np.ndarray:
    """A table of numbers between commas, without a header."""
    with source.open(name) as stream:
        return read_numbers(stream, source.where(name), name_columns(columns), dtype)


def read_spaced(source: FileSource, name: str, columns: int) -> np.ndarray:
    """A small table of numbers between blanks."""
    with source.open(name) as stream:
        text = b"\n".join(b" ".join(line.split()) for line in stream)
    return read_numbers(io.BytesIO(text), source.where(name), name_columns(columns), delimiter=" ")


def read_idx(source: FileSource, name: str, axes: int) -> np.ndarray:
    """The bytes of an idx file, on so many axes."""
    with source.open(name) as stream:
        raw = np.frombuffer(stream.read(), dtype=np.uint8)
    start = 4 + 4 * axes
    shape = tuple(raw[4:start].view(">i4").tolist()) if len(raw) >= start else ()
    if raw[:4].tolist() != [0, 0, 8, axes] or len(raw) - start != int(np.prod(shape)):
        raise DataError(
            f"{source.where(name)} must be an idx file of bytes on {axes} axes, got {len(raw)} "
            f"bytes that begin with {raw[:4].tolist()}: delete it and fetch it again"
        )
    return raw[start:].reshape(shape)
