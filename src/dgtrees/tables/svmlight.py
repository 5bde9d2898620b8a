"""svmlight (LIBSVM) files: ``label index:value index:value ...``, a row a line.

Owns the format and its errors; decompressing is `files`' part and what the numbers mean is the
caller's. Blocks of plain lines are parsed by NumPy in one go; a block that has comments, query
numbers or anything unexpected is read again line by line, which also finds the place of an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from pyarrow import csv

from dgtrees.errors import DataError
from dgtrees.tables.files import blocks_of_lines, check_dense_size

__all__ = ["SparseRows", "parse_svmlight", "read_svmlight"]

_NUMBER = re.compile(rb"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_QID = re.compile(rb"(?m)^([^ :\n]+) qid:(\d{1,9})(?= |$)")
_TO_LINES = bytes.maketrans(b" :", b"\n\n")
_EXACT = 2.0**53
_INDEX = re.compile(rb"\d{1,9}")
_SEPARATORS = np.zeros(256, dtype=np.uint8)
_SPACE, _COLON, _NEWLINE = 1, 2, 3
_SEPARATORS[[ord(" "), ord(":"), ord("\n")]] = _SPACE, _COLON, _NEWLINE
# What may follow a separator as the next one; a label comes first, then index and value in turn.
_FOLLOWS = np.zeros((4, 4), dtype=bool)
_FOLLOWS[_NEWLINE, [_SPACE, _NEWLINE]] = True
_FOLLOWS[_SPACE, _COLON] = True
_FOLLOWS[_COLON, [_SPACE, _NEWLINE]] = True


@dataclass(frozen=True)
class SparseRows:
    """Rows as the file has them: entries of row i lie in indptr[i]:indptr[i + 1]."""

    labels: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    qid: np.ndarray | None
    lines: np.ndarray

    def dense(self, first: int, width: int) -> np.ndarray:
        """Array (rows, width) whose column 0 is index `first`; absent entries are 0."""
        X = np.zeros((len(self.labels), width))
        rows = np.repeat(np.arange(len(self.labels)), np.diff(self.indptr))
        X[rows, self.indices - first] = self.values
        return X


def read_svmlight(
    stream: BinaryIO, source: str, n_features: int | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Features (rows, d), labels (rows,) and query numbers (rows,) or None; indices begin at 1.

    Examples
    --------
    >>> import io
    >>> X, y, _ = read_svmlight(io.BytesIO(b"1 1:0.5 3:2\\n-1 2:1\\n"), "example")
    >>> X.tolist(), y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]], [1.0, -1.0])
    """
    rows = parse_svmlight(stream, source)
    largest = int(rows.indices.max(initial=0))
    width = largest if n_features is None else n_features
    if largest > width or rows.indices.min(initial=1) < 1:
        bad = largest if largest > width else 0
        entry = int(np.flatnonzero(rows.indices == bad)[0])
        row = int(np.searchsorted(rows.indptr, entry, side="right")) - 1
        raise DataError(
            f"{source}, line {rows.lines[row]}: feature numbers must lie between 1 and {width}, "
            f"got {bad}: check that this is the right file"
        )
    check_dense_size(len(rows.labels), width, source)
    return rows.dense(1, width), rows.labels, rows.qid


def parse_svmlight(stream: BinaryIO, source: str) -> SparseRows:
    """All rows of a file; raises `DataError` naming file, line and what was found."""
    parts = []
    for first_line, block in blocks_of_lines(stream, source):
        part = _parse_plain(block, first_line)
        parts.append(_parse_by_line(block, source, first_line) if part is None else part)
    if not any(len(part[0]) for part in parts):
        raise DataError(f"{source}, line 1: must hold at least one row, got none: check the file")
    labels, counts, indices, values, qid, lines = map(np.concatenate, zip(*parts, strict=True))
    known = qid >= 0
    if known.any() and not known.all():
        raise DataError(
            f"{source}, line {lines[~known][0]}: either all rows have a qid or none, got none "
            "here: add it or remove the others"
        )
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return SparseRows(labels, indptr, indices, values, qid if known.any() else None, lines)


