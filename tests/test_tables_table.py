"""Files and frames become Tables, or errors that say where and what to do."""

import bz2
import gzip
import io
import lzma

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from dgtrees import DGTClassifier, DGTRegressor
from dgtrees.errors import DataError
from dgtrees.tables.encoder import columns_of
from dgtrees.tables.files import blocks_of_lines
from dgtrees.tables.table import Table, TableStream, read_table

CSV = b"age,city,size,buys\n34,Oslo,1.5,no\n,Rome,2,yes\n51,Rome,NA,yes\n29,?,-3e2,no\n"


def values(table: Table, name: str) -> list:
    return table.X.column(name).to_pylist()


def read(data: bytes, target=None, **options) -> Table:
    return read_table(io.BytesIO(data), target, **options)


def refused(data, target=None, **options) -> str:
    source = io.BytesIO(data) if isinstance(data, bytes) else data
    with pytest.raises(DataError) as caught:
        read_table(source, target, **{"on_unusable": "raise", **options})
    message = str(caught.value)
    assert "\n" not in message
    return message


# Columns and targets


def test_csv_with_strings_and_gaps():
    table = read(CSV, "buys")
    assert table.kinds == {"age": "number", "city": "category", "size": "number"}
    assert values(table, "age") == [34, None, 51, 29]
    assert values(table, "city") == ["Oslo", "Rome", "Rome", None]
    assert values(table, "size") == [1.5, 2, None, -300]
    assert table.task == "classification" and table.y.tolist() == ["no", "yes", "yes", "no"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
def test_delimiters_are_found(delimiter):
    data = b"a,b,c\n1,2,x\n3,4,y\n".replace(b",", delimiter.encode())
    assert values(read(data), "b") == [2, 4]


def test_spaces_may_align_columns():
    table = read(b"  1   2.5\t3\n 10  20   30\n")
    assert [values(table, n) for n in ("x0", "x1", "x2")] == [[1, 10], [2.5, 20], [3, 30]]


@pytest.mark.parametrize(
    ("data", "header"),
    [
        (b"a,b\n1,2\n", True),
        (b"1,2\n3,4\n", False),
        (b"a,1\nb,2\n", False),
        (b"name,sex\nx,m\ny,f\n", True),
        (b"m,x\nf,y\nm,z\n", False),
        (b"a,b\n", True),
    ],
)
def test_headers_are_found(data, header):
    if data == b"a,b\n":
        assert "at least one row" in refused(data)
        return
    names = read(data).X.column_names
    assert (names == ["x0", "x1"]) != header


def test_header_can_be_said():
    assert len(read(b"a,b\nc,d\n", header=False)) == 2
    assert read(b"1,2\n3,4\n", header=True).X.column_names == ["1", "2"]


@pytest.mark.parametrize("position", [3, -1, "3", "-1", "buys"])
def test_target_by_name_or_position(position):
    assert read(CSV, position).target == "buys"


@pytest.mark.parametrize(
    ("cells", "task", "first"),
    [
        (["a", "b"] * 4, "classification", "a"),
        (["1", "2"] * 4, "classification", 1),
        (["1.0", "2.0"] * 4, "classification", 1),
        (["1.5", "2"] * 4, "regression", 1.5),
        ([str(i) for i in range(60)], "regression", 0.0),
        ([str(i) for i in range(6)], "regression", 0.0),
        (["true", "false"] * 4, "classification", "true"),
        (["1", "x"] * 4, "classification", "1"),
    ],
)
def test_task_is_inferred(cells, task, first):
    data = "x,y\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(cells))
    table = read(data.encode(), "y")
    assert table.task == task and table.y[0] == first


def test_task_can_be_said():
    data = b"x,y\n1,1\n2,2\n3,1\n4,2\n"
    assert read(data, "y", task="regression").y.dtype == float
    assert read(b"x,y\n1,1.5\n2,2.5\n", "y", task="classification").y.tolist() == ["1.5", "2.5"]
    assert "column 'y'" in refused(b"x,y\n1,a\n2,b\n", "y", task="regression")
    with pytest.raises(ValueError, match="task must be"):
        read(data, "y", task="ranking")


def test_weights():
    table = read(b"x,w,y\n1,2,0\n2,0.5,1\n", "y", weight="w")
    assert table.weight.tolist() == [2, 0.5] and table.X.column_names == ["x"]
    assert "line 3, column 'w'" in refused(b"x,w,y\n1,2,0\n2,-1,1\n", "y", weight="w")
    assert "missing" in refused(b"x,w,y\n1,2,0\n2,,1\n", "y", weight="w")


def test_drop_kinds_and_features():
    assert read(CSV, "buys", drop=["city"]).X.column_names == ["age", "size"]
    data = b"zip,v\n0150,1\n00187,2\n"
    assert values(read(data, kinds={"zip": "category"}), "zip") == ["0150", "00187"]
    assert read(CSV, features=["size", "age"]).X.column_names == ["size", "age"]
    assert "none named 'height'" in refused(CSV, features=["height"])
    # Without a header, as many columns as the model has are its columns.
    assert read(b"1,2\n3,4\n", features=["a", "b"]).X.column_names == ["a", "b"]


def test_booleans_are_numbers_as_in_pandas():
    assert values(read(b"a,b\nTrue,1\nfalse,2\n,3\n"), "a") == [1, 0, None]


def test_decimal_comma():
    data = b"a;b\n1,5;x\n2;y\n"
    assert values(read(data, decimal=","), "a") == [1.5, 2]
    assert "decimal=','" in refused(b"a;b\n1,5;x\n2,5;y\n")
    assert "decimal=','" in refused(b"a;b\n1,5;x\n2;y\n3;z\n")
    assert "line 2" in refused(b"a;b\n1.000,5;x\n2;y\n", kinds={"a": "number"}, decimal=",")


def test_kinds_are_the_same_in_every_part():
    """What training saw decides, whatever a later file or batch happens to hold."""
    flags = b"a,b\n1,true\n2,false\n3,\n"
    for kinds in (None, {"b": "number"}):
        assert values(read(flags, kinds=kinds), "b") == [1, 0, None]
    codes = b"code,y\n1.0,p\n2.0,q\n,p\n"
    assert values(read(codes, "y", kinds={"code": "category"}), "code") == ["1", "2", None]
    table = pa.table({"code": [1.0, 2.0, None]})
    assert read_table(table, kinds={"code": "category"}).X.column("code").to_pylist() == [
        "1",
        "2",
        None,
    ]


def test_columns_by_position():
    assert read(CSV, "buys", drop=["0"]).X.column_names == ["city", "size"]
    assert read(CSV, "buys", kinds={"0": "category"}).kinds["age"] == "category"
    for wrong in ("--1", "\u00b2", "99"):
        assert "target must be" in refused(CSV, wrong)


def test_mistakes_in_a_target_are_not_classes():
    rows = "".join(f"{i},{i * 1.5 + 0.1}\n" for i in range(200))
    assert "line 202, column 'y'" in refused(f"x,y\n{rows}3,5l\n".encode(), "y")
    assert "line 3, column 'y'" in refused(b"x,y\n1,yes\n2,N/A\n3,no\n", "y")
    labels = "".join(f"{i},class {i}\n" for i in range(10_001))
    assert "at most 10,000 classes" in refused(f"x,y\n{labels}".encode(), "y")


def test_delimiters_are_not_mistaken():
    names = read(b"first name,last name\nAnn Lee,Bob Ray\nCy Lo,Di Mo\n").X.column_names
    assert names == ["first name", "last name"]
    data = b"1,5;2,5;0\n3,5;4,5;1\n2,5;4,5;1\n3,5;1,5;0\n"
    assert values(read(data, -1, decimal=","), "x0") == [1.5, 3.5, 2.5, 3.5]
    assert "decimal" in refused(data, -1)
    years = b"country,2019,2020,y\nNO,1,2,0\nIT,3,4,1\n"
    assert read(years, "y").X.column_names == ["country", "2019", "2020"]
    assert "no header was found" in refused(b"2019,2020,y\n1,2,p\n3,4,q\n", "y")


@pytest.mark.parametrize("cells", [["5%", "7%"], ["$3.50", "$4"], ["1,234,567", "2,000,000"]])
def test_amounts_are_refused(cells):
    rows = "".join(f'"{cell}",{i}\n' for i, cell in enumerate(cells))
    assert "plain numbers" in refused(f"a,b\n{rows}".encode())


def test_sparse_files_have_columns_of_their_own():
    assert "none named 'age'" in refused(b"1 1:5\n-1 2:3\n", features=["age", "x1"])


def test_types_that_cannot_be_used_are_named(tmp_path):
    for column in (pa.array([[1], [2]]), pa.array([b"a", b"\xff"]), pa.array([{"a": 1}] * 2)):
        table = pa.table({"odd": column, "y": [0, 1]})
        for options in ({"kinds": {"odd": "category"}}, {}):
            assert "column 'odd'" in refused(table, "y", **options)
        with pytest.raises(DataError, match="column 'odd'"):
            read_table(table, "odd")
    half = pa.table({"h": pa.array(np.array([1, 2], dtype=np.float16))})
    assert values(read_table(half, kinds={"h": "category"}), "h") == ["1", "2"]
    view = pa.table({"a": pa.array(["u", "v"] * 4).cast(pa.string_view()), "b": [1, 2] * 4})
    assert read_table(view, "a").task == "classification"
    np.savez(tmp_path / "big.npz", X=np.array([[1, 2], [3, 4]], dtype=">i4"), y=["a", "b"])
    assert values(read_table(tmp_path / "big.npz"), "x1") == [2, 4]
    with pytest.raises(TypeError, match="wrap arrays in a DataFrame"):
        read_table(np.zeros((3, 2)))


def test_arrow_streams_and_spreadsheets(tmp_path):
    table = pa.table(FRAME)
    with pa.ipc.new_stream(tmp_path / "s.bin", table.schema) as writer:
        writer.write_table(table)
    assert len(read_table(tmp_path / "s.bin")) == 3
    (tmp_path / "s.xlsx").write_bytes(b"PK\x03\x04")
    assert "save it as CSV" in refused(tmp_path / "s.xlsx")


@pytest.mark.parametrize(
    ("data", "where", "what"),
    [
        (b"a,b\n1,2\n3\n", "line 3, column 2", "2 fields"),
        (b"a,b\n1,2\n3,4,5\n", "line 3, column 3", "2 fields"),
        (b'a,b\n1,"2\n3,4\n', "line 2", "quotes"),
        (b'a,b\n1,"x\ny"\n3\n', "line 4, column 2", "2 fields"),
        (b"a,a\n1,2\n", "line 1, column 2", "'a' twice"),
        (b",a\n0,2\n", "line 1, column 1", "an empty one"),
        (b"a,b\n1,x\nz,y\n3,w\n", "line 3, column 'a'", "got 'z'"),
        (b"a,b\n1,2\ninf,3\n", "line 3, column 'a'", "finite"),
        (b"a,b\n1,2\n1e999,3\n", "line 3, column 'a'", "finite"),
        (b"", "line 1", "at least one row"),
        (b"\n \n", "line 1", "at least one row"),
        (b"a,b\n1,\xff\n", "line 2, byte 3", "utf-8"),
        (b"a,b\n1,\x00\n", "line 2", "zero bytes"),
        (b"d,b\n20:15,1\n21:30,2\n", "column 'd'", "dates or times"),
        (b"d,b\n1/2/2020,1\n3/4/2020,2\n", "column 'd'", "day and month"),
        (b"a,b\n\n\n1,2\n\n3\n", "line 6, column 2", "2 fields"),
    ],
)
def test_errors_name_file_line_and_column(tmp_path, data, where, what):
    path = tmp_path / "train.csv"
    path.write_bytes(data)
    message = refused(path)
    assert message.startswith(f"{path}, ") and where in message and what in message


def test_what_somebody_declared_or_a_model_expects_is_never_left_out():
    table = pa.table({"odd": pa.array([[1], [2]]), "x": [1, 2], "y": [0, 1]})
    message = refused(table, "y", kinds={"odd": "category"}, on_unusable="warn")
    assert "column 'odd'" in message
    assert "column 'odd'" in refused(table, features=["odd", "x"], on_unusable="warn")


def test_text_and_missing_targets_are_refused():
    rows = "".join(f"comment number {i},{i % 2}\n" for i in range(100))
    message = refused(f"said,y\n{rows}".encode(), "y")
    assert "free text" in message and "drop the column" in message
    assert "line 3, column 'y'" in refused(b"x,y\n1,0\n2,\n3,1\n", "y")
    assert "the columns are x, y" in refused(b"x,y\n1,0\n", "z")
    assert "no such file" in refused("nowhere/at/all.csv")


def test_encodings():
    text = "name,v\nÅse,1\nJürgen,2\n"
    assert values(read(text.encode("latin-1"), encoding="latin-1"), "name") == ["Åse", "Jürgen"]
    for encoding in ("utf-8-sig", "utf-16", "utf-32"):
        assert values(read(text.encode(encoding)), "name") == ["Åse", "Jürgen"]
    assert "unknown encoding" in refused(b"a\n1\n", encoding="klingon")


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_line_ends(end):
    table = read(CSV.replace(b"\n", end), "buys")
    assert values(table, "age") == [34, None, 51, 29]


@pytest.mark.parametrize("opener", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_files(opener, tmp_path):
    path = tmp_path / "x.csv.z"
    path.write_bytes(opener(CSV))
    assert len(read_table(path, "buys")) == 4
    path.write_bytes(opener(CSV * 50)[:-20])
    assert "damaged compressed file" in refused(path)


# Other formats


def test_svmlight():
    table = read(b"1 1:0.5 3:2 # note\n-1 qid:3 2:1\n".replace(b"qid:3 ", b""))
    assert table.y.tolist() == [1, -1] and table.target == "label"
    assert [values(table, f"x{j}") for j in (1, 2, 3)] == [[0.5, 0], [0, 1], [2, 0]]
    later = read(b"1 2:7\n", features=["x1", "x2", "x3"])
    assert values(later, "x3") == [0] and values(later, "x2") == [7]


@pytest.mark.parametrize(
    ("data", "where"),
    [
        (b"1 1:2\n1 2:3 1:4\n", "line 2, column 3"),
        (b"1 1:2\n\nx 1:1\n", "line 3, column 1"),
        (b"1 1:2 3\n", "line 1, column 3"),
        (b"1 1:nan\n", "line 1, column 2"),
        (b"1 1:1_0\n", "line 1, column 2"),
        (b"1 1e0:1\n", "line 1, column 2"),
        (b"1 qid:1 1:2\n1 1:2\n", "line 2"),
    ],
)
def test_svmlight_errors(data, where):
    assert where in refused(data, format="svmlight")


ARFF = b"""% a comment
@RELATION shop
@attribute age NUMERIC
@attribute 'home town' {Oslo, 'New York', "x,y"}
@attribute note string
@data
34, Oslo, hello
?, 'New York', 'it\\'s'
% between
51,"x,y",?
"""


def test_arff():
    table = read(ARFF)
    assert values(table, "age") == [34, None, 51]
    assert values(table, "home town") == ["Oslo", "New York", "x,y"]
    assert values(table, "note") == ["hello", "it's", None]
    sparse = ARFF.split(b"@data")[0] + b"@data\n{0 3, 1 'New York'}\n{}\n"
    assert values(read(sparse), "age") == [3, 0]
    assert values(read(sparse), "home town") == ["New York", "Oslo"]
    noted = b"@attribute c {x,y} % note\n@attribute n real\n@data\nx,1\ny,2\n{0\ty, 1\t5}\n"
    table = read(noted, format="arff")
    assert values(table, "c") == ["x", "y", "y"] and values(table, "n") == [1, 2, 5]


@pytest.mark.parametrize(
    ("row", "what"),
    [
        (b"34, Oslo", "3 values"),
        (b"x, Oslo, a", "column 'age'"),
        (b"3, Rome, a", "declared values"),
        (b"3, 'Oslo, a", "quotes"),
        (b"{9 1}", "sparse entries"),
    ],
)
def test_arff_errors(row, what):
    message = refused(ARFF + row + b"\n")
    assert "line 11" in message and what in message


def test_npz(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, X=[[1.0, 2], [3, np.nan]], y=["a", "b"], sample_weight=[1, 2])
    table = read_table(path)
    assert table.y.tolist() == ["a", "b"] and table.weight.tolist() == [1, 2]
    assert values(table, "x1") == [2, None]
    np.savez_compressed(path, age=[1, 2], city=["a", "b"])
    assert read_table(path, "city").X.column_names == ["age"]
    np.savez(path, X=np.zeros((2, 2)), y=[1])
    assert "of one length" in refused(path)
    np.savez(path, X=np.array([[object()]], dtype=object))
    assert "not a readable npz" in refused(path)


FRAME = {"age": [34.0, None, 51.0], "city": ["Oslo", "Rome", None], "n": [1, 2, 3]}


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "parquet", "feather", "category"])
def test_frames_and_binary_files(kind, tmp_path):
    source = pd.DataFrame(FRAME)
    if kind == "polars":
        source = pl.DataFrame(FRAME)
    elif kind == "arrow":
        source = pa.table(FRAME)
    elif kind == "category":
        source["city"] = source["city"].astype("category")
    elif kind in ("parquet", "feather"):
        path = tmp_path / f"data.{kind}"
        table = pa.table(FRAME)
        parquet.write_table(table, path) if kind == "parquet" else feather.write_feather(
            table, str(path)
        )
        source = path
    table = read_table(source, "n", task="regression")
    assert table.kinds == {"age": "number", "city": "category"}
    assert values(table, "age") == [34, None, 51]
    assert values(table, "city") == ["Oslo", "Rome", None]


