"""Logs with names: frames, Open Bandit files, evaluation, and trees that are learnt from them."""

import os
from pathlib import Path

import numpy as np
import pytest

from dgtrees import DGTBandit, DGTClassifier
from dgtrees.bandit import (
    DecisionLog,
    Log,
    LoggedAnswer,
    evaluate,
    fit_from_log,
    log_from_frame,
    read_open_bandit,
    robust_losses,
)
from dgtrees.errors import DataError

pd = pytest.importorskip("pandas")
NAMES = ["mail", "gift", "call"]


def frame(rows=1500, seed=0):
    """Uniform draws; the first name is best in Pune, the second in Rome, the third elsewhere."""
    rng = np.random.default_rng(seed)
    city = rng.choice(["Pune", "Rome", "Oslo"], size=rows)
    sent = rng.choice(NAMES, size=rows)
    best = np.select([city == "Pune", city == "Rome"], ["mail", "gift"], "call")
    return pd.DataFrame({
        "age": rng.integers(18, 80, size=rows), "city": city, "sent": sent, "p": 1 / 3,
        "won": (sent == best).astype(float),
    })  # fmt: skip


COLUMNS = {"action": "sent", "probability": "p", "reward": "won"}


def test_a_frame_becomes_a_log():
    log = log_from_frame(frame(20), **COLUMNS)
    assert len(log) == 20 and set(log.actions) == set(NAMES)
    assert set(log.answers[0].context) == {"age", "city"}
    assert log.losses.tolist() == [-won for won in frame(20)["won"]]
    assert set(log_from_frame(frame(20), **COLUMNS, context=["city"]).answers[0].context) == {
        "city"
    }
    half = log.take(slice(0, 10))
    assert len(half) == 10 and half.rows.equals(frame(20)[["age", "city"]][:10])
    numbers = log.to_log()
    assert isinstance(numbers, Log) and numbers.X.shape == (20, 4) and numbers.n_actions == 3
    assert [log.actions[k] for k in numbers.actions] == frame(20)["sent"].tolist()


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ({}, {"action": "none"}, "must have the column 'none', got"),
        ({}, {"loss": "won"}, "loss or reward, got both"),
        ({"p": 0.0}, {}, "row 0: probability must be above 0"),
        ({"won": np.nan}, {}, "row 0: won must be finite, got nan"),
        ({"sent": 1.5}, {}, "row 0: action must be a name or a whole number, got 1.5"),
        ({}, {"context": []}, "must have columns for contexts"),
    ],
)
def test_frames_that_are_no_logs(change, arguments, message):
    with pytest.raises(ValueError, match=message) as caught:
        log_from_frame(frame(5).assign(**change), **COLUMNS | arguments)
    assert "\n" not in str(caught.value)


class ByCity:
    """A policy on frames that is always right."""

    def predict(self, X):
        return np.select([X["city"] == "Pune", X["city"] == "Rome"], ["mail", "gift"], "call")


@pytest.mark.parametrize("method", ["ips", "snips", "dm", "dr"])
def test_evaluate_takes_frames_and_names(method):
    told = evaluate(ByCity(), frame(), method, **COLUMNS)
    assert told.low - 1e-9 <= -1.0 <= told.high and told.value == pytest.approx(-1.0, abs=0.05)
    log = log_from_frame(frame(), **COLUMNS)
    assert evaluate(ByCity().predict(frame()), log, method) == told
    always = evaluate(np.full(1500, "mail"), log, method)
    assert always.value == pytest.approx(-1 / 3, abs=0.05)


def test_a_policy_learns_from_a_log_and_is_judged_by_another():
    policy = DGTBandit(actions=NAMES, random_state=0)
    learnt = policy.learn_log(log_from_frame(frame(seed=1), **COLUMNS))
    assert learnt == {"learnt": 1500, "duplicate": 0}
    told = evaluate(policy, frame(), **COLUMNS)
    assert told.value < -0.8
    log = log_from_frame(frame(), **COLUMNS)
    chances = policy.action_probabilities(log.rows)
    order = [NAMES.index(name) for name in log.actions]
    assert evaluate(chances[:, order], log) == evaluate(policy, log) == told
    greedy = evaluate(policy.predict(log.rows), log)
    assert greedy.value <= told.value


def test_a_policy_is_judged_among_the_actions_that_were_allowed():
    policy = DGTBandit(actions=NAMES, random_state=0)
    policy.learn_log(log_from_frame(frame(seed=1), **COLUMNS))
    rng = np.random.default_rng(0)
    answers = []
    for k in range(400):
        action = ["mail", "gift"][rng.integers(2)]
        allowed = ("mail", "gift")
        answers.append(LoggedAnswer({"city": "Oslo"}, action, 0.5, float(k % 2), allowed))
    told = evaluate(policy, DecisionLog(answers))
    assert told.unseen == 0.0 and told.mean_weight == pytest.approx(1.0, abs=0.2)
    policy.retire_action("mail")
    policy.retire_action("gift")
    with pytest.raises(ValueError, match="must know some action of every answer"):
        evaluate(policy, DecisionLog(answers))


