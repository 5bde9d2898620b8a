"""One policy: files, pandas, polars and Arrow make the same of the same columns."""

import gzip
import io
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dgtrees.errors import ColumnWarning, DataError, UnusableColumnError
from dgtrees.tables.encoder import Encoder, columns_of
from dgtrees.tables.kinds import suspect
from dgtrees.tables.table import read_table

COLUMNS = {
    "number": (["1.5", "2", "", "-3e2"], "number"),
    "whole": (["1", "2", "2", "1"], "number"),
    "boolean": (["true", "False", "TRUE", ""], "number"),
    "marks": (["7", "NA", "?", "9"], "number"),
    "category": ([" a", "b", "NULL", "a"], "category"),
    "few digits": (["a", "b", "c", "1"], "category"),
    "days": (["2026-01-31", "2026-02-01", "", "2025-12-24"], "date"),
    "moments": (["2026-01-31 23:59:59", "2026-01-31T04:00", "", "2026-01-30 04:00"], "date"),
    "month first": (["10/13/2014", "1/2/2014", "2/3/2015", "2/3/2015"], "date"),
    "points": (["1.2.2014", "3.4.2015", "5.6.2016", "7.8.2017"], "date"),
    "zones": (["2026-01-31T23:30:00-02:00", "2026-01-31T04:00Z", "", ""], "date"),
}


def guises(cells: list[str]) -> dict:
    """A column of text in every frame that can hold it, and as a file is read."""
    gaps = [cell or None for cell in cells]
    text = "c,n\n" + "".join(f'"{cell}",{i}.5\n' for i, cell in enumerate(cells))
    return {
        "file": read_table(io.BytesIO(text.encode())).X.select(["c"]),
        "pandas": pd.DataFrame({"c": gaps}),
        "objects": pd.DataFrame({"c": pd.Series(gaps, dtype=object)}),
        "polars": pl.DataFrame({"c": gaps}),
        "arrow": pa.table({"c": gaps}),
        "read_table of a frame": read_table(pd.DataFrame({"c": gaps})).X,
    }


@pytest.mark.parametrize("name", COLUMNS)
def test_text_becomes_the_same_in_every_guise(name):
    cells, kind = COLUMNS[name]
    expected = None
    for guise, X in guises(cells).items():
        encoder = Encoder(min_frequency=1).fit(columns_of(X))
        encoded = encoder.expand(columns_of(X))
        expected = encoded if expected is None else expected
        assert encoder.columns[0].kind == kind, guise
        assert np.array_equal(encoded, expected), guise
        assert np.isfinite(encoded).all() and encoded.shape[1] == encoder.width


def test_typed_dates_are_those_of_their_text():
    moments = pd.to_datetime(["2026-01-31 23:59:59", "2026-01-30 04:00:00", None])
    texts = pd.DataFrame({"c": ["2026-01-31 23:59:59", "2026-01-30 04:00", None]})
    encoder = Encoder().fit(columns_of(texts))
    assert encoder.feature_names == ["c weekday", "c hour", "c is missing"]
    expected = encoder.expand(columns_of(texts)).tolist()
    assert expected == [[5, 23, 0], [4, 4, 0], [4.5, 13.5, 1]]
    frame = pd.DataFrame({"c": moments})
    others = [
        frame,
        frame.astype("timestamp[ns][pyarrow]"),
        frame.astype(object),
        pd.DataFrame({"c": moments.tz_localize("UTC").tz_convert("Asia/Tokyo")}),
        pl.DataFrame({"c": list(frame["c"].astype(object).where(frame["c"].notna(), None))}),
        pa.Table.from_pandas(frame),
    ]
    for other in others:
        assert encoder.expand(columns_of(other)).tolist() == expected
        assert Encoder().fit(columns_of(other)).columns == encoder.columns


def test_declared_categories_are_not_judged():
    digits = pd.DataFrame({"c": pd.Categorical([f"{i:03}" for i in range(50)])})
    with pytest.warns(ColumnWarning, match="share one column"):
        assert Encoder(max_categories=9).fit(columns_of(digits)).columns[0].kind == "category"
    assert Encoder().fit(columns_of(digits)).feature_names[0] == "c=000"


