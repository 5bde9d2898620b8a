from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dgtrees.errors import ColumnWarning
from dgtrees.tables.encoder import Encoder, columns_of


def frame():
    return pd.DataFrame(
        {
            "age": [20.0, np.nan, 40.0, 60.0],
            "city": ["Rome", "Oslo", None, "Rome"],
            "member": [True, False, True, True],
            "visits": pd.array([1, 2, None, 4], dtype="Int64"),
            "size": pd.Categorical(["s", "m", "s", "s"]),
        }
    )


def test_every_kind_of_column_of_a_pandas_frame():
    encoder = Encoder(min_frequency=1).fit(columns_of(frame()))
    assert encoder.feature_names == [
        "age",
        "age is missing",
        "city=(missing)",
        "city=Oslo",
        "city=Rome",
        "member",
        "visits",
        "visits is missing",
        "size=m",
        "size=s",
    ]
    expected = [
        [20, 0, 0, 0, 1, 1, 1, 0, 0, 1],
        [40, 1, 0, 1, 0, 0, 2, 0, 1, 0],
        [40, 0, 1, 0, 0, 1, 2, 1, 0, 1],
        [60, 0, 0, 0, 1, 1, 4, 0, 0, 1],
    ]
    assert encoder.expand(columns_of(frame())).tolist() == expected
    assert encoder.source.tolist() == [0, 0, 1, 1, 1, 2, 3, 3, 4, 4]


def test_a_polars_frame_gives_the_same():
    columns = {
        "age": [20.0, None, 40.0, 60.0],
        "city": ["Rome", "Oslo", None, "Rome"],
        "member": [True, False, True, True],
        "visits": [1, 2, None, 4],
        "size": ["s", "m", "s", "s"],
    }
    other = pl.DataFrame(columns, schema_overrides={"size": pl.Categorical})
    encoder = Encoder(min_frequency=1).fit(columns_of(frame()))
    again = Encoder(min_frequency=1).fit(columns_of(other))
    assert again.columns == encoder.columns
    assert np.array_equal(again.expand(columns_of(other)), encoder.expand(columns_of(frame())))


def test_rare_and_unseen_categories_share_a_column():
    labels = np.array([["a"]] * 12 + [["b"]] * 11 + [["c"], ["d"]], dtype=object)
    encoder = Encoder().fit(columns_of(labels))
    assert encoder.feature_names == ["x0=a", "x0=b", "x0=(other)"]
    rows = np.array([["a"], ["c"], ["never seen"], [None]], dtype=object)
    assert encoder.expand(columns_of(rows)).tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1], [0, 0, 1]]


def test_unseen_categories_are_all_zeros_where_no_category_was_rare():
    encoder = Encoder(min_frequency=1).fit(columns_of(np.array([["a"], ["b"]], dtype=object)))
    assert encoder.expand(columns_of(np.array([["z"]], dtype=object))).tolist() == [[0, 0]]


def test_at_most_so_many_categories():
    labels = np.array([[f"v{i % 40:02}"] for i in range(400)] + [["v00"]], dtype=object)
    with pytest.warns(ColumnWarning, match="column 'x0': 37 of 40 values"):
        encoder = Encoder(max_categories=3).fit(columns_of(labels))
    assert encoder.feature_names == ["x0=v00", "x0=v01", "x0=v02", "x0=(other)"]


@given(
    X=hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 12), st.integers(1, 4)),
        elements=st.floats(-1e6, 1e6) | st.just(np.nan),
    ),
    data=st.data(),
)
def test_a_weight_is_a_repetition(X, data):
    weight = data.draw(hnp.arrays(np.int64, len(X), elements=st.integers(0, 3)))
    if not weight.any():
        weight[0] = 1
    names = [f"x{j}" for j in range(X.shape[1])]
    repeated = np.repeat(X, weight, axis=0)
    weighted = Encoder().fit_numbers(X, weight.astype(float), names)
    again = Encoder().fit_numbers(repeated, np.ones(len(repeated)), names)
    assert weighted.columns == again.columns
    assert np.isfinite(weighted.expand_numbers(X)).all()
    as_columns = Encoder().fit(columns_of(repeated))
    assert np.array_equal(as_columns.expand(columns_of(X)), weighted.expand_numbers(X))


def test_numbers_without_gaps_are_not_copied():
    X = np.arange(6.0).reshape(3, 2)
    encoder = Encoder().fit_numbers(X, np.ones(3), ["a", "b"])
    assert encoder.expand_numbers(X) is X


def test_json_round_trip():
    encoder = Encoder(min_frequency=1).fit(columns_of(frame()))
    assert Encoder.from_json(encoder.to_json()).columns == encoder.columns