def test_logs_of_numbers_are_learnt_by_named_and_numbered_policies():
    rng = np.random.default_rng(0)
    X, actions = rng.normal(size=(600, 2)), rng.integers(0, 2, size=600)
    log = Log(X, actions, np.full(600, 0.5), (actions != (X[:, 0] > 0)) * 1.0, n_actions=2)
    for policy in (DGTBandit(2, random_state=0), DGTBandit(2, 3, "linear", random_state=0),
                   DGTBandit(actions=["no", "yes"], random_state=0)):  # fmt: skip
        assert policy.learn_log(log)["learnt"] == 600
        assert evaluate(policy.action_probabilities(X), log).value < 0.25
    policy = DGTBandit(2, random_state=0)
    with pytest.raises(ValueError, match="from 0 to 1, got 2"):
        policy.learn_log(Log(X[:1], [2], [0.5], [0.0], n_actions=3))
    assert policy.n_answers == 0


def test_a_tree_is_learnt_from_a_log():
    log = log_from_frame(frame(), **COLUMNS)
    tree = fit_from_log(DGTClassifier(max_depth=3, random_state=0), log)
    test = frame(seed=2)
    assert evaluate(tree, test, **COLUMNS).value < -0.95
    assert set(tree.classes_) == set(NAMES)


def test_robust_losses_are_right_on_average():
    """Of logs whose probabilities are right, where the model of the loss is wrong."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 1))
    p = 0.2 + 0.6 * (X[:, 0] > 0)
    actions = (rng.random(4000) < p).astype(int)
    losses = np.where(actions == 1, np.abs(X[:, 0]), 0.5)  # no line through the features
    log = Log(X, actions, np.where(actions == 1, p, 1 - p), losses, n_actions=2)
    found = robust_losses(log).mean(axis=0)
    np.testing.assert_allclose(found, [0.5, np.abs(X).mean()], atol=0.05)
    with pytest.raises(ValueError, match="folds must be a whole number from 2"):
        robust_losses(log, folds=1)
    with pytest.raises(ValueError, match="losses must differ"):
        fit_from_log(DGTClassifier(), Log(X, actions, p, np.zeros(4000), n_actions=2))
    with pytest.raises(ValueError, match="must be a Log or a DecisionLog"):
        fit_from_log(DGTClassifier(), 3)


HEADER = ",timestamp,item_id,position,click,propensity_score,user_feature_0,user-item_affinity_0\n"
ROWS = "0,now,3,1,1,0.25,abc,0.0\n1,now,0,2,0,0.5,abd,2.0\n"


def test_open_bandit_files(tmp_path):
    path, items = tmp_path / "log.csv", tmp_path / "items.csv"
    path.write_text(HEADER + ROWS)
    items.write_text(",item_id,item_feature_0,item_feature_1\n0,0,-0.5,x\n1,3,0.5,y\n")
    log = read_open_bandit(path, items, affinities=True)
    first, second = log
    assert first[:4] == ({"user_feature_0": "abc", "position": "1"}, 3, 0.25, -1.0)
    assert second.context["user-item_affinity_0"] == 2.0 and second.loss == 0.0
    assert log.action_features == {
        0: {"item_feature_0": -0.5, "item_feature_1": "x"},
        3: {"item_feature_0": 0.5, "item_feature_1": "y"},
    }
    assert log.actions == (0, 1, 2, 3)
    assert len(read_open_bandit(path, position=2)) == 1
    for text, message in {
        "a,b\n1,2\n": "must have the column 'item_id'",
        HEADER + "0,now,3\n": "line 2: must have 8 cells, got 3",
        HEADER + ROWS.replace("0.25", "0"): "line 2: probability must be above 0",
    }.items():
        path.write_text(text)
        with pytest.raises(DataError, match=message):
            read_open_bandit(path)


@pytest.mark.data
def test_open_bandit_data():
    folder = Path(os.environ["DGTREES_DATA"]) / "open_bandit"
    if not folder.exists():
        pytest.skip("the Open Bandit logs are not there")
    log = read_open_bandit(folder / "random_men.csv.xz", folder / "random_men_item_context.csv.xz")
    assert len(log) == 10_000 and len(log.actions) == 34 and log.losses.sum() == -46
    uniform = np.full((10_000, 34), 1 / 34)
    assert evaluate(uniform, log).value == pytest.approx(-0.0046)
