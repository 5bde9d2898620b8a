"""Rows as callers have them."""

import numpy as np
import pytest

import dgtrees
from dgtrees import DGTBandit
from dgtrees.tables.encoder import Encoder, columns_of
from taught_policies import saved, teach


def test_rows_with_gaps_and_categories_through_an_encoder(tmp_path):
    table = np.array([[1.0, "a"], [None, "b"], [3.0, "a"], [2.0, "b"]] * 10, dtype=object)
    encoder = Encoder().fit(columns_of(table))
    policy = DGTBandit(2, 2, "constant", encoder=encoder, random_state=0)
    for _ in range(20):
        for row in table:
            decision = policy.decide(row)
            policy.learn(row, decision, float(decision.action != (row[1] == "b")))
    assert policy.predict(table[:4]).tolist() == [0, 1, 0, 1]
    policy.save(tmp_path / "p.dgt")
    assert dgtrees.load(tmp_path / "p.dgt").decide(table[1])[:4] == policy.decide(table[1])[:4]
    with pytest.raises(ValueError, match="encoder's 2 columns, got 3"):
        policy.decide([1.0, "a", 2.0])


def test_rows_of_an_encoder_are_taken_by_name_and_one_at_a_time(tmp_path):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"size": [1.0, np.nan, 3.0, 2.0] * 10, "kind": ["a", "b"] * 20})
    policy = DGTBandit(2, 2, "constant", encoder=Encoder().fit(columns_of(table)), random_state=0)
    turned = table[["kind", "size"]].assign(more="x")
    np.testing.assert_array_equal(policy._rows(turned), policy._rows(table))
    np.testing.assert_array_equal(policy._rows(table.to_numpy()), policy._rows(table))
    by_name = {"kind": "b", "more": "x"}  # a key that is missing is a gap
    for row in (turned.iloc[1], table.iloc[1], pd.Series(table.iloc[1].tolist()), by_name):
        np.testing.assert_array_equal(policy._contexts.read(row), policy._rows(table)[1])
    decision = policy.decide(turned[:1])
    policy.learn(turned[:1], decision, 1.0)
    before = saved(policy, tmp_path)
    twice = pd.concat([table, table[["size"]]], axis=1)
    for wrong, message in {
        "rows": (table[:2], "one row, got 2: pass"),
        "no row": (table[:0], "one row, got 0"),
        "no columns": (pd.DataFrame(), "column 'size' once, got \\[\\]"),
        "missing": (table[["kind"]], "column 'size' once, got \\['kind'\\]"),
        "twice": (twice[:1], "column 'size' once"),
        "number": (3, "encoder's 2 columns, got shape"),
        "cube": (np.zeros((1, 2, 2)), "encoder's 2 columns, got shape"),
        "ragged": ([[1.0], [1.0, "a"]], "encoder's 2 columns, got"),
    }.values():
        for call in (policy.decide, lambda x: policy.learn(x, decision, 1.0)):
            with pytest.raises(ValueError, match=message) as caught:
                call(wrong)
            assert "\n" not in str(caught.value)
    assert saved(policy, tmp_path) == before


def test_an_encoder_must_be_fitted():
    with pytest.raises(ValueError, match="must be fitted, got one without columns"):
        DGTBandit(2, encoder=Encoder())


@pytest.mark.parametrize("x", [3, {"a": 1.0}, "text", None, [[1.0], [1.0, 2.0]], []])
def test_what_is_no_row_is_refused_in_one_line(x):
    with pytest.raises(ValueError, match=r"x must be (a row of numbers|one row)") as caught:
        DGTBandit(2, leaf="constant").decide(x)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("X", [3, {"a": 1.0}, [["a", "b"]], [[1.0], [1.0, 2.0]], [], [[]]])
def test_what_are_no_rows_is_refused_in_one_line(X):
    policy = teach(DGTBandit(4, 2, "constant"), range(3))
    with pytest.raises(ValueError, match="X must be rows") as caught:
        policy.predict(X)
    assert "\n" not in str(caught.value)