def test_frames_that_cannot_be():
    assert "dates" in refused(pd.DataFrame({"d": pd.to_timedelta([1], unit="h")}))
    assert "dates" in refused(pa.table({"d": pa.array([1], pa.time32("s"))}))
    assert "one number, name or date" in refused(pa.table({"d": [[1, 2]]}))
    assert "row 2, column 'm'" in refused(pd.DataFrame({"m": [1, "a"]}))
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    assert "'a' twice" in refused(twice)
    assert "row 2, column 'v'" in refused(pd.DataFrame({"v": [1.0, np.inf]}))


def test_estimators_take_a_table_as_they_take_its_frame(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=200).round(3),
            "b": rng.normal(size=200).round(3),
            "c": rng.choice(["u", "v", "w"], 200),
        }
    )
    frame.loc[::9, "a"] = np.nan
    frame.loc[::7, "c"] = None
    frame["y"] = np.where(frame["b"] + (frame["c"] == "u") > 0.3, "yes", "no")
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    table = read_table(path, "y")
    fit = DGTClassifier(max_depth=2, max_epochs=3, random_state=0)
    of_frame = fit.fit(frame.drop(columns="y"), frame["y"]).predict_proba(frame.drop(columns="y"))
    of_table = fit.fit(table.X, table.y).predict_proba(table.X)
    assert np.array_equal(of_frame, of_table)
    assert fit.feature_names_in_.tolist() == ["a", "b", "c"]
    numbers = read_table(path, "y", drop=["c"]).X
    assert fit.fit(numbers, table.y).feature_names_in_.tolist() == ["a", "b"]


