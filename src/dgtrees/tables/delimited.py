"""Delimited text (CSV, TSV and their relatives) as columns of strings, in batches of rows.

Finds out delimiter and header, and reads in blocks: Arrow splits blocks without quotes, where
nothing can be ambiguous; from the first quote on, Python's csv module goes on in its strict mode.
Both give the line of every row, and neither accepts a row of another length.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv

from dgtrees.errors import DataError
from dgtrees.tables.columns import pieces, shown
from dgtrees.tables.files import blocks_of_lines
from dgtrees.tables.text_values import MISSING_MARKS, NUMBER

__all__ = ["DelimitedBatch", "read_delimited"]

_DELIMITERS = (",", "\t", ";", "|")
_SNIFFED_LINES = 100
_ROWS_A_BATCH = 50_000
_MANY_COLUMNS = 5_000
"""From here on what Arrow's reader takes for a column is more than Python takes for its cells."""

_IS_NUMBER = re.compile(NUMBER)


@dataclass(frozen=True)
class DelimitedBatch:
    """Rows as strings, with the line every row begins in."""

    names: list[str]
    columns: list[pa.Array]
    lines: np.ndarray
    header: bool


def read_delimited(
    stream: BinaryIO,
    source: str,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    decimal: str = ".",
    block_bytes: int = 1 << 22,
) -> Iterator[DelimitedBatch]:
    """Batches of rows; at least one, unless there are no rows at all.

    Examples
    --------
    >>> batch = next(read_delimited(io.BytesIO(b"age;city\\n34;Oslo\\n51;Rome\\n"), "example"))
    >>> batch.names, batch.columns[1].to_pylist(), batch.lines.tolist()
    (['age', 'city'], ['Oslo', 'Rome'], [2, 3])
    """
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\n\r'):
        raise ValueError(f"delimiter must be one character, got {delimiter!r}: try ',' or ';'")
    blocks = blocks_of_lines(stream, source, encoding, block_bytes)
    first_line, block = _first_rows(blocks, source)
    sample = _sample(block)
    if delimiter is None:
        delimiter = _found_delimiter(sample, decimal)
    rows = [row for _, row in _strict_rows(iter(sample), delimiter, source, first_line)]
    if header is None:
        header = _has_header(rows)
    width = len(rows[0])
    names = _checked_names(rows[0], source, first_line) if header else _numbered(width)
    parts = _split_blocks(_chained(first_line, block, blocks), delimiter, source, width)
    skip = int(header)
    for lines, columns in parts:
        dropped = min(skip, len(lines))
        skip -= dropped
        if len(lines) > dropped:
            kept = [column[dropped:] for column in columns]
            yield DelimitedBatch(names, kept, lines[dropped:], header)


def _first_rows(blocks: Iterator[tuple[int, bytes]], source: str) -> tuple[int, bytes]:
    for line, block in blocks:
        text = block.lstrip(b"\n \t") if not block.strip(b"\n \t") else block
        if text:
            blank = len(block) - len(block.lstrip(b"\n"))
            return line + blank, block[blank:]
    raise DataError(f"{source}, line 1: must hold at least one row, got nothing: check the file")


def _chained(
    line: int, block: bytes, rest: Iterator[tuple[int, bytes]]
) -> Iterator[tuple[int, bytes]]:
    yield line, block
    yield from rest


def _sample(block: bytes) -> list[str]:
    """First lines, as many as make whole rows; two at least, however long."""
    first = block.find(b"\n") + 1
    second = block.find(b"\n", first) + 1
    end = max(1 << 20, second if first and second else len(block))
    text = block[:end].decode("utf-8", errors="ignore")
    lines = list(islice(io.StringIO(text), _SNIFFED_LINES + 1))
    if len(lines) > _SNIFFED_LINES or (len(block) > end and not text.endswith("\n")):
        lines = lines[:-1]  # it may be cut off
    if '"' not in text:
        return lines
    # Whole rows only: drop lines from the end until no quote is open.
    while len(lines) > 1 and sum(line.count('"') for line in lines) % 2:
        lines.pop()
    return lines


def _found_delimiter(sample: list[str], decimal: str) -> str:
    """The delimiter that splits all lines into the same number of fields, and into most."""
    found: dict[str, int] = {}
    for delimiter in (*_DELIMITERS, " "):
        try:
            lines = [x.replace("\t", " ") for x in sample] if delimiter == " " else sample
            rows = csv.reader(iter(lines), delimiter=delimiter, skipinitialspace=True)
            lengths = {len(_stripped(row, delimiter)) for row in rows if row}
        except csv.Error:
            continue
        if len(lengths) == 1 and (width := lengths.pop()) > 1:
            found[delimiter] = width
    if ";" in found or decimal == ",":
        found.pop(",", None)  # between semicolons, commas are decimal signs or part of a text
    if set(found) - {" "}:
        found.pop(" ", None)  # words of a text
    if found:
        return max(found, key=lambda delimiter: found[delimiter])
    # No delimiter fits all lines: take the most frequent, and let the odd line be named.
    counts = {d: sum(line.count(d) for line in sample) for d in _DELIMITERS if d != decimal}
    best = max(counts, key=lambda d: counts[d])
    return best if counts[best] else _DELIMITERS[0]


