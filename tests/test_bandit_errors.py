"""What one can do wrong with a policy, a log or a stream: one line, and nothing half changed.

A line says the rule, the value, and what to do next. Beside it stand the tests of single modules.
"""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dgtrees import DGTBandit, DGTClassifier, DGTContinuousBandit
from dgtrees.bandit import (
    Decision,
    Log,
    LogWriter,
    SlateDecision,
    evaluate,
    fit_from_log,
    log_from_frame,
    read_decisions,
    read_log,
    read_open_bandit,
    simulate,
    write_log,
)
from dgtrees.errors import DataError

CONTEXT = {"age": 30.0, "city": "Pune"}
LOG = {"X": np.zeros((4, 2)), "actions": [0, 1, 0, 1], "probabilities": [0.5] * 4}
LOG |= {"losses": [0.0, 1.0, 0.0, 1.0], "n_actions": 2}
FRAME = pd.DataFrame(
    {"age": np.arange(20.0), "action": ["mail", "gift"] * 10, "probability": 0.5, "loss": 0.5}
)


@pytest.fixture(scope="module")
def policy():
    """One that has learnt a little."""
    found = DGTBandit(actions=["mail", "gift", "call"], random_state=0)
    for age in range(30):
        context = {"age": float(age), "city": "Pune" if age % 3 else "Rome"}
        found.learn(context, found.decide(context), loss=float(age % 2))
    return found


def refused(what, *parts, kind=ValueError):
    """Refused in one line of a bearable length that has these parts in it."""
    with pytest.raises(kind) as caught:
        what()
    line = str(caught.value)
    assert "\n" not in line
    assert len(line) < 400
    for part in parts:
        assert part in line, line


def known(policy, path: Path) -> bytes:
    """All that a policy knows: its file."""
    policy.save(path)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ({"n_actions": ["mail", "gift"]}, ("got ['mail', 'gift']", "actions=[...]")),
        ({"n_actions": 1}, ("from 2", "got 1", "say how many")),
        ({"actions": {"mail"}}, ("a list of names", "give a list")),
        ({"actions": {"mail": {"cost": 1}, "gift": {}}}, ("a list of names", "action_features=")),
        ({"actions": ["mail", "mail"]}, ("'mail' twice", "choose another")),
        ({"n_actions": 2, "loss_range": (1, 0)}, ("must ascend", "1 and 0", "exchange")),
    ],
)
def test_policies_that_cannot_be(given, parts):
    refused(lambda: DGTBandit(**given), *parts)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda p, d: p.learn(CONTEXT, d, math.nan),
        lambda p, d: p.learn(CONTEXT, d, "1"),
        lambda p, d: p.learn(CONTEXT, d, True),
        lambda p, d: p.learn(CONTEXT, d, None),
        lambda p, d: p.learn(CONTEXT, d, [1.0]),
        lambda p, d: p.learn(CONTEXT, d, 1.0, reward=1.0),
        lambda p, d: p.learn({"age": [30]}, d, 1.0),
        lambda p, d: p.learn({"new": math.inf}, d, 1.0),
        lambda p, d: p.learn([1.0, 2.0], d, 1.0),
        lambda p, d: p.learn({"new": 1.0}, d._replace(action="sms"), 1.0),
        lambda p, d: p.learn({"new": 1.0}, d._replace(probability=-0.5), 1.0),
        lambda p, d: p.learn({"new": 1.0}, d._replace(probability=math.nan), 1.0),
        lambda p, d: p.learn({"new": 1.0}, d._replace(id="zzz"), 1.0),
        lambda p, d: p.learn({"new": 1.0}, d._replace(policy="another"), 1.0),
        lambda p, d: p.learn({"new": 1.0}, loss=1.0, action="mail", probability=0.0),
        lambda p, d: p.learn({"new": 1.0}, loss=1.0, action="sms", probability=0.5),
        lambda p, d: p.learn_many([{"new": 1.0}] * 2, [d, d], [1.0, math.nan]),
        lambda p, d: p.learn_many([{"new": 1.0}, {"age": [1]}], [d, d], [1.0, 1.0]),
        lambda p, d: p.decide(CONTEXT, allowed=["sms"]),
        lambda p, d: p.decide(CONTEXT, allowed=[]),
        lambda p, d: p.decide(CONTEXT, allowed="mail"),
        lambda p, d: p.decide(CONTEXT, k=4),
        lambda p, d: p.decide(None),
        lambda p, d: p.decide({"age": 1j}),
        lambda p, d: p.predict([1.0, 2.0]),
        lambda p, d: p.add_action("sms", {"cost": [1]}),
        lambda p, d: p.add_action("mail"),
        lambda p, d: p.retire_action("sms"),
    ],
)
def test_what_is_refused_changes_nothing(policy, tmp_path, wrong):
    mine = copy.deepcopy(policy)
    d = mine.decide(CONTEXT)
    before = known(mine, tmp_path / "policy.dgt")
    refused(lambda: wrong(mine, d))
    assert known(mine, tmp_path / "policy.dgt") == before