ROWS = 60
BAD = {
    "customer": [f"C{i:05}" for i in range(ROWS)],
    "said": [f"what customer {i} wrote" for i in range(ROWS)],
    "price": ["$1,000", "$2.50"] * (ROWS // 2),
    "share": ["1,5", "2,5"] * (ROWS // 2),
    "when": ["1/2/2020", "3/4/2020"] * (ROWS // 2),
    "fine": [float(i % 7) for i in range(ROWS)],
}
WHY = {
    "customer": "looks like identifiers",
    "said": "looks like free text",
    "price": "must be plain numbers",
    "share": "decimal comma",
    "when": "day and month",
}


def _refuse(frame, file):
    if file:
        read_table(frame, on_unusable="raise")
    Encoder(on_unusable="raise").fit(columns_of(frame))


def test_all_problems_are_told_at_once_with_the_call_that_solves_them():
    frame = pd.DataFrame(BAD)
    for source, call in ((None, "encoder=Encoder(drop=["), ("file", "--drop customer,said,when")):
        with pytest.raises((ValueError, DataError)) as caught:
            _refuse(frame, file=source is not None)
        lines = [str(caught.value), *caught.value.__notes__]
        assert len(lines) == len(WHY) + 1 and not any("\n" in line for line in lines)
        for line, (name, why) in zip(lines, WHY.items(), strict=False):
            assert f"column {name!r}" in line and why in line
        assert call in lines[-1] and "kinds={'customer': 'category'}" in lines[0]


def test_calls_of_the_errors_solve_them():
    frame = pd.DataFrame(BAD)
    kinds = dict.fromkeys(("price", "share", "said"), "category")
    settings = Encoder(drop=["customer", "when"], kinds=kinds)
    settings.fit(columns_of(frame[list(BAD)]))
    found = [column.kind for column in settings.columns]
    assert found == ["unused", "category", "category", "category", "unused", "number"]
    table = read_table(frame, drop=["customer", "when"], kinds=kinds)
    assert list(table.kinds.values()) == ["category"] * 3 + ["number"]


@pytest.mark.parametrize("choice", ["warn", "drop"])
def test_unusable_columns_are_left_out_with_a_warning(choice):
    frame = pd.DataFrame(BAD)[["customer", "said", "when", "fine"]].assign(row=range(ROWS))
    left = ["fine", "row"] if choice == "warn" else ["fine"]
    with pytest.warns(ColumnWarning) as told:
        encoder = Encoder(on_unusable=choice).fit(columns_of(frame))
    assert encoder.feature_names == left and len(told) == len(encoder.notes) == 4
    assert encoder.expand(columns_of(frame)).shape == (ROWS, len(left))
    with pytest.warns(ColumnWarning) as told:
        assert read_table(frame, on_unusable=choice).X.column_names == left
    assert [str(note.message).split("'")[1] for note in told][:3] == ["customer", "said", "when"]
    with pytest.raises(UnusableColumnError):
        read_table(frame, on_unusable="raise")


def test_a_table_without_any_usable_column_is_refused():
    frame = pd.DataFrame(BAD)[["customer", "said"]]
    for drop in ((), ("said",)):
        with pytest.warns(ColumnWarning), pytest.raises(DataError, match="column that can be used"):
            read_table(frame, drop=drop)


@pytest.mark.parametrize(
    ("name", "numbers", "why"),
    [
        ("n", np.arange(40), "counts rows"),
        ("n", np.random.default_rng(0).permutation(40) + 1000, "counts rows"),
        ("customer_id", np.arange(40) * 3, "identifier"),
        ("orderNo", np.arange(40) * 7 % 1000, "identifier"),
        ("income", np.arange(40) * 3, None),
        ("n", np.arange(30), None),
        ("n", np.arange(40) / 2, None),
        ("id", np.arange(40) % 20, None),
    ],
)
def test_numbers_that_only_name_rows(name, numbers, why):
    reason = suspect(name, numbers.astype(float))
    assert (reason is None) if why is None else why in reason
    frame = pd.DataFrame({name: numbers})
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        encoder = Encoder().fit(columns_of(frame))
    assert len(told) == (why is not None) and encoder.width == 1
    # Whoever says that it is a number is not asked again.
    assert Encoder(kinds={name: "number"}).fit(columns_of(frame)).notes == []


def test_constant_columns_are_noted():
    frame = pd.DataFrame({"a": [2.0] * 5, "b": ["x"] * 5, "c": ["2026-01-01"] * 5, "d": range(5)})
    encoder = Encoder().fit(columns_of(frame))
    assert [note.split("'")[1] for note in encoder.notes] == ["a", "b", "c"]
    assert encoder.feature_names == ["a", "b=x", "d"]


def test_wrong_settings_are_told_at_once():
    settings = Encoder(drop=["nobody"], kinds={"a": "text"}, on_unusable="ignore")
    with pytest.raises(ValueError, match="on_unusable must be") as caught:
        settings.fit([("a", np.zeros(3))])
    assert len(caught.value.__notes__) == 2


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "dates", "suspects"),
    [
        ("adult", [], []),
        ("bank_full", [], []),
        ("california_housing", [], []),
        ("diamonds", [], []),
        ("hr_job_change", [], ["enrollee_id"]),
        ("kc_house_data", ["date"], ["id"]),
        ("online_shoppers_intention", [], []),
        ("taxis", ["pickup", "dropoff"], []),
    ],
)
def test_tables_as_people_have_them(name, dates, suspects):
    path = Path(os.environ["DGTREES_DATA"], "raw_tables", f"{name}.csv.gz")
    if not path.exists():
        pytest.skip(f"{path} is not there: set DGTREES_DATA to a folder that has it")
    frame = pd.read_csv(path, nrows=4000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)
        encoder = Encoder().fit(columns_of(frame))
        head = b"".join(gzip.decompress(path.read_bytes()).splitlines(keepends=True)[:4001])
        table = read_table(io.BytesIO(head))
        of_file = Encoder().fit(columns_of(table.X))
    assert [c.name for c in encoder.columns if c.kind == "date"] == dates
    assert [n for n in suspects if any(n in note for note in encoder.notes)] == suspects
    assert of_file.columns == encoder.columns
    encoded = encoder.expand(columns_of(frame))
    assert np.array_equal(of_file.expand(columns_of(table.X)), encoded)


def test_numbers_with_repeated_words_among_them_are_categories():
    bands = ["<1", ">20", *map(str, range(1, 21))]
    years = pd.DataFrame({"years": bands * 12})
    (column,) = Encoder().fit(columns_of(years)).columns
    assert column.kind == "category"
    once = pd.DataFrame({"years": [*map(str, range(1, 21))] * 12 + ["?!"]})  # a slip
    with pytest.raises(ValueError, match="must hold numbers only"):
        Encoder().fit(columns_of(once))
    many = pd.DataFrame({"years": [*map(str, range(500)), *["none"] * 20]})
    with pytest.raises(ValueError, match="must hold numbers only"):
        Encoder().fit(columns_of(many))
