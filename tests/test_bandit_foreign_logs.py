"""Vowpal Wabbit's logs as contexts by name: read, learnt and judged by."""

import gzip
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgtrees import DGTBandit
from dgtrees.bandit import evaluate, read_decisions, read_log
from dgtrees.errors import DataError

NAMES = ["mail", "gift", "call"]
WORDS = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=4)
NUMBERS = st.floats(-1e6, 1e6).map(lambda value: value + 0.0)  # -0.0 is 0.0
CONTEXTS = st.dictionaries(
    WORDS, st.dictionaries(WORDS, st.one_of(NUMBERS, WORDS), max_size=3), max_size=3
)
EVENTS = st.lists(
    st.tuples(CONTEXTS, st.integers(0, 2), st.floats(1e-6, 1.0), NUMBERS), min_size=1, max_size=5
)


def flat(context):
    return {f"{space}^{key}": v for space, cells in context.items() for key, v in cells.items()}


def vw_line(context, action, probability, loss):
    spaces = [
        f"|{space} "
        + " ".join(
            f"{key}={value}" if isinstance(value, str) else f"{key}:{value!r}"
            for key, value in cells.items()
        )
        for space, cells in context.items()
    ]
    return f"{action + 1}:{loss!r}:{probability!r} {' '.join(spaces) or '|'}"


def dsjson_line(context, action, probability, loss):
    event = {"_label_cost": loss, "_label_probability": probability, "_label_Action": action + 1}
    return json.dumps({**event, "a": [1, 2, 3], "c": context})


LINES = {"vw": vw_line, "dsjson": dsjson_line}


@pytest.mark.parametrize("format", LINES)
@given(EVENTS)
def test_contexts_come_back_as_they_were_written(format, events):
    text = "\n".join(LINES[format](*event) for event in events)
    log = read_decisions(io.StringIO(text), format=format, actions=NAMES)
    assert log.actions == tuple(NAMES)
    wanted = [(flat(event[0]), NAMES[event[1]], *event[2:]) for event in events]
    assert [answer[:4] for answer in log] == wanted
    allowed = tuple(NAMES) if format == "dsjson" else None
    assert all(answer.allowed == allowed for answer in log)
    numbered = read_decisions(io.StringIO(text), format=format)
    assert [answer.action for answer in numbered] == [event[1] for event in events]


def decisions(count):
    """Of a uniform policy; in Rome a gift is right, elsewhere mail."""
    for i in range(count):
        city, action = ("Rome", "Oslo", "Pune")[i % 3], i // 3 % 2
        right = action == (city == "Rome")
        yield {"user": {"age": float(20 + i % 50), "city": city}}, action, 0.5, 0.0 - right


@pytest.mark.parametrize("format", LINES)
def test_a_policy_learns_from_them_and_decides_live(format, tmp_path):
    lines = [LINES[format](*event) for event in decisions(600)]
    paths = [tmp_path / "first.log", tmp_path / "second.log.gz"]
    paths[0].write_text("\n".join(lines[:300]))
    with gzip.open(paths[1], "wt") as file:
        file.write("\n".join(lines[300:]))
    policy = DGTBandit(actions=NAMES, random_state=0)
    first = read_decisions(paths[0], format=format, actions=NAMES)
    assert policy.learn_log(first) == {"learnt": 300, "duplicate": 0}
    both = read_decisions(*paths, format=format, actions=NAMES)
    assert len(both) == 600
    for city, best in (("Rome", "gift"), ("Oslo", "mail")):
        live = policy.decide({"user^age": 30, "user^city": city}, allowed=NAMES[:2])
        assert max(live.probabilities, key=live.probabilities.get) == best
    assert evaluate(policy, both.take(slice(300, None))).value < -0.9
    numbers = read_log(paths[0], format)
    assert numbers.feature_names[-2:] == ("user^city=Pune", "user^city=Rome")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("3:0:1 |", {"actions": ["a", "b"]}, "line 1: a line must be about the 2 actions that"),
        ("1:0:1 |\n0:0:1 |", {}, "line 2: the action must be a whole number from 1"),
        ("", {"actions": ["a", "a"]}, r"actions must be different names, got \['a', 'a'\]"),
        ("", {"unanswered": 1.0}, "lines of vw are answered, got unanswered=1.0"),
        ("", {"format": "csv"}, "format must be one of jsonl, vw, dsjson, got 'csv'"),
        ("", {"format": "jsonl", "actions": ["a"]}, r"names its actions, got actions=\['a'\]"),
    ],
)
def test_what_cannot_be_meant(text, options, message):
    with pytest.raises((DataError, ValueError), match=message):
        read_decisions(io.StringIO(text), **{"format": "vw"} | options)
