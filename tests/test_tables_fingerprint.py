"""Fingerprints: the same for the same values, another one for any other."""

import numpy as np
import pandas as pd
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from dgtrees.tables.fingerprint import fingerprint

TABLE = pa.table({"x": [1.0, -0.0, None], "city": ["Oslo", None, "Rome"]})


@given(st.integers(0, 3))
def test_how_a_table_lies_in_memory_does_not_count(cut):
    parts = pa.concat_tables([TABLE.slice(0, cut), TABLE.slice(cut)])
    coded = TABLE.set_column(1, "city", TABLE["city"].dictionary_encode())
    assert fingerprint([TABLE]) == fingerprint([parts]) == fingerprint([coded])


def test_values_names_and_order_count():
    others = [
        TABLE.take([1, 0, 2]),
        TABLE.rename_columns(["z", "city"]),
        TABLE.select(["city", "x"]),
        TABLE.set_column(0, "x", pa.array([1.0, 0.5, None])),
        TABLE.slice(0, 2),
    ]
    found = {fingerprint([table]) for table in [TABLE, *others]}
    assert len(found) == 1 + len(others)


def test_zero_has_one_sign():
    assert fingerprint([np.array([0.0])]) == fingerprint([np.array([-0.0])])


def test_what_is_not_there_counts_by_its_place():
    y = np.arange(3)
    assert fingerprint([y, None]) != fingerprint([None, y]) != fingerprint([y])


def test_types_and_shapes_count():
    arrays = [np.zeros(4), np.zeros(4, dtype=np.float32), np.zeros((2, 2)), np.zeros(4, dtype=int)]
    assert len({fingerprint([array]) for array in arrays}) == 4


def test_frames_of_pandas_by_their_columns_and_values():
    frame = pd.DataFrame({"a": [1.0], "b": ["x"]})
    assert fingerprint([frame]) == fingerprint([frame.copy()])
    assert fingerprint([frame]) != fingerprint([frame.rename(columns={"a": "c"})])
