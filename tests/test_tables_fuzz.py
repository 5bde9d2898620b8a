"""Malformed files of every format become a Table or a DataError; never a wrong number."""

import csv
import io
import math
from functools import partial

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyarrow import feather, parquet

from dgtrees.errors import DataError
from dgtrees.tables.delimited import read_delimited
from dgtrees.tables.files import blocks_of_lines
from dgtrees.tables.table import Table, read_table
from test_tables_table import ARFF, CSV, FRAME, values

# Fuzz: a Table or a DataError that names the file (and the line, in text files); never a wrong
# number.

FUZZ = settings(
    max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
edits = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.sampled_from(["set", "insert", "delete", "cut", "repeat"]),
        st.one_of(
            st.binary(min_size=1, max_size=3),
            st.sampled_from([b",", b'"', b"\n", b"\r", b";", b":", b" ", b"-", b"e", b".", b"nan"]),
        ),
    ),
    max_size=6,
)


def edited(data: bytes, changes) -> bytes:
    for where, what, piece in changes:
        at = int(where * len(data))
        if what == "set":
            data = data[:at] + piece + data[at + len(piece) :]
        elif what == "insert":
            data = data[:at] + piece + data[at:]
        elif what == "delete":
            data = data[:at] + data[at + len(piece) :]
        elif what == "cut":
            data = data[:at]
        else:
            data = data[:at] + data[at : at + 20] * 2 + data[at + 20 :]
    return data


def outcome(data: bytes, format: str, line: bool, **options) -> Table | None:
    source = io.BytesIO(data)
    source.name = "fuzzed.file"
    try:
        return read_table(source, format=format, **options)
    except DataError as error:
        message = str(error)
        assert message.startswith("fuzzed.file") and "\n" not in message
        # No line is to blame for a whole column, nor where decompressing fails.
        whole = message.startswith(("fuzzed.file, column", "fuzzed.file: damaged compressed"))
        assert not line or "line " in message or whole, message
        return None


