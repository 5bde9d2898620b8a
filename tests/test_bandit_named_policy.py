"""Policies in the words of their users: names, contexts, ids, forks, files.

Once around a small learner of plain NumPy and once around the one that users get.
"""

import copy
import json
import multiprocessing
import os
import pickle
import threading

import numpy as np
import pytest

import dgtrees
from dgtrees import DGTBandit
from dgtrees.bandit import Decision, LogWriter, SlateDecision, learners, read_decisions, simulate
from dgtrees.errors import ModelFileError, StateError
from dgtrees.model import file as model_file
from plain_learner import PlainLearner
from taught_policies import saved

NAMES = ["mail", "gift", "call"]
CITIES = ["Pune", "Rome", "Oslo"]


@pytest.fixture(params=["plain", "default"], autouse=True)
def learner(request, monkeypatch):
    if request.param == "plain":
        monkeypatch.setitem(learners.LEARNERS, "default", PlainLearner)
    return request.param


def contexts(count, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        context = {"age": float(rng.integers(18, 80)), "city": str(rng.choice(CITIES))}
        if rng.random() < 0.3:
            context["vip"] = bool(rng.random() < 0.5)
        yield context


def cost(context, action):
    return float(NAMES.index(action) != CITIES.index(context["city"]))


def taught(count=200, **options):
    policy = DGTBandit(actions=NAMES, random_state=0, **options)
    for context in contexts(count):
        decision = policy.decide(context)
        policy.learn(context, decision, loss=cost(context, decision.action))
    return policy


def test_learns_from_contexts_with_names():
    policy = taught(400)
    new = list(contexts(100, seed=1))
    assert np.mean([cost(c, a) == 0 for c, a in zip(new, policy.predict(new), strict=True)]) > 0.95
    assert policy.actions == NAMES and policy.n_actions == 3 and policy.n_answers == 400
    assert policy.feature_names_[:2] == ["age", f"city={next(contexts(1))['city']}"]
    assert policy.encode(new).shape == (100, policy.n_features)
    best = policy.expected_loss(new).argmin(axis=1)
    assert [NAMES[k] for k in best] == policy.predict(new).tolist()


def test_a_decision_tells_all_there_is_to_know():
    policy = taught()
    context = {"age": 20.0, "city": "Rome"}
    chances = policy.action_probabilities([context])[0]
    decision = policy.decide(context)
    assert decision.probabilities == dict(zip(NAMES, chances.tolist(), strict=True))
    assert decision.probability == decision.probabilities[decision.action]
    assert sum(decision.probabilities.values()) == pytest.approx(1.0)
    assert decision.policy == policy.id and decision.number == 201
    assert Decision.from_json(decision.to_json()) == decision
    some = policy.decide(context, allowed=["call", "mail"])
    assert set(some.probabilities) == {"mail", "call"}
    assert sum(some.probabilities.values()) == pytest.approx(1.0)
    assert policy.decide(context, allowed=["call"])[:2] == ("call", 1.0)


def test_draws_have_the_probabilities_that_are_told():
    policy, context = taught(40), {"age": 20.0, "city": "Rome"}
    for allowed in (None, ["mail", "call"]):
        counts, draws = dict.fromkeys(NAMES, 0), 4000
        for _ in range(draws):
            decision = policy.decide(context, allowed=allowed)
            counts[decision.action] += 1
        for name, chance in decision.probabilities.items():
            error = np.sqrt(chance * (1 - chance) / draws)
            assert abs(counts[name] / draws - chance) <= 4.5 * error + 1e-12


def test_several_actions_at_once():
    policy, context = taught(40), {"age": 20.0, "city": "Rome"}
    counts, draws = dict.fromkeys(NAMES, 0), 4000
    for _ in range(draws):
        slate = policy.decide(context, k=2)
        assert len(set(slate.actions)) == 2
        for name in slate.actions:
            counts[name] += 1
    assert sum(slate.probabilities.values()) == pytest.approx(2.0)
    for name, chance in slate.probabilities.items():
        error = np.sqrt(chance * (1 - chance) / draws)
        assert abs(counts[name] / draws - chance) <= 4.5 * error + 1e-12
    assert SlateDecision.from_json(slate.to_json()) == slate
    told = [
        policy.learn(context, slate, 0.5, action=name) for name in (*slate.actions, slate[0][0])
    ]
    assert told == ["learnt", "learnt", "duplicate"]
    with pytest.raises(ValueError, match="learnt one action at a time"):
        policy.learn(context, slate, 0.5)
    other = next(name for name in NAMES if name not in slate.actions)
    with pytest.raises(ValueError, match="action must be one of"):
        policy.learn(context, slate, 0.5, action=other)
    assert policy.decide(context, k=1).action in NAMES
    for k, message in [(4, "from 1 to 3, got 4: allow more"), (0, "got 0"), (True, "got True")]:
        with pytest.raises(ValueError, match=message):
            policy.decide(context, k=k)
    with pytest.raises(ValueError, match="from 1 to 1, got 2"):
        policy.decide(context, allowed=["mail"], k=2)


BAD = {
    "unknown action": (
        lambda p, c, d: p.decide(c, allowed=["sms"]),
        "one of .*got 'sms': call add",
    ),
    "text for names": (lambda p, c, d: p.decide(c, allowed="mail"), r"give \['...'\]"),
    "no action": (lambda p, c, d: p.decide(c, allowed=[]), "at least one action, got none"),
    "nested": (lambda p, c, d: p.decide({"a": {"b": 1}}), "must not be nested"),
    "nested answer": (lambda p, c, d: p.learn({"a": [1]}, d, 0.5), "must not be nested"),
    "a row": (lambda p, c, d: p.learn([1.0, 2.0], d, 0.5), "must have names as the first"),
    "losses": (lambda p, c, d: p.learn(c, d, [0.1, 0.2]), r"one number, got \[0.1, 0.2\]: a deci"),
    "no loss": (lambda p, c, d: p.learn(c, d), "a loss or a reward, got neither"),
    "both": (lambda p, c, d: p.learn(c, d, 0.5, reward=1.0), "a loss or a reward, got both"),
    "NaN": (
        lambda p, c, d: p.learn(c, d, np.nan),
        "loss must be a number of at most 1e.12, got nan",
    ),
    "infinite": (
        lambda p, c, d: p.learn(c, d, reward=-np.inf),
        "reward must be a number of at most",
    ),
    "text": (lambda p, c, d: p.learn(c, d, "much"), "loss must be a number, got 'much'"),
    "nothing": (lambda p, c, d: p.learn(c, loss=1.0), "the decision, or action= and probability="),
    "no chance": (lambda p, c, d: p.learn(c, action="mail", loss=1.0), "got action='mail' and pr"),
    "chance 0": (lambda p, c, d: p.learn(c, None, 1.0, action="mail", probability=0.0), "above 0"),
    "chance too": (lambda p, c, d: p.learn(c, d, 1.0, probability=0.5), "part of the decision"),
    "another": (lambda p, c, d: p.learn(c, d, 1.0, action="sms"), "action must be that of the dec"),
    "foreign": (
        lambda p, c, d: p.learn(c, d._replace(policy="x"), 1.0),
        "give its action= and pro",
    ),
    "unknown": (lambda p, c, d: p.learn(c, d._replace(action="sms"), 1.0), "one of .*got 'sms'"),
    "many": (lambda p, c, d: p.learn_many([c, [1.0]], [d, d], [0.1, 0.2]), "must have names as"),
    "many losses": (lambda p, c, d: p.learn_many([c, c], [d, d], [0.1, None]), "got neither"),
    "retire": (lambda p, c, d: p.retire_action("sms"), "one of .*got 'sms'"),
    "add": (lambda p, c, d: p.add_action("mail"), "different names, got 'mail' twice"),
    "add number": (lambda p, c, d: p.add_action(3), "all text, got 3"),
    "add nested": (lambda p, c, d: p.add_action("sms", {"a": []}), "must not be nested"),
    "add row": (lambda p, c, d: p.add_action("sms", [1.0]), "must be a dict, got"),
    "seed": (lambda p, c, d: p.fork(-1), "seed must be a whole number from 0"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_refused_changes_nothing(case, tmp_path):
    call, message = BAD[case]
    policy, context = taught(20), {"age": 20.0, "city": "Rome", "new": "x"}
    decision = policy.decide(context)
    before = saved(policy, tmp_path)
    with pytest.raises(ValueError, match=message) as caught:
        call(policy, context, decision)
    assert "\n" not in str(caught.value)
    assert saved(policy, tmp_path) == before
    assert policy.learn(context, decision, 0.5) == "learnt"


@pytest.mark.parametrize("shift", [(0.0, 1.0), (-5.0, 0.001), (1e4, 1e3)])
def test_rewards_of_any_range(shift, learner):
    if learner == "plain":
        pytest.skip("a ridge regression is no learner for any range")
    policy = DGTBandit(actions=NAMES, random_state=0)
    for context in contexts(400):
        decision = policy.decide(context)
        reward = shift[0] + shift[1] * (1.0 - cost(context, decision.action))
        policy.learn(context, decision, reward=reward)
    new = list(contexts(60, seed=1))
    assert np.mean([cost(c, a) == 0 for c, a in zip(new, policy.predict(new), strict=True)]) > 0.9


def test_decisions_of_others():
    policy = DGTBandit(actions=NAMES, random_state=0)
    for i, context in enumerate(contexts(300)):
        action = NAMES[i % 3]
        told = policy.learn(context, action=action, probability=1 / 3, loss=cost(context, action))
        assert told == "learnt"
    assert policy.n_answers == 300 and policy.n_decisions == 0
    new = list(contexts(60, seed=1))
    assert np.mean([cost(c, a) == 0 for c, a in zip(new, policy.predict(new), strict=True)]) > 0.9


def test_actions_come_and_go(tmp_path):
    policy = taught()
    pending = policy.decide({"age": 30.0, "city": "Oslo"}, allowed=["call"])
    policy.retire_action("call")
    assert policy.actions == ["mail", "gift"]
    assert set(policy.decide({"city": "Oslo"}).probabilities) == {"mail", "gift"}
    assert "call" not in policy.predict(list(contexts(50)))
    assert policy.learn({"age": 30.0, "city": "Oslo"}, pending, 0.0) == "learnt"
    with pytest.raises(ValueError, match="which was retired"):
        policy.decide({"city": "Oslo"}, allowed=["call", "mail"])
    with pytest.raises(ValueError, match="got 'call' again"):
        policy.retire_action("call")
    policy.add_action("sms")
    assert policy.actions == ["mail", "gift", "sms"] and policy.n_actions == 4
    assert set(policy.decide({"city": "Oslo"}).probabilities) == {"mail", "gift", "sms"}
    policy.add_action("call")  # back, with all it had learnt
    assert policy.n_actions == 4 and policy.actions == [*NAMES, "sms"]
    policy.save(tmp_path / "p.dgt")
    twin = dgtrees.load(tmp_path / "p.dgt")
    assert twin.actions == policy.actions and saved(twin, tmp_path) == saved(policy, tmp_path)
    for name in ("mail", "gift", "sms"):
        policy.retire_action(name)
    with pytest.raises(ValueError, match="one action must stay in use"):
        policy.retire_action("call")


def test_a_new_action_starts_from_those_it_resembles():
    features = {"a": {"price": 1.0, "kind": "x"}, "b": {"price": 9.0, "kind": "y"}}
    policies = {}
    for name, told in {"like b": {"price": 8.5, "kind": "y"}, "unlike": None}.items():
        policy = DGTBandit(actions=["a", "b"], action_features=features, random_state=0)
        for i in range(400):
            x = {"u": (-1.0) ** (i // 2)}
            action = "ab"[i % 2]
            policy.learn(
                x, action=action, probability=0.5, reward=x["u"] * (1 if action == "b" else -1)
            )
        policy.add_action("new", told)
        policies[name] = policy.expected_loss([{"u": 1.0}, {"u": -1.0}])
    near = np.abs(policies["like b"][:, 2] - policies["like b"][:, 1])
    far = np.abs(policies["like b"][:, 2] - policies["like b"][:, 0])
    assert (near < 0.5 * far).all()
    assert policies["like b"][0, 2] < policies["like b"][1, 2] - 0.5


def test_a_policy_goes_on_from_its_file_and_from_copies(tmp_path):
    policy = taught()
    waiting = [(c, policy.decide(c)) for c in contexts(20, seed=3)]
    policy.save(tmp_path / "p.dgt")
    loaded = dgtrees.load(tmp_path / "p.dgt")
    twins = [loaded, copy.deepcopy(policy), copy.copy(policy), pickle.loads(pickle.dumps(policy))]
    for twin in twins:
        assert saved(twin, tmp_path) == saved(policy, tmp_path)
    for twin in (policy, *twins):
        for context, decision in reversed(waiting):
            line = json.loads(decision.to_json())
            twin.learn(context, Decision.from_json(line), cost(context, decision.action))
        assert twin.learn(*waiting[0], 1.0) == "duplicate"
    for context in [*contexts(60, seed=4), {"brand": "new", "age": None}]:
        taken = []
        for twin in (policy, *twins):
            decision = twin.decide(context)
            twin.learn(context, decision, 0.25)
            taken.append(decision)
        assert len({d[:4] for d in taken}) == 1 and len({d.id for d in taken}) == len(taken)
    new = list(contexts(30, seed=5))
    for twin in twins:
        assert saved(twin, tmp_path) == saved(policy, tmp_path)
        np.testing.assert_array_equal(twin.expected_loss(new), policy.expected_loss(new))
        assert twin.feature_names_ == policy.feature_names_ and twin.n_answers == policy.n_answers


def test_a_policy_that_has_seen_nothing(tmp_path):
    policy = DGTBandit(actions=NAMES, random_state=0)
    with pytest.raises(StateError, match="call decide first"):
        policy.predict([{"a": 1}])
    policy.save(tmp_path / "p.dgt")
    twin = dgtrees.load(tmp_path / "p.dgt")
    decisions = [one.decide({"a": 1}) for one in (policy, twin)]
    assert decisions[0][:4] == decisions[1][:4]
    assert policy.n_features == 1 and policy.feature_names_ == []


def test_numbered_actions_and_arrays():
    policy = DGTBandit(3, random_state=0)
    rng = np.random.default_rng(0)
    for x in rng.normal(size=(300, 3)):
        decision = policy.decide(x)
        policy.learn(x, decision, float(decision.action != x.argmax()))
    X = rng.normal(size=(100, 3))
    assert policy.predict(X).dtype.kind == "i"
    assert (policy.predict(X) == X.argmax(axis=1)).mean() > 0.8
    assert type(decision.action) is int
    gap = policy.decide([0.5, None, 0.1])
    assert policy.learn([0.5, np.nan, 0.1], gap, 0.3) == "learnt"
    assert policy.feature_names_ == ["x0", "x1", "x2", "x1 missing"]
    assert policy.learn([0.5, "text", 0.1], policy.decide([0.5, "text", 0.1]), 0.3) == "learnt"
    assert policy.predict(X).shape == (100,)


def test_a_stream_of_labels_is_one_decision_after_the_other(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.array(NAMES)[X.argmax(axis=1)]
    one, other = (DGTBandit(actions=NAMES, random_state=0) for _ in "ab")
    other.id = one.id
    curve = simulate(one, X, y, X_test=X, y_test=y, queries=200, random_state=5)
    passes = np.random.default_rng(5)
    order = np.concatenate([passes.permutation(120) for _ in "ab"])[:200]
    losses = []
    for row in order:
        decision = other.decide(X[row])
        losses.append(float(decision.action != y[row]))
        other.learn(X[row], decision, losses[-1])
    assert saved(one, tmp_path) == saved(other, tmp_path)
    assert curve.progressive[-1] == pytest.approx(1 - np.mean(losses))
    assert curve.held_out[-1] == pytest.approx(np.mean(one.predict(X) == y))
    with pytest.raises(ValueError, match=r"names of the policy's actions, .*got 'sms'"):
        simulate(one, X, np.full(120, "sms"))


def test_a_stream_of_a_frame_with_texts():
    pd = pytest.importorskip("pandas")
    rows = list(contexts(300))
    y = [NAMES[CITIES.index(row["city"])] for row in rows]
    for loss in (None, lambda action, label: float(action != label)):
        policy = DGTBandit(actions=NAMES, random_state=0)
        curve = simulate(policy, pd.DataFrame(rows), y, X_test=rows[:50], y_test=y[:50], loss=loss)
        score = curve.held_out[-1]
        assert (score if loss is None else 1 - score) > 0.9


def test_explanations():
    policy = taught(400)
    told = policy.explain({"age": 30.0, "city": "Rome"}, allowed=["mail", "gift"])
    assert told.best == "gift" and set(told.expected_loss) == {"mail", "gift"}
    assert list(told.expected_loss.values()) == sorted(told.expected_loss.values())
    text = str(told)
    assert text.startswith("after 400 answers, an action is expected to cost") and "gift" in text
    assert "<td>gift</td>" in told._repr_html_()
    assert json.loads(json.dumps(told.to_dict()))["n_answers"] == 400
    escaped = DGTBandit(actions=["<b>", "c"], random_state=0)
    escaped.decide({"a": 1})
    assert "&lt;b&gt;" in escaped.explain({"a": 1})._repr_html_()


def test_forks_know_the_same_and_draw_for_themselves(tmp_path):
    policy = taught(3)
    workers = [policy.fork(seed=seed) for seed in range(4)]
    same = list(contexts(400, seed=9))
    draws = {tuple(worker.decide(c).action for c in same) for worker in (policy, *workers)}
    assert len(draws) == 5
    again = policy.fork(seed=2)
    assert again.id == policy.id and again.random_state == 2
    assert np.array_equal(again.expected_loss(same), policy.expected_loss(same))
    assert tuple(again.decide(c).action for c in same) in draws
    one, other = policy.fork(), policy.fork()
    assert one._seed != other._seed
    decision = workers[0].decide(same[0])
    assert policy.learn(same[0], decision, 0.5) == "learnt"  # a fork's decision is the policy's
    assert policy.learn(same[0], decision, 0.5) == "duplicate"


def test_eight_threads_lose_no_answer(tmp_path):
    policy, path = taught(3), tmp_path / "log.jsonl"
    twin, log, drawn = copy.deepcopy(policy), LogWriter(path), threading.Barrier(8)
    draws, told, errors = [], [], []

    def work(thread):
        try:
            # Nobody has learnt enough yet to prefer an action: all draws are random.
            draws.append(tuple(policy.decide({"age": 30.0}).action for _ in range(40)))
            drawn.wait(60)
            for i in range(25):
                context = {"age": float(thread), "city": CITIES[i % 3], f"key {thread}": 1.0}
                decision = policy.decide(context)
                loss = cost(context, decision.action)
                log.write(context, decision, loss)
                told.append(policy.learn(context, decision, loss))
        except Exception as error:  # pragma: no cover
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close()
    assert not errors
    assert len(set(draws)) == 8 and told == ["learnt"] * 200
    assert policy.n_answers == 203 and policy.n_decisions == 8 * 65 + 3
    assert all(f"key {number}" in policy.feature_names_ for number in range(8))
    logged = read_decisions(path)
    assert len({answer.id for answer in logged}) == len(logged) == 200
    assert policy.learn_log(logged) == {"learnt": 0, "duplicate": 200}
    assert twin.learn_log(logged) == {"learnt": 200, "duplicate": 0}
    assert sorted(twin.feature_names_) == sorted(policy.feature_names_)


def serve(policy, path):
    """What a worker process does: decide, log, and learn by itself meanwhile."""
    draws = [policy.decide(context).action for context in contexts(400, seed=7)]
    path.with_suffix(".draws").write_text(" ".join(draws))
    with LogWriter(path) as log:
        for context in contexts(30, seed=100):
            decision = policy.decide(context)
            loss = cost(context, decision.action)
            log.write(context, decision)
            log.write_loss(decision, loss)
            policy.learn(context, decision, loss)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes fork on POSIX only")
@pytest.mark.parametrize("forks", ["policy.fork", "os.fork alone"])
def test_four_forked_processes_and_their_merged_log(forks, tmp_path):
    policy = taught(3)
    fork = multiprocessing.get_context("fork")
    paths = [tmp_path / f"{number}.jsonl" for number in range(4)]
    jobs = []
    for number, path in enumerate(paths):
        worker = policy.fork(seed=number) if forks == "policy.fork" else policy
        jobs.append(fork.Process(target=serve, args=(worker, path)))
    for job in jobs:
        job.start()
    for job in jobs:
        job.join(60)
        assert job.exitcode == 0
    # The same contexts in all processes: their draws and ids must differ all the same.
    assert len({path.with_suffix(".draws").read_text() for path in paths}) == 4
    merged = read_decisions(*paths)
    assert len({answer.id for answer in merged}) == len(merged) == 120
    assert [answer.id for answer in merged] == sorted(answer.id for answer in merged)
    twin = copy.deepcopy(policy)
    assert policy.learn_log(merged) == {"learnt": 120, "duplicate": 0}
    for answer in merged:  # in one process, one after the other
        decision = Decision(answer.action, answer.probability, answer.policy, 1, answer.id)
        assert twin.learn(answer.context, decision, answer.loss) == "learnt"
    assert saved(policy, tmp_path) == saved(twin, tmp_path)
    assert policy.learn_log(merged) == {"learnt": 0, "duplicate": 120}


@pytest.mark.parametrize(
    "change",
    [
        {"n_features": 99},
        {"columns": None},
        {"learner": None},
        {"recipe_name": "paper"},
        {"actions": {"names": ["a", "b"], "retired": [], "features": []}},
        {"actions": {"names": [*NAMES[:2], "mail"], "retired": [], "features": []}},
        {"learner": {"settings": {}, "forms": {}}},
        {"seed": "x"},
        {"parameters": {}},
    ],
)
def test_files_that_do_not_fit_are_refused(change, tmp_path):
    taught(30).save(tmp_path / "p.dgt")
    header, arrays = model_file.read(tmp_path / "p.dgt")
    kept = {name: value for name, value in header.items() if not name.startswith("array")}
    model_file.write(tmp_path / "q.dgt", kept | change, arrays)
    with pytest.raises(ModelFileError, match="not a valid DGTBandit") as caught:
        dgtrees.load(tmp_path / "q.dgt")
    assert "\n" not in str(caught.value)
