"""Columns that grow: compared with a slow twin, and the same from a file."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgtrees.bandit.column_form import describe_columns, restore_columns
from dgtrees.bandit.live_columns import LiveColumns

KEYS = st.sampled_from(["a", "b", "c=1", "ü"])
CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.floats(-1e6, 1e6),
    st.sampled_from(["x", "y", "z", "1", ""]),
    st.just(float("nan")),
)
CONTEXTS = st.lists(st.dictionaries(KEYS, CELLS, max_size=4), min_size=1, max_size=12)


class Twin:
    """The rules of live_columns' docstring without limits, by names of columns."""

    def __init__(self):
        self.order, self.seen, self.fill = [], {}, {}

    def column(self, name):
        if name not in self.order:
            self.order.append(name)

    def learn(self, cells):
        for key, cell in cells.items():
            if isinstance(cell, str):
                self.column((key, "=", cell))
            elif cell is not None:
                self.column((key, "number"))
                self.seen.setdefault(key, []).append(cell)
        for key in self.seen:
            if not isinstance(cells.get(key), float) and (key, "gap") not in self.order:
                self.column((key, "gap"))
                self.fill[key] = np.add.accumulate(self.seen[key])[-1] / len(self.seen[key])

    def encode(self, cells):
        row = dict.fromkeys(self.order, 0.0)
        for key, cell in cells.items():
            if isinstance(cell, str) and (key, "=", cell) in row:
                row[key, "=", cell] = 1.0
        for key, numbers in self.seen.items():
            given = isinstance(cells.get(key), float)
            mean = np.add.accumulate(numbers)[-1] / len(numbers)
            row[key, "number"] = cells[key] if given else self.fill.get(key, mean)
            if not given and (key, "gap") in row:
                row[key, "gap"] = 1.0
        return list(row.values()) or [0.0]


@given(CONTEXTS, st.dictionaries(KEYS, CELLS))
def test_columns_are_those_of_the_slow_twin(contexts, other):
    columns, twin = LiveColumns(), Twin()
    for context in contexts:
        parsed = columns.read(context)
        before = columns.encode(parsed)
        assert before.tolist() == twin.encode(parsed)  # deciding leaves columns alone
        twin.learn(parsed)
        assert columns.grow(parsed).tolist() == twin.encode(parsed)
        assert columns.row_width == max(1, len(twin.order))
    unseen = columns.read(other)
    assert columns.encode(unseen).tolist() == twin.encode(unseen)
    assert len(columns.names) == columns.width


@given(CONTEXTS, st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 12)))
def test_limits_hold_and_files_are_exact(contexts, limits):
    columns = LiveColumns(*limits)
    for context in contexts:
        parsed = columns.read(context)
        wide = columns.width
        row = columns.grow(parsed)
        assert len(row) == columns.row_width >= wide
        assert np.isfinite(row).all()
        assert columns.width <= limits[2] + limits[1]
        np.testing.assert_array_equal(columns.encode(parsed), row)
    told = json.loads(json.dumps(describe_columns(columns)))
    twin = restore_columns(told)
    assert describe_columns(twin) == told and twin.names == columns.names
    for context in [*contexts, {"new": 1.0, "a": "new"}]:
        parsed = columns.read(context)
        np.testing.assert_array_equal(twin.grow(parsed), columns.grow(parsed))


def test_texts_beyond_their_budget_share_buckets():
    columns = LiveColumns(values=2, buckets=4)
    for city in ("Pune", "Rome", "Oslo", "Lima"):
        columns.grow(columns.read({"city": city}))
    assert columns.names == ["city=Pune", "city=Rome", *(f"city#{b}" for b in range(4))]
    assert columns.encode({"city": "Pune"})[:2].tolist() == [1.0, 0.0]
    assert columns.encode({"city": "never seen"})[2:].sum() == 1.0


def test_everything_beyond_all_columns_shares_buckets():
    columns = LiveColumns(columns=2, buckets=2)
    columns.grow(columns.read({"a": 1.0, "b": 2.0}))
    row = columns.grow(columns.read({"a": 1.0, "b": 2.0, "c": 3.0, "d": "x"}))
    assert columns.names == ["a", "b", "other#0", "other#1"]
    assert row[:2].tolist() == [1.0, 2.0] and row[2:].sum() == 4.0
    for k in range(100):
        columns.grow(columns.read({f"key {k}": 1.0}))
    assert columns.width == 4


def test_rows_of_numbers_go_as_they_are():
    columns = LiveColumns()
    rows = np.random.default_rng(0).normal(size=(600, 3))
    one_by_one = LiveColumns()
    columns.settle(columns.read(rows[0]))
    columns.count(rows)
    for row in rows:
        np.testing.assert_array_equal(one_by_one.grow(one_by_one.read(row)), row)
    assert describe_columns(columns) == describe_columns(one_by_one)
    assert columns.table(rows) is not None and columns.table(rows).shape == (600, 3)
    gap = columns.read([1.0, None, 2.0])
    np.testing.assert_allclose(columns.encode(gap), [1.0, rows[:, 1].mean(), 2.0])
    assert columns.grow(gap)[3] == 1.0 and columns.names[3] == "x1 missing"
    assert columns.encode(columns.read(rows[0])).tolist() == [*rows[0], 0.0]
    assert columns.table(rows).shape == (600, 4)
    assert columns.table([[1.0, "text", None]])[0, 0] == 1.0


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ({"a": 1}, [1.0], "must have names as the first one had, got a row of 1"),
        ([1.0, 2.0], {"a": 1}, "rows of 2 cells as the first one was, got {'a': 1.0}"),
        ([1.0, 2.0], [1.0], "must have 2 features as the first one had, got 1"),
        ([1.0, "a"], [1.0], "must have 2 features as the first one had, got 1"),
    ],
)
def test_contexts_of_two_kinds_are_refused(first, second, message):
    columns = LiveColumns()
    columns.grow(columns.read(first))
    before = describe_columns(columns)
    with pytest.raises(ValueError, match=message):
        columns.read(second)
    both = [LiveColumns().read(context) for context in (first, second)]
    with pytest.raises(ValueError, match=message):
        LiveColumns().check_alike(both)
    assert describe_columns(columns) == before


@pytest.mark.parametrize(
    "change",
    [
        {"limits": [1, 2]},
        {"shared": 0},
        {"numbers": [[0, -1, 1.0, 1]]},
        {"numbers": [[1, -1, 1.0, 1, None]]},
        {"numbers": [[0, -1, float("inf"), 1, None]]},
        {"fields": []},
        {"fields": [["a", 0, -1, []], ["a", 0, -1, []]]},
        {"fields": [["a", 0, -1, [["x", 5]]]]},
        {"positions": 3},
        {"plain": True},
    ],
)
def test_files_that_do_not_fit_are_refused(change):
    columns = LiveColumns()
    columns.grow(columns.read({"a": 1.0}))
    told = describe_columns(columns)
    assert restore_columns(told).names == ["a"]
    with pytest.raises(ValueError, match="must"):
        restore_columns(told | change)
