"""Compressed files that grow beyond all bounds are refused; cut Arrow streams are, too."""

import bz2
import gzip
import io
import lzma
import zipfile

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import ipc, parquet

from dgtrees.errors import DataError
from dgtrees.paper.archives import DataFile, verify_file
from dgtrees.tables.arrow_messages import MessageStream
from dgtrees.tables.files import open_bytes
from dgtrees.tables.growth import VARIABLE
from dgtrees.tables.table import TableStream, read_table

ROWS = 500_000
SMALL = 0.002  # GiB


def refusal(source, **options) -> str:
    with pytest.raises(DataError, match="bytes must not unpack to more than") as caught:
        read_table(source, **options)
    message = str(caught.value)
    assert "\n" not in message and f"set {VARIABLE} to the GiB it may take" in message
    return message


def constant(rows: int = ROWS) -> pa.Table:
    return pa.table({f"c{j}": np.full(rows, float(j)) for j in range(8)})


def as_parquet(path) -> None:
    parquet.write_table(constant(), path, compression="zstd")


def as_arrow(path, new=ipc.new_file, compression="zstd", table=None) -> None:
    table = constant() if table is None else table
    options = ipc.IpcWriteOptions(compression=compression)
    with new(path, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=max(1, len(table) // 4))


BOMBS = {
    "csv.gz": lambda path: path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 4 * ROWS)),
    "csv.bz2": lambda path: path.write_bytes(bz2.compress(b"a,b\n" + b"1,2\n" * 4 * ROWS)),
    "csv.xz": lambda path: path.write_bytes(lzma.compress(b"a,b\n" + b"1,2\n" * 4 * ROWS)),
    "npz": lambda path: np.savez_compressed(path, X=np.zeros((ROWS, 2))),
    "parquet": as_parquet,
    "arrow": as_arrow,
    "arrows": lambda path: as_arrow(path, ipc.new_stream),
    "nulls.arrow": lambda path: as_arrow(path, table=pa.table({"a": pa.nulls(10 * ROWS)})),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_bombs_are_refused_and_the_limit_can_be_raised(kind, tmp_path, monkeypatch):
    path = tmp_path / f"bomb.{kind}"
    BOMBS[kind](path)
    assert path.stat().st_size < SMALL * 2**30 / 10
    monkeypatch.setenv(VARIABLE, str(SMALL))
    message = refusal(path)
    assert message.startswith(f"{path}: ") and "more than 0.002 GiB" in message
    if kind in ("csv.gz", "arrows"):
        with pytest.raises(DataError, match=VARIABLE):
            list(TableStream(path))
    if "nulls" not in kind:
        monkeypatch.setenv(VARIABLE, "1")
        assert len(read_table(path)) in (ROWS, 4 * ROWS)


def drained(path) -> int:
    with open_bytes(path) as stream:
        return sum(len(piece) for piece in iter(lambda: stream.read(1 << 22), b""))


def test_the_limit_without_a_word(tmp_path, monkeypatch):
    """256 MiB, or 200 times the file: a member of 16 MiB, written again and again."""
    member = gzip.compress(b"1,2\n" * (1 << 22), compresslevel=9)
    assert len(member) * 200 < 1 << 24
    path = tmp_path / "bomb.csv.gz"
    monkeypatch.delenv(VARIABLE, raising=False)
    path.write_bytes(member * 16)
    assert drained(path) == 1 << 28
    path.write_bytes(member * 17)
    with pytest.raises(DataError, match=r"must not unpack to more than 0\.25 GiB, got more"):
        drained(path)
    # A file of the same content that is not packed so tightly may grow as much as it likes.
    noise = np.random.default_rng(0).bytes(1 << 21)
    path.write_bytes(gzip.compress(noise) + member * 17)
    assert drained(path) == 17 * (1 << 24) + (1 << 21)


def test_what_the_limit_may_be(tmp_path, monkeypatch):
    path = tmp_path / "small.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n"))
    for wrong in ("much", "0", "-1", "nan"):
        monkeypatch.setenv(VARIABLE, wrong)
        with pytest.raises(DataError, match=f"{VARIABLE} must be a number above 0, got '{wrong}'"):
            read_table(path)


@pytest.mark.parametrize("kind", ["gz", "zip"])
def test_published_files_are_bounded(kind, tmp_path, monkeypatch):
    path = tmp_path / f"data.txt.{kind}"
    content = bytes(4 << 20)
    if kind == "gz":
        path.write_bytes(gzip.compress(content))
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("data.txt", content)
    verify_file(DataFile("data.txt"), path)
    monkeypatch.setenv(VARIABLE, str(SMALL))
    with pytest.raises(DataError, match=r"must not unpack to more than 0\.002 GiB"):
        verify_file(DataFile("data.txt"), path)


# What Arrow's messages say of themselves

TABLE = pa.table(
    {
        "a": np.arange(1000.0),
        "b": pa.array(["x", None] * 500).dictionary_encode(),
        "c": pa.array(np.full(1000, 2**32 - 1)),  # FF FF FF FF 00 00 00 00, like the end mark
    }
)


def arrow_stream(compression=None) -> bytes:
    buffer = io.BytesIO()
    as_arrow(buffer, ipc.new_stream, compression, TABLE)
    return buffer.getvalue()


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_messages_are_measured_as_arrow_unpacks_them(compression):
    data = arrow_stream(compression)
    messages = MessageStream(io.BytesIO(data), "example")
    table = ipc.open_stream(io.BufferedReader(messages)).read_all()
    assert table.equals(TABLE) and messages._packed == len(data)
    size = table.get_total_buffer_size()
    assert size <= messages._unpacked <= 1.1 * size + 1000


def ends(data: bytes) -> list[int]:
    """Where the messages of a stream end: schema, dictionary, four batches, end mark."""
    messages, found = MessageStream(io.BytesIO(data), "example"), [0]
    while messages.read(1 << 20):  # eight bytes, then the rest of the message
        found.append(messages._packed)
    return found[2::2] + found[-1:]


@pytest.mark.parametrize("compression", [None, "zstd"])
def test_an_arrow_stream_cut_between_batches_is_refused(compression, tmp_path):
    data = arrow_stream(compression)
    *cuts, whole = ends(data)
    assert whole == len(data) == cuts[-1] + 8 and len(cuts) >= 6
    path = tmp_path / "cut.arrows"
    path.write_bytes(data)
    assert len(read_table(path)) == 1000
    for cut, rows in zip(cuts[-4:], (250, 500, 750, 1000), strict=True):
        path.write_bytes(data[:cut])
        with pytest.raises(
            DataError, match=f"end with its end mark, got {rows:,} rows and no mark"
        ):
            read_table(path)
        with pytest.raises(DataError, match="it is cut off"):
            list(TableStream(path, "a"))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(arrow_stream()) - 1))
def test_an_arrow_stream_cut_anywhere_is_refused(cut):
    with pytest.raises(DataError):
        read_table(io.BytesIO(arrow_stream()[:cut]), format="arrow")


def test_streams_of_other_writers_are_whole(tmp_path):
    path = tmp_path / "polars.arrows"
    pl.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}).write_ipc_stream(path)
    assert len(read_table(path, kinds={"b": "category"})) == 2
