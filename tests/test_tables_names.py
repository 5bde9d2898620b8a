"""Which column is meant: names, positions, lists with commas, and near misses."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgtrees.errors import DataError
from dgtrees.tables.batch import Batch, row_namer
from dgtrees.tables.names import Names, named, nearest


def batch(*names, header=True):
    columns = [pa.chunked_array([[1.0]]) for _ in names]
    return Batch(list(names), columns, False, row_namer(0), "t.csv", header)


TABLE = batch("age", "Income", "city, country", "7")


@pytest.mark.parametrize(
    ("given_as", "found"),
    [("age", "age"), (0, "age"), (-1, "7"), ("1", "Income"), ("-2", "city, country"), ("7", "7")],
)
def test_names_come_before_positions(given_as, found):
    assert named(TABLE, given_as, "target") == found


@pytest.mark.parametrize(
    ("given_as", "message"),
    [
        ("incone", r"target must be one of its columns, got 'incone' \(did you mean 'Income'\?\)"),
        (4, "target must be a position between -4 and 3, got 4"),
        ("zzz", "got 'zzz': the columns are age, Income, 'city, country', 7$"),
    ],
)
def test_what_is_not_there(given_as, message):
    with pytest.raises(DataError, match=message):
        named(TABLE, given_as, "target")


def test_a_file_without_a_header_says_so():
    with pytest.raises(DataError, match="no header was found: if there is one, say so"):
        named(batch("x0", "x1", header=False), "age", "target")


@pytest.mark.parametrize(
    ("given_as", "found"),
    [
        (["age,Income"], ["age", "Income"]),
        (["city, country"], ["city, country"]),
        (["age,city, country,7"], ["age", "city, country", "7"]),
        (["age", "1"], ["age", "Income"]),
        (["age,,"], ["age"]),
    ],
)
def test_several_names_in_one(given_as, found):
    assert Names(TABLE).several(given_as, "drop") == found


def test_all_unknown_names_are_told_at_once():
    names = Names(TABLE)
    names.several(["agge", "wage"], "drop")
    with pytest.raises(DataError, match="'agge'") as caught:
        names.settle()
    assert any("'wage'" in note for note in caught.value.__notes__)


def test_a_column_has_one_kind():
    names = Names(TABLE)
    assert names.kinds({"age,7": "category", "Income": "number"}) == {
        "age": "category",
        "7": "category",
        "Income": "number",
    }
    names.kinds({"age": "category", "0": "number"})
    with pytest.raises(DataError, match="column 'age' must be a category or a number, got both"):
        names.settle()


def test_columns_of_a_model_that_are_missing():
    with pytest.raises(DataError, match=r"none named 'incom' \(did you mean 'Income'\?\)"):
        Names(TABLE).refuse_missing(["incom"])


@given(st.text(max_size=20))
def test_a_known_name_is_nearest_to_itself(name):
    assert nearest(name, [name, "something else entirely"]) in (
        [name, None] if not name else [name]
    )