def number(cell: str) -> float | None:
    cell = cell.strip()
    if cell in ("", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NULL", "null", "None"):
        return None
    value = float(cell)
    return None if math.isnan(value) else value


@FUZZ
@given(st.one_of(edits.map(lambda e: edited(CSV, e)), st.binary(max_size=60)))
@example(b"1,2\n\x0c3,4\n")
def test_fuzz_csv(data):
    table = outcome(data, "csv", line=True, delimiter=",", header=True)
    if table is None:
        return
    # The oracle: Python's csv module and float.
    text = next(b for _, b in blocks_of_lines(io.BytesIO(data), "", block_bytes=1 << 20)).decode()
    text = "".join(b.decode() for _, b in blocks_of_lines(io.BytesIO(data), ""))
    rows = [row for row in csv.reader(io.StringIO(text, newline="\n"), strict=True) if row]
    names = [name.strip() for name in rows[0]]
    assert table.X.column_names == names and len(table) == len(rows) - 1
    for j, name in enumerate(names):
        cells = [row[j] for row in rows[1:]]
        if table.kinds[name] == "number" and not {c.strip().lower() for c in cells} & {
            "true",
            "false",
        }:
            assert values(table, name) == [number(cell) for cell in cells]
        elif table.kinds[name] == "category":
            found = values(table, name)
            assert all(v is None or v == c.strip() for v, c in zip(found, cells, strict=True))


@FUZZ
@given(st.one_of(edits.map(lambda e: edited(CSV, e)), st.binary(max_size=60)))
def test_fuzz_csv_of_unknown_shape(data):
    outcome(data, "csv", line=True)


SVM = b"1 1:0.5 2:-3e2 7:1\n-1 2:4\n+1 qid:1 3:.5 # end\n2 1:1 5:0\n"


@FUZZ
@given(
    st.one_of(
        edits.map(lambda e: edited(SVM.replace(b"qid:1 ", b""), e)),
        edits.map(lambda e: edited(SVM, e)),
        st.binary(max_size=40),
    )
)
@example(b"1:2 3\n")
@example(b"1 2:3-4 5:6\n")
@example(b"1 2:3 5\n4:6\n")
def test_fuzz_svmlight(data):
    table = outcome(data, "svmlight", line=True)
    if table is None:
        return
    text = b"".join(b for _, b in blocks_of_lines(io.BytesIO(data), "")).decode()
    lines = [t.split("#")[0].split() for t in text.split("\n")]
    lines = [fields for fields in lines if fields]
    assert len(table) == len(lines)
    for row, fields in enumerate(lines):
        entries = dict(f.split(":") for f in fields[1:] if not f.startswith("qid:"))
        for name in table.X.column_names:
            given_there = {f"x{int(k)}": float(v) for k, v in entries.items()}
            assert table.X.column(name)[row].as_py() == given_there.get(name, 0.0)


@FUZZ
@given(st.one_of(edits.map(lambda e: edited(ARFF, e)), st.binary(max_size=60)))
def test_fuzz_arff(data):
    table = outcome(data, "arff", line=False)
    if table is not None:
        cells = {c.strip(" '\"{}") for c in data.decode("latin-1").replace("\n", ",").split(",")}
        parts = cells | {c.split(" ")[-1] for c in cells}
        for name, kind in table.kinds.items():
            if kind == "number":
                for value in values(table, name):
                    assert value is None or value == 0 or any(_is(value, c) for c in parts)


def _is(value: float, cell: str) -> bool:
    try:
        return float(cell) == value
    except ValueError:
        return False


def _binary(write) -> bytes:
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


NPZ = _binary(lambda b: np.savez(b, X=np.arange(12.0).reshape(4, 3), y=np.arange(4) % 2))
PARQUET = _binary(
    lambda b: parquet.write_table(pa.table(FRAME), b, write_page_checksum=True, compression="none")
)
ARROW = _binary(lambda b: feather.write_feather(pa.table(FRAME), b, compression="uncompressed"))


@FUZZ
@given(st.one_of(edits.map(lambda e: edited(NPZ, e)), st.binary(max_size=60)))
def test_fuzz_npz(data):
    table = outcome(data, "npz", line=False)
    if table is not None and table.X.column_names == ["x0", "x1", "x2"]:
        assert values(table, "x1") == [1, 4, 7, 10][: len(table)]


@FUZZ
@given(st.one_of(edits.map(lambda e: edited(PARQUET, e)), st.binary(max_size=60)))
def test_fuzz_parquet(data):
    outcome(data, "parquet", line=False)


@FUZZ
@given(st.one_of(edits.map(lambda e: edited(ARROW, e)), st.binary(max_size=60)))
def test_fuzz_arrow(data):
    outcome(data, "arrow", line=False)


def _messages(new, buffer) -> None:
    table, options = pa.table(FRAME), pa.ipc.IpcWriteOptions(compression="zstd")
    with new(buffer, table.schema, options=options) as writer:
        writer.write_table(table)


COMPRESSED = [_binary(partial(_messages, new)) for new in (pa.ipc.new_stream, pa.ipc.new_file)]


@FUZZ
@given(st.sampled_from(COMPRESSED), edits)
def test_fuzz_compressed_arrow(data, changes):
    outcome(edited(data, changes), "arrow", line=False)


def test_column_names_that_are_no_text():
    """Arrow's names are UTF-8, and nobody has looked."""
    for data in COMPRESSED:
        assert outcome(data.replace(b"city", b"c\xffty"), "arrow", line=False) is None


@given(
    st.lists(
        st.lists(st.text("ab1.5 -", max_size=4), min_size=3, max_size=3), min_size=1, max_size=30
    ),
    st.integers(8, 64),
)
@settings(max_examples=200, deadline=None)
def test_fast_and_strict_readers_agree(rows, block_bytes):
    """Quotes anywhere switch readers; the strings must not depend on which one read them."""
    plain = "\n".join(",".join(row) for row in rows) + "\n"
    quoted = "\n".join(",".join(f'"{cell}"' for cell in row) for row in rows) + "\n"
    options = {"delimiter": ",", "header": False, "block_bytes": block_bytes}
    found = []
    for text in (plain, quoted):
        parts = list(read_delimited(io.BytesIO(text.encode()), "x", **options))
        columns = [[v for p in parts for v in p.columns[j].to_pylist()] for j in range(3)]
        found.append((columns, np.concatenate([p.lines for p in parts]).tolist()))
    assert found[0] == found[1]
    assert found[0][0] == [list(column) for column in zip(*rows, strict=True)]
