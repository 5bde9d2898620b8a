"""One line of a log in each of its formats, and what is refused."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgtrees.bandit.log_lines import FORMATS, BadLineError, Event, columns_of_cells

jsonl, vw, dsjson = (FORMATS[name] for name in ("jsonl", "vw", "dsjson"))
NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=32)


@given(
    st.lists(NUMBERS, max_size=5),
    st.integers(0, 50),
    st.floats(1e-6, 1.0),
    NUMBERS,
)
def test_jsonl_comes_back_as_it_was_written(x, action, probability, loss):
    line = json.dumps({"x": x, "action": action, "probability": probability, "loss": loss})
    found = jsonl(line)
    assert found.features.tolist() == x
    assert found[1:] == (action, probability, loss, action + 1, False)


def test_objects_become_names_and_texts_columns_of_their_own():
    x = {"age": 31, "home": {"city": "Pune", "rooms": [2, 3]}, "vip": True}
    line = json.dumps({"x": x, "action": 0, "probability": 1, "loss": 0, "note": "ignored"})
    cells = {"age": 31.0, "home^city": "Pune", "home^rooms^0": 2.0, "home^rooms^1": 3.0, "vip": 1.0}
    assert jsonl(line).features == cells
    text = cells.pop("home^city")
    assert columns_of_cells({**cells, "home^city": text}) == {**cells, "home^city=Pune": 1.0}
    with pytest.raises(BadLineError, match="one value, got two for 'city=Pune'"):
        columns_of_cells({"city": "Pune", "city=Pune": 2.0})


@given(
    st.integers(1, 9),
    NUMBERS,
    st.floats(1e-6, 1.0),
    st.dictionaries(st.sampled_from("abc"), NUMBERS),
)
def test_vw_counts_actions_from_one(action, cost, probability, features):
    text = " ".join(f"{name}:{value!r}" for name, value in features.items())
    found = vw(f"{action}:{cost!r}:{probability!r} | {text}")
    assert found == Event(features, action - 1, probability, cost, action)


def test_vw_namespaces_weights_tags_and_repeated_names():
    assert vw("1:0:0.5 |user:2 age:3 vip |item price:1.5 price:1").features == {
        "user^age": 6.0,
        "user^vip": 2.0,
        "item^price": 2.5,
    }
    assert vw("2:0:0.5 'tag | a").action == 1
    assert vw("2:0:0.5 tag| a").features == {"a": 1.0}


def test_vw_texts_are_those_with_one_value_and_weight_one():
    line = (
        "1:0:0.5 |user city=Rome =odd a=b=c |shop:2 city=Oslo | tag=new tag=red vip x=1:3 y:2 y=4"
    )
    assert vw(line).features == {
        "user^city": "Rome",
        "user^=odd": 1.0,
        "user^a": "b=c",
        "shop^city=Oslo": 2.0,
        "tag=new": 1.0,
        "tag=red": 1.0,
        "vip": 1.0,
        "x=1": 3.0,
        "y": 2.0,
        "y=4": 1.0,
    }


def test_dsjson_leaves_out_what_is_hidden_and_counts_all_actions():
    event = {
        "_label_cost": -1.0,
        "_label_probability": 0.8,
        "_label_Action": 2,
        "a": [2, 1, 3],
        "p": [0.8, 0.1, 0.1],
        "c": {"age": 3, "_tag": 1, "none": None, "_multi": [{}, {}, {}]},
    }
    assert dsjson(json.dumps(event)) == Event({"age": 3.0}, 1, 0.8, -1.0, 3, True)


@pytest.mark.parametrize(
    ("parse", "line", "message"),
    [
        (jsonl, "[1]", "must be one JSON object, got"),
        (jsonl, "{", "is this the right format"),
        (jsonl, '{"action": 0}', "the field 'x' must be there"),
        (jsonl, '{"x": 3, "action": 0}', "x must be a list or an object"),
        (jsonl, '{"x": [1e999], "action": 0}', r"x\[0\] must be a finite number"),
        (jsonl, '{"x": [], "action": true}', "the action must be a whole number from 0"),
        (jsonl, '{"x": [], "action": 0, "probability": 0}', "must be above 0 and at most 1"),
        (jsonl, '{"x": {"a": {"b": 1}, "a^b": 2}, "action": 0}', "one value, got two for 'a.b'"),
        (vw, "1:0:0.5 a b", "action:cost:probability | features"),
        (vw, "shared | a", "starts the several lines of --cb_adf"),
        (vw, "0:0:0.5 | a", "whole number from 1"),
        (vw, "1:0 | a", "one action:cost:probability"),
        (vw, "1:0:0.5 | :3", "a feature must have a name"),
        (vw, "1:0:0.5 | a:1_0", "must be a finite number, got '1_0'"),
        (vw, "'tag | a", "put a space between"),
        (dsjson, '{"c": []}', "the context c must be an object"),
        (
            dsjson,
            '{"c": {}, "_label_Action": 3, "_label_probability": 1, "_label_cost": 0, "a": [1, 2]}',
            "has room for action 3, got a: 2",
        ),
    ],
)
def test_what_cannot_be_meant(parse, line, message):
    with pytest.raises(BadLineError, match=message):
        parse(line)


@given(st.sampled_from(sorted(FORMATS)), st.text(max_size=40))
def test_any_text_is_an_event_or_a_bad_line(name, text):
    try:
        event = FORMATS[name](text)
    except BadLineError:
        return
    assert event.action >= 0 and 0 < event.probability <= 1 and np.isfinite(event.loss)