_Part = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def _parse_plain(block: bytes, first_line: int) -> _Part | None:
    """Labels, entries a row, indices, values, query numbers, lines; None where that is not plain.

    Blank lines are not plain, so that rows and lines count alike.
    """
    if b"#" in block:
        return None
    text = block
    if b"\t" in text or b"  " in text:
        text = re.sub(rb"[ \t]+", b" ", text)
    text = text.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")
    text = text if text.endswith(b"\n") else text + b"\n"
    if b"\n\n" in text or text.startswith(b"\n"):
        return None
    qids = np.full(text.count(b"\n"), -1)
    if b"q" in text:
        found = _QID.findall(text)
        if len(found) != len(qids):
            return None
        qids = np.array([qid for _, qid in found]).astype(np.int64)
        text = _QID.sub(rb"\1", text)
    kinds = _SEPARATORS[np.frombuffer(text, dtype=np.uint8)]
    kinds = np.concatenate([[_NEWLINE], kinds[kinds > 0]])
    if not _FOLLOWS[kinds[:-1], kinds[1:]].all():
        return None
    numbers = _one_a_line(text.translate(_TO_LINES))
    if numbers is None or len(numbers) != len(kinds) - 1:
        return None
    ends = np.flatnonzero(kinds[1:] == _NEWLINE)
    starts = np.concatenate([[0], ends[:-1] + 1])
    is_label = np.zeros(len(numbers), dtype=bool)
    is_label[starts] = True
    pairs = numbers[~is_label].reshape(-1, 2)
    counts = (ends - starts) // 2
    row = np.repeat(np.arange(len(starts)), counts)
    whole = (pairs[:, 0] >= 0) & (pairs[:, 0] < 1e9) & (pairs[:, 0] == np.floor(pairs[:, 0]))
    rising = (np.diff(pairs[:, 0]) > 0) | (np.diff(row) > 0)
    # Arrow reads "nan" and "inf" too, and "1e2" is no feature number.
    if not (whole.all() and rising.all() and np.isfinite(numbers).all()):
        return None
    if re.search(rb"[^\d\n :](?=[^\n :]*:)", text) is not None:
        return None
    if np.abs(numbers[starts]).max() >= _EXACT:
        return None  # how it is written decides
    lines = first_line + np.arange(len(starts))
    return _part(numbers[starts], counts, pairs[:, 0], pairs[:, 1], qids, lines)


def _one_a_line(text: bytes) -> np.ndarray | None:
    """Numbers, one a line; None if one is none."""
    try:
        table = csv.read_csv(
            pa.py_buffer(text),
            read_options=csv.ReadOptions(column_names=["x"], block_size=len(text) + 1),
            parse_options=csv.ParseOptions(quote_char=False),
            convert_options=csv.ConvertOptions(column_types={"x": pa.float64()}, null_values=[]),
        )
    except pa.ArrowInvalid:
        return None
    return np.asarray(table.column(0).to_numpy())


def _part(labels: Any, counts: Any, indices: Any, values: Any, qids: Any, lines: Any) -> _Part:
    return (
        np.asarray(labels, dtype=np.float64),
        np.asarray(counts, dtype=np.int64),
        np.asarray(indices).astype(np.int64),
        np.asarray(values, dtype=np.float64),
        np.asarray(qids, dtype=np.int64),
        np.asarray(lines, dtype=np.int64),
    )


def _parse_by_line(block: bytes, source: str, first_line: int) -> _Part:
    labels: list[float] = []
    counts: list[int] = []
    indices: list[int] = []
    values: list[float] = []
    qids: list[int] = []
    lines: list[int] = []
    for offset, line in enumerate(block.split(b"\n")):
        fields = line.split(b"#", 1)[0].split()
        if not fields:
            continue
        where = f"{source}, line {first_line + offset}"
        labels.append(_label(fields[0], f"{where}, column 1"))
        qid, last, count = -1, -1, 0
        for column, field in enumerate(fields[1:], start=2):
            name, colon, value = field.partition(b":")
            place = f"{where}, column {column}"
            if name == b"qid" and count == 0 and qid < 0 and _INDEX.fullmatch(value):
                qid = int(value)
                continue
            if not colon or not _INDEX.fullmatch(name):
                raise DataError(
                    f"{place}: entries must be index:value, got {_shown(field)}: fix the line"
                )
            if int(name) <= last:
                raise DataError(
                    f"{place}: indices must rise within a line, got {int(name)} after {last}: "
                    "sort them and drop repetitions"
                )
            last = int(name)
            indices.append(last)
            values.append(_number(value, place, f"the value of feature {last}"))
            count += 1
        counts.append(count)
        qids.append(qid)
        lines.append(first_line + offset)
    return _part(labels, counts, indices, values, qids, lines)


def _label(token: bytes, place: str) -> float:
    number = _number(token, place, "the label")
    if abs(number) >= _EXACT and b"e" not in token.lower():
        raise DataError(
            f"{place}: labels must be below 2^53, from where on they cannot be told apart, got "
            f"{_shown(token)}: number the classes anew, or write values with an exponent (1e16)"
        )
    return number


def _number(token: bytes, place: str, what: str) -> float:
    if _NUMBER.fullmatch(token) and np.isfinite(number := float(token)):
        return number
    raise DataError(f"{place}: {what} must be a finite number, got {_shown(token)}: fix the line")


def _shown(token: bytes) -> str:
    text = token[:40].decode("utf-8", errors="backslashreplace")
    return repr(text + ("..." if len(token) > 40 else ""))