# Streams


def test_a_stream_is_the_file_in_pieces(tmp_path):
    path = tmp_path / "big.csv"
    path.write_bytes(b"a,b,y\n" + b"1,u,0\n2,v,1\n" * 5000)
    stream = TableStream(path, "y")
    assert stream.classes.tolist() == [0, 1] and stream.n_rows == 10_000
    assert sum(len(part) for part in stream) == sum(len(part) for part in stream) == 10_000
    table = pa.table({"a": np.arange(200_000) % 7, "y": np.arange(200_000) % 2})
    parquet.write_table(table, tmp_path / "big.parquet", row_group_size=50_000)
    parts = list(TableStream(tmp_path / "big.parquet", "y"))
    assert len(parts) > 1 and sum(map(len, parts)) == 200_000


def test_blocks_hold_whole_lines():
    data = b"".join(b"%d,%d\r\n" % (i, i) for i in range(1000))
    blocks = list(blocks_of_lines(io.BytesIO(data), "x", block_bytes=100))
    assert len(blocks) > 10
    assert b"".join(block for _, block in blocks) == data.replace(b"\r\n", b"\n")
    for line, block in blocks:
        assert int(block.split(b",")[0]) == line - 1


@pytest.mark.parametrize("kind", ["parquet", "arrow", "table"])
def test_row_labels_of_pandas_are_no_column(kind, tmp_path):
    frame = pd.DataFrame({"a": [3.0, 1.0, 2.0], "y": ["u", "v", "u"]}).sort_values("a")
    for named in (frame, frame.rename_axis("id")):
        table = source = pa.Table.from_pandas(named)
        if kind == "parquet":
            named.to_parquet(source := tmp_path / "t.parquet")
        elif kind == "arrow":
            feather.write_feather(table, source := tmp_path / "t.arrow")
        found = read_table(source, "y").X.column_names
        assert found == (["a"] if named is frame else ["a", "id"])
    # A column of that name which is not pandas' index stays.
    assert read_table(pa.table({"__index_level_0__": [1.0, 2.0]})).X.num_columns == 1


def test_an_estimator_does_not_learn_from_row_labels():
    frame = pd.DataFrame({"a": np.arange(40) % 7, "b": list("uv") * 20}).sample(40, random_state=0)
    for columns in (["a"], ["a", "b"]):  # numbers only, and with a category
        table = pa.Table.from_pandas(frame[columns])
        assert table.num_columns == len(columns) + 1
        model = DGTRegressor(max_depth=2, max_epochs=1).fit(table, frame["a"])
        assert model.feature_names_in_.tolist() == columns
        assert np.array_equal(model.predict(table), model.predict(frame[columns]))
    assert [name for name, _ in columns_of(table)] == columns
