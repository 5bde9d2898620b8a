"""Columns, to files and back; files of the first release have none of the later fields."""

import numpy as np
import pytest

from dgtrees.tables.bending import bend
from dgtrees.tables.encoding import Column, learn_date

FIRST_RELEASE = {"name": "a", "kind": "number", "median": 1.5, "indicator": True}
FIRST_RELEASE |= {"categories": [], "other": False}
COLUMNS = [
    Column("a", median=1.5, indicator=True),
    Column("b", "category", categories=("x", "y"), other=True),
    Column(
        "c",
        "category",
        categories=("x",),
        other=True,
        pooled=("w", "y"),
        outputs=("mean",),
        means=((1.0,), (2.0,), (3.0,), (2.5,)),
    ),
    Column("d", "date", indicator=True, order="mdy", parts=("year", "hour"), medians=(2020.0, 4.0)),
    Column("e", "unused"),
    Column("i", median=2.0, indicator=True, from_center=(2.5,), reach=(-5.0, 9.0)),
    Column("f", median=2.0, indicator=True, bent=(0.0, 3.0)),
    Column("g", median=2.0, bent=(1.0, 3.0), reach=(-5.0, 9.0)),
    Column("h", median=2.0, indicator=True, bent=(1.0, 3.0), beside=True, reach=(-5.0, 9.0)),
]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.name)
def test_round_trip_and_widths(column):
    assert Column.from_json(column.to_json()) == column
    assert len(column.names()) == column.width == len(column.typical)
    assert column.expand(np.array([None, None], dtype=object)).shape == (2, column.width)


def test_fields_of_the_first_release_are_enough_and_stay():
    assert Column.from_json(FIRST_RELEASE) == COLUMNS[0]
    assert COLUMNS[0].to_json() == FIRST_RELEASE


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "text"},
        {"kind": "date", "parts": ["year"]},
        {"kind": "date", "parts": ["hour", "year"], "medians": [1.0, 2.0]},
        {"kind": "unused", "categories": ["x"]},
        {"parts": ["year"], "medians": [1.0]},
        {"means": [[1.0]]},
        {"kind": "category", "indicator": False, "median": 0.0, "categories": ["b", "a"]},
        {"kind": "category", "indicator": False, "median": 0.0, "categories": ["a"]}
        | {"outputs": ["m"], "means": [[1.0]], "other": True},
        {"kind": "category", "indicator": False, "median": 0.0, "categories": ["a"]}
        | {"pooled": ["b"], "other": True},
        {"unknown": 1},
        {"bent": [0.0]},
        {"bent": [0.0, 0.0]},
        {"bent": [0.0, -1.0]},
        {"beside": True},
        {"beside": 1, "bent": [0.0, 1.0]},
        {"from_center": [1.0, 2.0]},
        {"from_center": [1.0], "bent": [0.0, 1.0]},
        {"kind": "unused", "median": 0.0, "indicator": False, "from_center": [0.0]},
        {"reach": [2.0, 1.0]},
        {"reach": [2.0, 3.0]},
        {"kind": "unused", "median": 0.0, "indicator": False, "bent": [0.0, 1.0]},
        {"kind": "unused", "median": 0.0, "indicator": False, "reach": [0.0, 1.0]},
    ],
)
def test_columns_that_cannot_be_are_refused(change):
    with pytest.raises(ValueError, match="must"):
        Column.from_json(FIRST_RELEASE | change)


def test_known_labels_win_over_marks_of_gaps():
    old = Column("c", "category", categories=("?", "x"), other=True)  # of an earlier release
    assert old.expand(np.array(["?", " x ", "NA"], dtype=object)).tolist() == [
        [1, 0, 0],
        [0, 1, 0],
        [0, 0, 1],
    ]


def test_dates_without_a_varying_part_take_no_column():
    days = np.array(["2026-01-01"] * 3, dtype="datetime64[s]")
    assert learn_date("d", days, np.ones(3)).width == 0


def test_numbers_are_filled_then_held_within_reach_then_bent():
    column = COLUMNS[-2]
    values = np.array([np.nan, -1e9, 3.0, 1e9])
    wanted = bend(np.array([2.0, -5.0, 3.0, 9.0]), 1.0, 3.0)
    assert np.array_equal(column.expand_numbers(values)[:, 0], wanted)
    assert column.names() == ["log(g)"]
    assert column.typical == wanted[0]
    assert column.unbend(float(wanted[2])) == pytest.approx(3.0)


def test_bent_numbers_may_stand_beside_the_numbers():
    column = COLUMNS[-1]
    values = np.array([np.nan, -1e9, 3.0, 1e9])
    filled = np.array([2.0, -5.0, 3.0, 9.0])
    wanted = np.stack([filled, bend(filled, 1.0, 3.0), [1, 0, 0, 0]], axis=1)
    assert np.array_equal(column.expand_numbers(values), wanted)
    assert column.names() == ["h", "log(h)", "h is missing"] and column.width == 3
    assert column.typical.tolist() == [2.0, wanted[0, 1], 0.0]


def test_distances_stand_beside_the_numbers_held_within_reach():
    column = Column("a", median=2.0, indicator=True, from_center=(3.0,), reach=(0.0, 9.0))
    assert column.names() == ["a", "|a - 3|", "a is missing"]
    found = column.expand_numbers(np.array([np.nan, -5.0, 8.0]))
    assert np.array_equal(found, [[2, 1, 1], [0, 3, 0], [8, 5, 0]])
    plain = Column("b", from_center=(-0.5,))
    assert (
        plain.names() == ["b", "|b + 0.5|"] and Column("c", from_center=(0.0,)).names()[1] == "|c|"
    )