def test_numbers_declared_as_categories_are_names():
    frame = pd.DataFrame({"code": pd.Categorical([3, 1, 3, None]), "n": [1.0, 2.0, 3.0, 4.0]})
    encoder = Encoder(min_frequency=1).fit(columns_of(frame))
    assert encoder.feature_names == ["code=(missing)", "code=1", "code=3", "n"]


def test_objects_that_are_numbers():
    column = np.array([1, Decimal("2.5"), None, pd.NA], dtype=object)
    encoder = Encoder().fit([("c", column)])
    assert encoder.expand([("c", column)]).tolist() == [[1, 0], [2.5, 0], [1.75, 1], [1.75, 1]]


@pytest.mark.parametrize(
    ("column", "error", "message"),
    [
        (pd.to_timedelta([1, 2], unit="h"), ValueError, "column 'c': holds dates or times"),
        ([[1, 2], [3]], ValueError, "column 'c': must hold one number, name or date per row"),
        ([1.0, np.inf], ValueError, "column 'c' must be finite, got inf in row 1"),
    ],
)
def test_columns_that_cannot_be_encoded(column, error, message):
    frame = pd.DataFrame({"c": column, "s": ["x", "y"]})
    with pytest.raises(error, match=message):
        Encoder(on_unusable="raise").fit(columns_of(frame))


def test_a_number_column_that_turns_to_text():
    encoder = Encoder().fit(columns_of(pd.DataFrame({"c": [1.0, 2.0], "s": ["x", "y"]})))
    with pytest.raises(ValueError, match="column 'c' must hold numbers, got 'three'"):
        encoder.expand(columns_of(pd.DataFrame({"c": ["three", "4"], "s": ["x", "y"]})))


def test_booleans_mean_the_same_in_every_guise():
    pd = pytest.importorskip("pandas")
    pa = pytest.importorskip("pyarrow")
    flags = [True, False, True, False]
    plain = pd.DataFrame({"z": flags})
    guises = {
        "number": pd.DataFrame({"z": pd.Series([*flags, None], dtype=object)}),
        "category": pd.DataFrame({"z": pd.Series(flags, dtype="category")}),
    }
    for kind, frame in guises.items():
        encoder = Encoder(min_frequency=1).fit(columns_of(frame), np.ones(len(frame)))
        assert encoder.columns[0].kind == kind
        expected = encoder.expand(columns_of(frame))[:4]
        assert len(np.unique(expected, axis=0)) == 2
        for other in (plain, plain.astype("boolean"), pa.table({"z": flags}), frame[:4]):
            assert np.array_equal(encoder.expand(columns_of(other)), expected)


def test_bent_columns_and_reach_are_those_of_the_encoded_numbers():
    X = np.array([[1.0, "a", 5.0], [None, "b", 6.0], [3.0, "a", 7.0]], dtype=object)
    encoder = Encoder(min_frequency=1).fit(columns_of(X))
    assert np.array_equal(encoder.medians, [2.0, np.nan, np.nan, np.nan, 6.0], equal_nan=True)
    bent = encoder.bending(np.arange(5.0), np.array([0.0, 7.0, 7.0, 7.0, 2.0]))
    assert [column.bent for column in bent.columns] == [(), (), (4.0, 2.0)]
    held = bent.reaching(np.full(5, -9.0), np.full(5, 9.0))
    assert [column.reach for column in held.columns] == [(-9.0, 9.0), (), (-9.0, 9.0)]
    assert held.feature_names == ["x0", "x0 is missing", "x1=a", "x1=b", "log(x2)"]
    assert Encoder.from_json(held.to_json()).columns == held.columns


def test_rows_within_reach_are_not_copied_and_others_are_held_there():
    X = np.array([[0.0, 1.0], [2.0, -1.0]])
    encoder = Encoder().fit_numbers(X, np.ones(2), ["a", "b"])
    held = encoder.reaching(np.array([0.0, -2.0]), np.array([2.0, 2.0]))
    assert held.expand_numbers(X) is X
    far = np.array([[-1.0, 1e9], [np.nan, 0.0]])
    assert np.array_equal(held.expand_numbers(far), [[0.0, 2.0], [1.0, 0.0]])
    assert np.array_equal(held.expand(columns_of(far)), held.expand_numbers(far))
    bent = held.bending(np.zeros(2), np.array([0.0, 3.0]))
    assert np.array_equal(bent.expand_numbers(far), bent.expand(columns_of(far)))
    assert not bent.plain
    beside = held.bending(np.zeros(2), np.array([4.0, 0.0]), beside=True)
    assert beside.feature_names == ["a", "log(a)", "b"] and not beside.plain
    assert np.array_equal(beside.expand_numbers(far), beside.expand(columns_of(far)))
    assert np.array_equal(beside.source, [0, 0, 1])
