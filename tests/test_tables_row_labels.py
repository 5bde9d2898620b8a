"""Row labels of pandas in Arrow tables: left out where nobody named them."""

import json

import pandas as pd
import pyarrow as pa
import pytest

from dgtrees.tables.row_labels import row_labels, without_row_labels

FRAME = pd.DataFrame({"x": [1.0, 2.0]}, index=[5, 9])


def test_a_nameless_index_is_no_column():
    table = pa.Table.from_pandas(FRAME)
    assert row_labels(table.schema) == {"__index_level_0__"}
    assert without_row_labels(table).column_names == ["x"]


def test_an_index_with_a_name_is_somebodys_column():
    table = pa.Table.from_pandas(FRAME.rename_axis("age"))
    assert without_row_labels(table).column_names == ["x", "age"]


def test_a_range_is_not_stored_and_other_objects_stay_as_they_are():
    table = pa.Table.from_pandas(FRAME.reset_index(drop=True))
    assert without_row_labels(table) is table
    assert without_row_labels(FRAME) is FRAME


def test_labels_that_were_left_out_before_are_not_missed():
    table = pa.Table.from_pandas(FRAME).drop_columns(["__index_level_0__"])
    assert without_row_labels(table).column_names == ["x"]


@pytest.mark.parametrize("written", [b"{", b"[]", b"{}", b'{"index_columns": 3}'])
def test_metadata_that_is_not_as_pandas_writes_it(written):
    schema = pa.schema([("__index_level_0__", pa.int64())], metadata={b"pandas": written})
    assert row_labels(schema) == set()


def test_a_users_own_column_of_such_a_name_stays():
    schema = pa.schema([("index_level_0", pa.int64())])
    told = json.dumps({"index_columns": ["index_level_0", {"kind": "range"}]}).encode()
    assert row_labels(schema.with_metadata({b"pandas": told})) == set()
