"""Rows as users have them become encoded rows, or an error that names the column."""

import numpy as np
import pandas as pd
import pytest

from dgtrees.model.reading import encode_row, encode_table, read_columns
from dgtrees.tables.encoder import Encoder, columns_of

FRAME = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": ["x", "y", "x"]})
MIXED = Encoder(min_frequency=1).fit(columns_of(FRAME))
NUMBERS = np.array([[1.0, 2.0], [np.nan, 4.0]])
PLAIN = Encoder().fit_numbers(NUMBERS, np.ones(2), ["a", "b"])


def test_columns_go_by_name_where_there_are_names_and_by_place_elsewhere():
    turned = FRAME.assign(c=0)[["c", "b", "a"]]
    assert [name for name, _ in read_columns(turned, 2, ["a", "b"])] == ["a", "b"]
    assert np.array_equal(encode_table(turned, MIXED, ["a", "b"]), MIXED.expand(columns_of(FRAME)))
    other = FRAME.set_axis(["p", "q"], axis=1)
    assert [name for name, _ in read_columns(other, 2, None)] == ["p", "q"]
    cells = FRAME.to_numpy(dtype=object)
    for rows in (cells, cells.tolist()):
        assert np.array_equal(
            encode_table(rows, MIXED, ["a", "b"]), MIXED.expand(columns_of(FRAME))
        )


def test_numbers_are_encoded_at_once_or_column_by_column_alike():
    for dtype in (np.float32, np.float64):
        rows = NUMBERS.astype(dtype)
        quick = encode_table(rows, PLAIN, None)
        assert np.array_equal(quick, PLAIN.expand(columns_of(rows)))
        for row, expected in zip(rows, quick, strict=True):
            assert np.array_equal(encode_row(row, PLAIN, None), expected)


@pytest.mark.parametrize(
    ("rows", "names", "message"),
    [
        (FRAME.rename(columns={"b": "z"}), ["a", "b"], "must have the column 'b' once, got"),
        (FRAME, None, "must have the 3 columns of the model, got 2"),
        (np.zeros(3), None, r"rows by columns, got shape \(3,\)"),
    ],
)
def test_other_columns_are_refused(rows, names, message):
    with pytest.raises(ValueError, match=message):
        read_columns(rows, 3, names)


def test_infinite_numbers_are_refused():
    with pytest.raises(ValueError, match="must be finite, got inf in row 1"):
        encode_table(np.array([[1.0, 2.0], [np.inf, 1.0]]), PLAIN, None)
    with pytest.raises(ValueError, match="must be finite or NaN"):
        encode_row([np.inf, 1.0], PLAIN, None)