def test_a_slate_with_damaged_probabilities(policy):
    mine = copy.deepcopy(policy)
    d = mine.decide(CONTEXT, k=2)
    damaged = d._replace(probabilities={})
    refused(
        lambda: mine.learn(CONTEXT, damaged, 1.0, action=d.actions[0]), "log what decide returns"
    )


def test_single_rows_where_many_are_meant(policy):
    refused(lambda: policy.predict([1.0, 2.0]), "X must be rows", "got 1.0", "pass [x]")


# Files


@pytest.mark.parametrize(
    ("given", "kind", "parts"),
    [
        (None, TypeError, ("got None", "name one")),
        (3.5, TypeError, ("got 3.5", "name one")),
        ("", DataError, ("''", "check path")),
        ("a\0b", DataError, ("null byte", "check path")),
        ("no/such/folder.jsonl", DataError, ("No such file", "check path")),
    ],
)
def test_logs_that_cannot_be_opened(given, kind, parts):
    refused(lambda: LogWriter(given), *parts, kind=kind)


def test_what_no_reader_would_take_is_not_written(policy, tmp_path):
    mine = copy.deepcopy(policy)
    d, slate = mine.decide(CONTEXT), mine.decide(CONTEXT, k=2)
    path = tmp_path / "log.jsonl"
    with LogWriter(path) as log:
        for wrong in (-0.5, 0.0, math.nan, "x", None):
            refused(lambda w=wrong: log.write(CONTEXT, d._replace(probability=w)), "probability")
        refused(lambda: log.write(CONTEXT, d._replace(action=None)), "action must be")
        refused(lambda: log.write(CONTEXT, d._replace(probabilities={})._replace(action="")))
        refused(lambda: log.write(CONTEXT, slate._replace(probabilities={})), "probabilities")
        refused(lambda: log.write({"age": [1]}, d), "nested")
        for wrong in (None, 3, d._asdict()):
            refused(lambda w=wrong: log.write_loss(w, 1.0), "or its id", kind=TypeError)
        refused(lambda: log.write_loss("zzz", 1.0), "26 characters", "'zzz'")
        refused(lambda: log.write_loss(d, 1.0, action="sms"), "that of the decision", "leave it")
        refused(lambda: log.write_loss(slate, 1.0, action="sms"), "one of", "'sms'")
        refused(lambda: log.write_loss(slate.id, 1.0, action={1}), "a name or a whole number")
        assert path.read_bytes() == b""
        log.write(CONTEXT, Decision(np.int64(3), np.float64(0.5), probabilities={3: 0.5}), 1.0)
    assert read_decisions(path).answers[0][1:4] == (3, 0.5, 1.0)


def lines_of(policy) -> dict[str, object]:
    d = policy.decide(CONTEXT)
    return {"context": CONTEXT, "decision": json.loads(d.to_json()), "loss": 0.5}


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"loss": math.nan}, ("loss must be finite", "drop the line")),
        ({"loss": None}, ("loss must be a number, got None", "drop the line")),
        ({"context": {"age": [1]}}, ("must not be nested", "keys of their own")),
        ({"context": None}, ("an object or a list", "drop the line")),
        ({"decision": 3}, ("got 3", "log what to_json returns")),
        ({"probability": -0.5}, ("probability must be above 0", "-0.5")),
        ({"probabilities": {"sms": 1.0}}, ("must have the action", "log what to_json")),
        ({"id": "zzz"}, ("26 characters", "'zzz'")),
    ],
)
def test_a_damaged_line_is_named_and_nothing_is_learnt(policy, tmp_path, change, parts):
    mine = copy.deepcopy(policy)
    good, bad = lines_of(mine), lines_of(mine)
    whole = all(key in bad for key in change)
    (bad if whole else bad["decision"]).update(change)
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (good, bad)))
    before = known(mine, tmp_path / "policy.dgt")
    refused(lambda: mine.learn_log(path), "line 2: ", *parts, kind=DataError)
    assert known(mine, tmp_path / "policy.dgt") == before


def test_an_unknown_action_of_a_log_is_placed(policy, tmp_path):
    log = log_from_frame(FRAME.assign(action=["mail"] * 19 + ["sms"]))
    before = known(policy, tmp_path / "policy.dgt")
    refused(lambda: policy.learn_log(log), "answer 19 of the log", "'sms'", "call add_action")
    assert known(policy, tmp_path / "policy.dgt") == before


@pytest.mark.parametrize("source", [None, 3, FRAME, ["a.jsonl", "b.jsonl"], {"x": 1}])
def test_what_is_no_log(policy, source):
    refused(lambda: policy.learn_log(source), "got", kind=TypeError)