def _stripped(row: list[str], delimiter: str) -> list[str]:
    """For tables aligned with spaces, fields without the empty ones between."""
    return [field for field in row if field] if delimiter == " " else row


def _has_header(rows: list[list[str]]) -> bool:
    """Whether the first row names the columns rather than holding values."""
    first = [field.strip() for field in rows[0]]
    if not any(first):
        return False
    words = [not _IS_NUMBER.match(f) and f not in MISSING_MARKS for f in first]
    if len(rows) == 1:
        return all(words)
    body = list(zip(*[row for row in rows[1:] if len(row) == len(first)], strict=True))
    numbers = [
        all(_IS_NUMBER.match(v.strip()) or v.strip() in MISSING_MARKS for v in values)
        for values in body
    ]
    if any(word and number for word, number in zip(words, numbers, strict=False)):
        return True  # a word above numbers
    if not all(words):
        return False
    if any(any(_IS_NUMBER.match(v.strip()) for v in values) for values in body):
        return True
    # Words everywhere: names do not come again as values of their own column.
    return not any(name in {v.strip() for v in vs} for name, vs in zip(first, body, strict=False))


def _checked_names(row: list[str], source: str, line: int) -> list[str]:
    names = [name.strip() for name in row]
    seen: set[str] = set()
    for position, name in enumerate(names, start=1):
        if not name:
            raise DataError(
                f"{source}, line {line}, column {position}: every column must have a name, got "
                "an empty one: name it (an index that pandas wrote: use index=False), or say that "
                "there is no header"
            )
        if name in seen:
            raise DataError(
                f"{source}, line {line}, column {position}: column names must differ, got "
                f"{shown(name)} twice: rename one"
            )
        seen.add(name)
    return names


def _numbered(width: int) -> list[str]:
    return [f"x{j}" for j in range(width)]


def _split_blocks(
    blocks: Iterator[tuple[int, bytes]], delimiter: str, source: str, width: int
) -> Iterator[tuple[np.ndarray, list[pa.Array]]]:
    for line, block in blocks:
        if b'"' in block:
            yield from _by_row(_chained(line, block, blocks), delimiter, source, width, line)
            return
        columns = _by_arrow(block, delimiter, width)
        if columns is not None:
            yield np.arange(line, line + len(columns[0])), columns
        else:
            yield from _by_row(iter([(line, block)]), delimiter, source, width, line)


def _by_arrow(block: bytes, delimiter: str, width: int) -> list[pa.Array] | None:
    """Columns of a block without quotes, or None where lines and rows do not count alike."""
    if delimiter == " ":
        block = re.sub(rb"(?m)^[ \t]+|[ \t]+$", b"", re.sub(rb"[ \t]+", b" ", block))
    if block.startswith(b"\n") or b"\n\n" in block or width == 1 or width > _MANY_COLUMNS:
        return None
    names = _numbered(width)
    try:
        table = arrow_csv.read_csv(
            pa.py_buffer(block),
            read_options=arrow_csv.ReadOptions(column_names=names, block_size=len(block) + 1),
            parse_options=arrow_csv.ParseOptions(delimiter=delimiter, quote_char=False),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid:
        return None  # the slow way finds out which line it is
    if table.num_rows != block.count(b"\n") + (not block.endswith(b"\n")):
        return None
    return [column.combine_chunks() for column in table.columns]


def _by_row(
    blocks: Iterator[tuple[int, bytes]], delimiter: str, source: str, width: int, first_line: int
) -> Iterator[tuple[np.ndarray, list[pa.Array]]]:
    lines: list[int] = []
    rows: list[list[str]] = []

    texts = (text for _, block in blocks for text in io.StringIO(block.decode("utf-8")))
    for line, row in _strict_rows(texts, delimiter, source, first_line):
        if len(row) != width:
            raise DataError(
                f"{source}, line {line}, column {min(len(row), width) + 1}: rows must have {width} "
                f"fields like the first one, got {len(row)}: fix the line or its quotes, if this "
                "is a table"
            )
        lines.append(line)
        rows.append(row)
        if len(rows) == _ROWS_A_BATCH:
            yield np.array(lines), _transposed(rows)
            lines.clear()
            rows.clear()
    if rows:
        yield np.array(lines), _transposed(rows)


def _transposed(rows: list[list[str]]) -> list[pa.Array]:
    columns = zip(*rows, strict=True)
    if len(rows) < len(rows[0]):
        # Many short columns: one array, cut into pieces, unless it is too long for one.
        cells = pa.array([cell for column in columns for cell in column], type=pa.string())
        if isinstance(cells, pa.Array):
            return pieces(cells, len(rows))
        columns = zip(*rows, strict=True)
    return [pa.array(column, type=pa.string()) for column in columns]


def _strict_rows(
    lines: Iterator[str], delimiter: str, source: str, first_line: int
) -> Iterator[tuple[int, list[str]]]:
    """Rows with the line they begin in; blank lines are no rows."""
    space = delimiter == " "
    texts = (line.replace("\t", " ") for line in lines) if space else lines
    reader = csv.reader(texts, delimiter=delimiter, strict=True, skipinitialspace=space)
    while True:
        begins = first_line + reader.line_num
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(
                f"{source}, line {begins}: quotes must be closed and doubled inside, got: {error}: "
                "fix the line"
            ) from error
        row = _stripped(row, delimiter)
        if row:
            yield begins, row
