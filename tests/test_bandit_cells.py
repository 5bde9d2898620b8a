"""Contexts as callers have them."""

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dgtrees.bandit.cells import Row, read_cell, read_context, read_table

pd = pytest.importorskip("pandas")


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (3, 3.0),
        (2.5, 2.5),
        (True, 1.0),
        (np.bool_(False), 0.0),
        (np.float32(0.5), 0.5),
        (np.int64(7), 7.0),
        (np.array(2.0), 2.0),
        (Decimal("1.5"), 1.5),
        (Fraction(1, 4), 0.25),
        ("Pune", "Pune"),
        (np.str_("Pune"), "Pune"),
        ("", ""),
        ("ü", "ü"),
        (None, None),
        (float("nan"), None),
        (np.float64("nan"), None),
        (Decimal("nan"), None),
        (pd.NA, None),
        (pd.NaT, None),
        (np.datetime64("NaT"), None),
    ],
)
def test_cells(value, cell):
    found = read_cell(value, "a")
    assert found == cell and type(found) is type(cell)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"b": 1}, r"must not be nested, got \{'b': 1\} for 'a': .*'a.part'"),
        ([1, 2], r"must not be nested, got \[1, 2\]"),
        ((1,), "must not be nested"),
        ({1}, "must not be nested"),
        (np.ones(2), "must not be nested"),
        (np.inf, "at most 1e.30, got inf for 'a'"),
        (10**400, "at most 1e.30"),
        (-1e31, "at most 1e.30, got -1e"),
        (datetime.date(2026, 1, 2), "hour and weekday"),
        (np.datetime64("2026-01-02"), "hour and weekday"),
        (b"x", "numbers, text, truth values or missing, got b'x'"),
        (object, "make text or a number of it"),
        ("\ud800", "text of a context must be valid"),
        (1j, "numbers, text"),
    ],
)
def test_cells_that_are_refused(value, message):
    with pytest.raises(ValueError, match=message) as caught:
        read_context({"a": value})
    assert "\n" not in str(caught.value)


def test_the_same_context_in_all_forms():
    cells = {"age": 31.0, "city": "Pune", "gap": None}
    frame = pd.DataFrame([{"age": 31, "city": "Pune", "gap": np.nan}])
    assert read_context(cells) == cells
    assert read_context(frame) == cells
    assert read_context(frame.iloc[0]) == cells
    assert list(read_table(frame)) == list(read_table([cells])) == [cells]
    assert read_context({1: 2.0}) == {"1": 2.0}


def test_rows_without_names():
    for row in ([1, 2], (1.0, 2.0), np.array([1, 2]), pd.Series([1, 2]), [True, 2], np.ones(2)):
        assert isinstance(read_context(row), np.ndarray)
    for row in ([1, "a"], [1, None], np.array([1.0, np.nan]), ["1", "2"]):
        found = read_context(row)
        assert isinstance(found, Row) and list(found) == ["x0", "x1"]
    assert read_context(["1", 2]) == {"x0": "1", "x1": 2.0}
    named = pd.Series({"a": 1.0, "b": 2.0})
    assert read_context(named, by_position=True).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ("text", "a dict, a Series or a row, got 'text'"),
        (3, "a dict, a Series or a row, got 3"),
        ([], "at least one cell"),
        (np.ones((2, 2)), r"one row, a vector, got shape \(2, 2\)"),
        ([[1.0], [2.0]], "must not be nested"),
        ({(1, 2): 3}, r"keys of a context must be text, got \(1, 2\)"),
        ({1: 2, "1": 3}, "every key once, got '1' twice"),
        ({"\ud800": 1}, "keys of a context must be valid"),
        (pd.DataFrame({"a": [1, 2]}), "one row, got a frame of 2"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "every column once, got 'a' twice"),
    ],
)
def test_contexts_that_are_refused(context, message):
    with pytest.raises(ValueError, match=message) as caught:
        read_context(context)
    assert "\n" not in str(caught.value)
