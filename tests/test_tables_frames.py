"""Columns of frames as arrays: types of pandas, polars and Arrow alike."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgtrees.tables.frames import MISSING, Labels, as_labels, columns_of, is_frame, is_numeric

DAY = dt.date(2026, 11, 18)
PARTS = {
    "whole": [1, 2],
    "real": [0.5, None],
    "yes": [True, False],
    "text": ["a", None],
    "day": [DAY, None],
}
FRAMES = [
    pd.DataFrame({**PARTS, "day": pd.to_datetime(PARTS["day"])}),
    pd.DataFrame(pa.table(PARTS).to_pandas(types_mapper=pd.ArrowDtype)),
    pl.DataFrame(PARTS),
    pa.table(PARTS),
]
IDS = ["pandas", "pandas of Arrow", "polars", "Arrow"]


@pytest.mark.parametrize("frame", FRAMES, ids=IDS)
def test_the_same_table_gives_the_same_columns(frame):
    assert is_frame(frame)
    found = dict(columns_of(frame))
    assert list(found) == list(PARTS)
    assert found["whole"].tolist() == [1.0, 2.0] and is_numeric(found["whole"])
    np.testing.assert_array_equal(found["real"].astype(float), [0.5, np.nan])
    assert found["yes"].dtype == bool
    assert found["text"].dtype == object and found["text"][0] == "a"
    expected = np.array(["2026-11-18", "NaT"], dtype="datetime64[s]")
    np.testing.assert_array_equal(found["day"], expected)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": pd.Categorical([3, None, 3])}),
        pl.DataFrame({"a": ["3", None, "3"]}, schema={"a": pl.Categorical}),
        pa.table({"a": pa.array(["3", None, "3"]).dictionary_encode()}),
    ],
    ids=["pandas", "polars", "Arrow"],
)
def test_declared_categories_are_labels(frame):
    ((_, values),) = columns_of(frame)
    assert isinstance(values, Labels)
    assert values.tolist() == ["3", MISSING, "3"]


def test_nullable_numbers_and_booleans():
    frame = pd.DataFrame(
        {"n": pd.array([1, None], "Int64"), "b": pd.array([True, None], "boolean")}
    )
    found = dict(columns_of(frame))
    np.testing.assert_array_equal(found["n"], [1.0, np.nan])
    assert found["b"].dtype == object and found["b"][0] is True  # a gap keeps it from being bool


def test_arrays_have_numbered_columns():
    assert not is_frame(np.zeros((2, 2)))
    assert [name for name, _ in columns_of(np.zeros((2, 3)))] == ["x0", "x1", "x2"]


@given(st.lists(st.one_of(st.text(), st.integers(), st.none(), st.booleans())))
def test_labels_are_text_and_stay_as_they_are(values):
    cells = np.empty(len(values), dtype=object)
    cells[:] = values
    labels = as_labels(cells)
    expected = [v if isinstance(v, str) else MISSING if v is None else str(v) for v in values]
    assert labels.tolist() == expected
    assert as_labels(labels) is labels


def test_whole_floats_lose_their_point():
    assert as_labels(np.array([3.0, np.nan, 2.5])).tolist() == ["3", MISSING, "2.5"]
