"""Wide tables and long lines: what a reader does grows with the bytes, not with their square.

Nothing is timed. The inputs are such that one quadratic step anywhere would take many minutes.
"""

import io

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dgtrees import DGTClassifier
from dgtrees.errors import DataError
from dgtrees.tables import arff
from dgtrees.tables.encoder import Encoder, columns_of
from dgtrees.tables.table import read_table

WIDTH = 60_000
NAMES = [f"c{j}" for j in range(WIDTH)]
LONG = 100_000


def delimited(mark: str, cell: str = "2.5") -> bytes:
    rows = [[*NAMES, "t"], ["1.5"] * WIDTH + ["0"], [cell] * WIDTH + ["1"]]
    return "".join(mark.join(row) + "\n" for row in rows).encode()


def svmlight() -> bytes:
    entries = " ".join(f"{j + 1}:1.5" for j in range(WIDTH))
    return f"0 {entries}\n1 {entries.replace(':1.5', ':2.5')}\n".encode()


def attributes(kind: str) -> str:
    return "".join(f"@attribute {name} {kind}\n" for name in [*NAMES, "t"])


def dense_arff() -> bytes:
    rows = ",".join(["1.5"] * WIDTH + ["0"]) + "\n" + ",".join(["2.5"] * WIDTH + ["1"]) + "\n"
    return f"{attributes('numeric')}@data\n{rows}".encode()


@pytest.mark.parametrize(
    ("data", "last"),
    [
        (delimited(","), 2.5),
        (delimited("\t"), 2.5),
        (delimited(",").replace(b"c7,", b'"c7",'), 2.5),
        (delimited(";", ""), None),
        (svmlight(), 2.5),
        (dense_arff(), 2.5),
        (f"{attributes('real')}@data\n{{0 1.5}}\n{{{WIDTH - 1} 2.5,{WIDTH} 1}}\n".encode(), 2.5),
    ],
    ids=["csv", "tsv", "quoted", "gaps", "svmlight", "arff", "sparse arff"],
)
def test_wide_tables(data, last):
    target = "label" if data[1:2] == b" " else "t"
    table = read_table(io.BytesIO(data), target)
    assert table.X.shape == (2, WIDTH) and table.y.tolist() == [0, 1]
    assert table.X.column(0)[0].as_py() == 1.5 and table.X.column(WIDTH - 1)[1].as_py() == last


@pytest.mark.parametrize("features", [None, NAMES])
def test_wide_tables_for_a_model(features):
    kinds = dict.fromkeys(NAMES, "number")
    table = read_table(io.BytesIO(delimited(",")), "t", kinds=kinds, features=features)
    assert table.X.column_names == NAMES and table.kinds == kinds


def test_a_short_sparse_line_of_many_columns():
    table = read_table(io.BytesIO(b"1 1:1 100000:1\n"))
    assert table.X.shape == (1, 100_000) and table.X.column("x100000").to_pylist() == [1]
    with pytest.raises(DataError, match=r"at most 1,048,576 features, got 999,999,999: choose"):
        read_table(io.BytesIO(b"1 1:1 999999999:1\n"))


def test_a_model_expects_columns_that_a_sparse_file_does_not_mention():
    names = [f"x{j + 1}" for j in range(WIDTH)]
    table = read_table(io.BytesIO(b"1 1:1\n"), features=names, kinds=dict.fromkeys(names, "number"))
    assert table.X.column_names == names and table.X.column(WIDTH - 1).to_pylist() == [0]


def test_wide_tables_are_encoded():
    table = read_table(io.BytesIO(delimited(",", "")), "t")
    encoder = Encoder().fit(columns_of(table.X))
    assert encoder.width == 2 * WIDTH == len(encoder.feature_names)
    rows, _, _ = DGTClassifier()._training_rows(table.X, table.y, None, None, None, None)
    assert rows.X.shape == (2, 2 * WIDTH)


def test_lines_of_any_length():
    """The header alone is longer than what is looked at to find the delimiter."""
    names = [name * 5 for name in NAMES]
    text = "\n".join(",".join(row) for row in (names, ["1"] * WIDTH, ["2"] * WIDTH))
    assert len(",".join(names)) > 1 << 20
    table = read_table(io.BytesIO(text.encode()))
    assert table.X.column_names == names and len(table) == 2


BLANKS = " " * LONG