def test_readers_without_a_file():
    refused(lambda: read_decisions(), "got none", "name its path")
    for read in (read_decisions, read_log, read_open_bandit):
        refused(lambda r=read: r(None), "a path or an open stream", "got None", kind=TypeError)
    refused(lambda: read_decisions("log.jsonl", unanswered=math.nan), "unanswered", "got nan")
    for actions in (3, "ab"):
        refused(
            lambda a=actions: read_decisions("log.vw", format="vw", actions=a), "a list of names"
        )


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ({"context": "age"}, ("a list of columns", "'age'", "give")),
        ({"context": ["age", "loss"]}, ("known before the decision", "'loss'", "leave it out")),
        ({"loss": "loss", "reward": "loss"}, ("got both", "leave one out")),
    ],
)
def test_frames_told_wrongly(given, parts):
    refused(lambda: log_from_frame(FRAME, **given), *parts)


def test_frames_with_wrong_cells():
    twice = pd.concat([FRAME, FRAME[["age"]]], axis=1)
    refused(lambda: log_from_frame(twice), "'age' twice", "rename")
    for name, cell in (("loss", "x"), ("action", None), ("age", [1]), ("probability", -1.0)):
        frame = FRAME.astype(object)
        frame.at[3, name] = cell
        refused(lambda f=frame: log_from_frame(f), "row 3: ", "got")


# Judging, learning from logs, streams


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ({"confidence": "x"}, ("confidence must be a number", "'x'")),
        ({"confidence": 95}, ("between 0 and 1", "got 95")),
        ({"ridge": "x"}, ("ridge must be a number",)),
        ({"method": "dr", "folds": 2.5}, ("folds must be a whole number", "2.5")),
        ({"method": "dr", "random_state": "x"}, ("random_state", "'x'")),
    ],
)
def test_judging_told_wrongly(given, parts):
    refused(lambda: evaluate(["mail"] * 20, FRAME, **given), *parts)


def test_judging_what_is_no_policy():
    for wrong in (None, "mail", DGTBandit):
        refused(lambda w=wrong: evaluate(w, FRAME), "policy must be", kind=TypeError)
    refused(lambda: evaluate(["mail"] * 0, FRAME[:0]), "at least", "got 0")


def test_trees_from_logs_told_wrongly():
    log = log_from_frame(FRAME)
    for wrong in (None, DGTClassifier):
        refused(lambda w=wrong: fit_from_log(w, log), "a method fit", kind=TypeError)
    refused(lambda: fit_from_log(DGTClassifier(), FRAME), "log_from_frame it")
    refused(lambda: fit_from_log(DGTClassifier(), None), "read_decisions it")
    refused(lambda: fit_from_log(DGTClassifier(), log.take([0])), "at least 2 rows")
    refused(lambda: fit_from_log(DGTClassifier(), log, folds="x"), "folds")
    refused(lambda: fit_from_log(DGTClassifier(), log, cap=-1.0), "cap must be", "-1.0")


@pytest.mark.parametrize("name", ["X", "losses", "probabilities", "n_actions"])
def test_logs_of_texts(name):
    wrong = [["a"]] if name == "X" else "a"
    refused(lambda: Log(**LOG | {name: wrong}), name, "got")


def test_logs_written_the_wrong_way_round(tmp_path):
    refused(
        lambda: write_log(tmp_path / "a.jsonl", Log(**LOG)), "write_log(log, path)", kind=TypeError
    )


def test_streams_told_wrongly():
    X, y = np.zeros((10, 2)), np.arange(10) % 2
    for wrong in (None, "x", DGTBandit, DGTClassifier()):
        refused(lambda w=wrong: simulate(w, X, y), "must decide, learn and predict", kind=TypeError)
    mine = DGTBandit(n_actions=2, random_state=0)
    refused(lambda: simulate(mine, X, y, random_state="x"), "random_state", "'x'")
    refused(lambda: simulate(mine, X, y, checkpoints=[0]), "between 1 and the last query")
    refused(lambda: simulate(mine, X, y, reference="x"), "a method predict", kind=TypeError)
    refused(lambda: simulate(mine, X[:, 0], y), "X must be rows", "got")
    assert mine.n_features is None


def test_streams_of_rows_unlike_each_other_change_nothing(policy, tmp_path):
    before = known(policy, tmp_path / "policy.dgt")
    rows = [{"age": 1.0, "never seen": 1.0}, [1.0, 2.0]]
    refused(lambda: simulate(policy, rows, ["mail", "gift"]), "must have names")
    assert known(policy, tmp_path / "policy.dgt") == before


def test_pairs_of_losses():
    mine = DGTContinuousBandit(0.0, 1.0, feedback="two-point", random_state=0)
    d = mine.decide([1.0])
    for wrong in (None, 1.0, [1.0], "ab", {1: 2, 3: 4}):
        refused(lambda w=wrong: mine.learn([1.0], d, w), "a pair of losses", "in the order")


def test_slates_know_their_probabilities():
    slate = SlateDecision(("mail",), {"gift": 1.0})
    refused(lambda: slate.probability_of("mail"), "log what decide returns")
