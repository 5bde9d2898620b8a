import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dgtrees.tables.columns import Place
from dgtrees.tables.kinds import settle_text
from dgtrees.tables.text_values import MISSING_MARKS, parse_number, to_numbers

CELLS = (
    st.floats(-1e30, 1e30).map(repr)
    | st.integers(-(10**15), 10**15).map(str)
    | st.sampled_from(MISSING_MARKS)
    | st.sampled_from(["+5", "5.", ".5", "1E+3", " 7 ", "-.5e-3", "007"])
)


@given(cells=st.lists(CELLS, min_size=1))
@example(cells=["true", "False", "?"])
def test_prediction_reads_numbers_as_training_does(cells):
    learnt = settle_text(pa.chunked_array([cells]), Place("", "c")).to_numpy()
    again = to_numbers(np.array(cells, dtype=object), "c")
    assert np.array_equal(learnt, again, equal_nan=True)


@given(text=st.text(max_size=6))
def test_anything_else_is_refused_by_both(text):
    try:
        value = parse_number(text)
    except ValueError:
        value = None
    column = pa.chunked_array([[text]])
    try:
        learnt = settle_text(column, Place("", "c"), "number").to_numpy()[0]
    except ValueError:
        learnt = None
    assert (value is None) == (learnt is None)
    assert value is None or np.array_equal(value, learnt, equal_nan=True)


def test_errors_name_column_and_value():
    with pytest.raises(ValueError, match="column 'c' must hold numbers, got 'three'"):
        to_numbers(np.array(["4", "three"], dtype=object), "c")
    with pytest.raises(ValueError, match="finite, got inf in row 1"):
        to_numbers(np.array(["4", "1e999"], dtype=object), "c")