@pytest.mark.parametrize(
    "row",
    [
        f"1, 'a'{BLANKS}x",
        f"1,{BLANKS}'a",
        f"1,{BLANKS}x'",
        "1," + "\\'" * LONG,
        "{0 1, 1 " + "\\'" * LONG + "}",
        "{0 1, 1 a" + BLANKS + "'}",
        "1" * LONG + "x, a",
    ],
)
def test_arff_gives_up_on_a_long_line_at_once(row):
    text = f"@attribute n numeric\n@attribute s string\n@data\n{row}\n"
    with pytest.raises(DataError, match="line 4"):
        read_table(io.BytesIO(text.encode()), format="arff")


@pytest.mark.parametrize(
    "declared", [f"x{BLANKS}", f"{BLANKS}{{", f"x {{{BLANKS}'", "x {" + "'a'," * LONG]
)
def test_arff_declarations_are_given_up_at_once(declared):
    with pytest.raises(DataError, match="line 1: expected '@attribute name type'"):
        read_table(io.BytesIO(f"@attribute {declared}\n@data\n1\n".encode()), format="arff")


@pytest.mark.parametrize("format", ["csv", "svmlight"])
def test_digits_without_end_are_no_number(format):
    digits = "1" * LONG + "x"
    text = f"{digits} 1:1\n" if format == "svmlight" else f"a,b\n1,{digits}\n2,3\n"
    with pytest.raises(DataError, match="line "):
        read_table(io.BytesIO(text.encode()), format=format)


def split_by_hand(text: str) -> list[str | None] | None:
    """`arff._split`, a character at a time; None where quotes are not closed."""
    fields: list[str | None] = []
    field, quote, escaped, ended = "", "", False, False
    for c in text + ",":
        if quote:
            field += c
            if escaped:
                escaped = False
            elif c == "\\":
                escaped = True
            elif c == quote:
                quote, ended = "", True
        elif c == ",":
            fields.append(None if field.strip() == "?" else unquoted(field.strip(), ended))
            field, ended = "", False
        elif ended and not c.isspace():
            return None
        elif c in "'\"":
            if field.strip():
                return None
            field, quote = c, c
        else:
            field += c
    return None if quote else fields


def unquoted(text: str, quoted: bool) -> str:
    text = text[1:-1] if quoted else text
    out, escaped = "", False
    for c in text:
        if c == "\\" and not escaped:
            escaped = True
        else:
            out, escaped = out + c, False
    return out + "\\" * escaped


@settings(max_examples=500, deadline=None)
@given(st.text("ab,'\"\\ ?", max_size=12))
@example("'a' b,'c'")
@example(" 'a,b' ,\\?")
@example("'\\'', ?")
def test_arff_fields_are_those_found_by_hand(text):
    fields = split_by_hand(text)
    if fields is None:
        with pytest.raises(DataError, match="quotes must be closed"):
            arff._split(text, "here")
    else:
        assert arff._split(text, "here") == fields


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.text("ab ,'\"\\?", min_size=1, max_size=6)),
        unique_by=lambda entry: entry[0],
        max_size=4,
    )
)
def test_sparse_arff_rows_hold_any_text(entries):
    def quoted(text: str) -> str:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    declared = "".join(f"@attribute a{j} string\n" for j in range(4))
    row = "{" + ", ".join(f"{j} {quoted(text)}" for j, text in entries) + "}"
    _, columns = arff.read_arff(io.BytesIO(f"{declared}@data\n{row}\n".encode()), "example")
    given_there = dict(entries)
    assert [column[0] for column in columns] == [given_there.get(j) for j in range(4)]


def test_groups_of_columns_are_read_as_each_of_them_is():
    """Short columns are converted by the group; one of another kind must not change the others."""
    rng = np.random.default_rng(0)
    cells = np.array(["1", " 2.5", "NA", "", "nan", "-3e2", "true", "x", "inf "])
    for _ in range(20):
        table = cells[rng.integers(0, len(cells), size=(4, 6))]
        table[:, rng.integers(6)] = "7"
        rows = [[f"c{j}" for j in range(6)], *table.tolist()]
        text = "\n".join(",".join(row) for row in rows).encode()
        try:
            whole = read_table(io.BytesIO(text), header=True, delimiter=",").X
        except DataError as error:
            whole = str(error).split("column ")[1]
        alone = []
        for j in range(6):
            keep = [f"c{i}" for i in range(6) if i != j]
            try:
                alone.append(read_table(io.BytesIO(text), header=True, delimiter=",", drop=keep).X)
            except DataError as error:
                alone.append(str(error).split("column ")[1])
        if isinstance(whole, str):
            assert whole == next(found for found in alone if isinstance(found, str))
        else:
            assert all(whole.column(j).equals(alone[j].column(0)) for j in range(6))
