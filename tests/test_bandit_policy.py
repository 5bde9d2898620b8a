"""DGTBandit and DGTContinuousBandit: the contract of decide, learn, save and load."""

import copy
import pickle
import threading
from dataclasses import replace

import numpy as np
import pytest

import dgtrees
from dgtrees import BanditRecipe, DGTBandit, DGTContinuousBandit
from dgtrees.bandit import (
    ContinuousDecision,
    DecayingEpsilon,
    Decision,
    Epsilon,
    Greedy,
    InverseGap,
    Log,
    Softmax,
    evaluate,
)
from dgtrees.bandit.online_recipe import RECIPES
from dgtrees.errors import ModelFileError, StateError
from dgtrees.model import file as model_file
from dgtrees.tables.encoder import Encoder, columns_of
from dgtrees.tree.state import view_state

RULES = [Epsilon(0.3), DecayingEpsilon(50, 0.1), Softmax(0.5), InverseGap(2.0, 0.5), Greedy()]
X = np.random.default_rng(0).normal(size=(400, 5)) * [1, 10, 0.1, 1, 1] + [0, 5, 0, 0, 0]
Y = (X[:, 0] > 0) + 2 * (X[:, 1] > 5)


def saved(policy, tmp_path):
    path = tmp_path / "bytes.dgt"
    policy.save(path)
    return path.read_bytes()


def teach(policy, rows=range(200)):
    for i in rows:
        decision = policy.decide(X[i])
        policy.learn(X[i], decision, float(decision.action != Y[i]))
    return policy


def teach_value(policy, rows=range(200)):
    for i in rows:
        decision = policy.decide(X[i])
        losses = [(action - Y[i]) ** 2 for action in decision.actions]
        policy.learn(X[i], decision, losses if len(losses) == 2 else losses[0])
    return policy


def test_learns_what_only_losses_tell():
    policy = DGTBandit(4, 4, random_state=0)
    for passes in range(10):
        teach(policy, np.random.default_rng(passes).permutation(400))
    assert (policy.predict(X) == Y).mean() > 0.95
    loss = policy.expected_loss(X)
    assert loss[np.arange(400), Y].mean() < 0.2
    assert policy.n_answers == policy.n_decisions == 4000


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.rule)
@pytest.mark.parametrize(("leaf", "recipe"), [("constant", "default"), ("linear", "paper")])
def test_goes_on_after_loading_as_if_nothing_had_happened(rule, leaf, recipe, tmp_path):
    policy = teach(DGTBandit(4, 3, leaf, recipe=recipe, explore=rule, random_state=1))
    pending = [(x, policy.decide(x)) for x in X[200:210]]
    policy.save(tmp_path / "p.dgt")
    loaded = dgtrees.load(tmp_path / "p.dgt")
    assert saved(loaded, tmp_path) == saved(policy, tmp_path)
    for x, decision in reversed(pending):  # late, in another order
        for one in (policy, loaded):
            one.learn(x, Decision.from_json(decision.to_json()), 0.25)
    for i in range(300):
        decisions = [one.decide(X[i]) for one in (policy, loaded)]
        assert decisions[0] == decisions[1]
        for one, decision in zip((policy, loaded), decisions, strict=True):
            one.learn(X[i], decision, float(decision.action != Y[i]))
    assert saved(loaded, tmp_path) == saved(policy, tmp_path)


@pytest.mark.parametrize("feedback", ["one-point", "two-point"])
@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_continuous_goes_on_after_loading(feedback, leaf, tmp_path):
    policy = teach_value(DGTContinuousBandit(-1, 4, 3, leaf, feedback=feedback, random_state=1))
    policy.save(tmp_path / "p.dgt")
    loaded = dgtrees.load(tmp_path / "p.dgt")
    for i in range(100):
        one, other = policy.decide(X[i]), loaded.decide(X[i])
        assert one == other
        loss = [0.1, 0.7] if feedback == "two-point" else 0.4
        policy.learn(X[i], one, loss)
        loaded.learn(X[i], ContinuousDecision.from_json(other.to_json()), loss)
    assert saved(loaded, tmp_path) == saved(policy, tmp_path)


def test_a_policy_that_has_seen_nothing_can_be_saved_too(tmp_path):
    policy = DGTBandit(3, 2)
    with pytest.raises(StateError, match="call decide first"):
        policy.predict(X)
    policy.save(tmp_path / "p.dgt")
    loaded = dgtrees.load(tmp_path / "p.dgt")
    assert [policy.decide(x) for x in X[:20]] == [loaded.decide(x) for x in X[:20]]


def test_a_full_memory_survives_the_file(tmp_path):
    recipe = replace(BanditRecipe(), capacity=50)
    policy = teach(DGTBandit(4, 2, recipe=recipe, random_state=1))
    policy.save(tmp_path / "p.dgt")
    loaded = teach(dgtrees.load(tmp_path / "p.dgt"))
    assert saved(loaded, tmp_path) == saved(teach(policy), tmp_path)


DECISION = Decision(1, 0.5, "", 1)
BAD = {
    "loss above its range": (X[0], {}, 1.5, ValueError, r"between 0 and 1, got 1.5: .*loss_range"),
    "loss below its range": (X[0], {}, -0.1, ValueError, "between 0 and 1"),
    "loss NaN": (X[0], {}, np.nan, ValueError, "between 0 and 1, got nan"),
    "loss of text": (X[0], {}, "bad", ValueError, "must be a number, got 'bad'"),
    "feature NaN": (np.array([0, np.nan, 0, 0, 0]), {}, 0.5, ValueError, "nan for feature 1"),
    "feature infinite": (np.array([0, 0, -np.inf, 0, 0]), {}, 0.5, ValueError, "-inf for feature"),
    "feature huge": (np.array([0, 0, 1e35, 0, 0]), {}, 0.5, ValueError, "rescale"),
    "too few features": (X[0][:3], {}, 0.5, ValueError, "must have 5 features .* got 3"),
    "rows for a row": (X[:2], {}, 0.5, ValueError, "one row"),
    "text": (["a"] * 5, {}, 0.5, ValueError, "row of numbers"),
    "action too high": (X[0], {"action": 4}, 0.5, ValueError, "from 0 to 3, got 4"),
    "action negative": (X[0], {"action": -1}, 0.5, ValueError, "from 0 to 3, got -1"),
    "action broken": (X[0], {"action": 1.5}, 0.5, ValueError, "from 0 to 3, got 1.5"),
    "action NaN": (X[0], {"action": np.nan}, 0.5, ValueError, "from 0 to 3, got nan"),
    "probability 0": (X[0], {"probability": 0.0}, 0.5, ValueError, "above 0 .* got 0.0"),
    "probability above 1": (X[0], {"probability": 1.01}, 0.5, ValueError, "at most 1, got 1.01"),
    "probability NaN": (X[0], {"probability": np.nan}, 0.5, ValueError, "got nan"),
    "loss True": (X[0], {}, True, ValueError, "must be a number, got True"),
    "loss text of a number": (X[0], {}, "0.5", ValueError, "must be a number, got '0.5'"),
    "loss beyond floats": (X[0], {}, 10**400, ValueError, "must fit a float"),
    "action True": (X[0], {"action": True}, 0.5, ValueError, "whole number from 0 to 3, got True"),
    "action text": (X[0], {"action": "1"}, 0.5, ValueError, "from 0 to 3, got '1'"),
    "probability text": (X[0], {"probability": "1"}, 0.5, ValueError, "must be a number, got '1'"),
    "probability None": (X[0], {"probability": None}, 0.5, ValueError, "got None"),
    "another policy": (X[0], {"policy": "other"}, 0.5, ValueError, "got one of 'other'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_and_changes_nothing(case, tmp_path):
    x, change, loss, error, message = BAD[case]
    policy = teach(DGTBandit(4, 3, random_state=1), range(30))
    before = saved(policy, tmp_path)
    decision = DECISION._replace(**{"policy": policy.id, **change})
    with pytest.raises(error, match=message) as caught:
        policy.learn(x, decision, loss)
    assert "\n" not in str(caught.value)
    with pytest.raises(error, match=message):
        policy.learn_many(
            np.array([X[1], x]) if np.shape(x) == (5,) and case != "text" else [X[1], x],
            [DECISION._replace(policy=policy.id), decision],
            [0.0, loss],
        ) if case not in ("too few features", "rows for a row", "text") else policy.decide(x)
    assert saved(policy, tmp_path) == before


def test_other_things_than_decisions_are_refused(tmp_path):
    policy = teach(DGTBandit(4, 3, random_state=1), range(30))
    before = saved(policy, tmp_path)
    with pytest.raises(TypeError, match="that decide returned, got 2"):
        policy.learn(X[0], 2, 0.0)
    with pytest.raises(ValueError, match="equally many, got 2, 1, 2"):
        policy.learn_many(X[:2], [DECISION], [0.0, 0.0])
    twin = DGTBandit(4, 3, random_state=1)
    with pytest.raises(ValueError, match="one of this policy"):
        policy.learn(X[0], twin.decide(X[0]), 0.0)
    assert saved(policy, tmp_path) == before


def test_a_first_row_that_is_refused_leaves_no_trace(tmp_path):
    policy = DGTBandit(4, 3, random_state=1)
    before = saved(policy, tmp_path)
    with pytest.raises(ValueError, match="nan"):
        policy.decide([np.nan, 1.0])
    assert saved(policy, tmp_path) == before


@pytest.mark.parametrize(
    ("change", "loss", "message"),
    [
        ({}, np.nan, "got nan"),
        ({}, [1.0], "pair of losses"),
        ({}, 1.0, "pair of losses"),
        ({"actions": (0.0,)}, [1.0, 2.0], r"has 2 action\(s\)"),
        ({"actions": (0.0, 9.0)}, [1.0, 2.0], "between -1 and 4, got 9.0"),
        ({"actions": (0.5, 0.5)}, [1.0, 2.0], "must differ from their centre"),
        ({"centre": np.nan}, [1.0, 2.0], "between -1 and 4, got nan"),
        ({"policy": "x"}, [1.0, 2.0], "got one of 'x'"),
        ({}, [1.0, True], "must be a number, got True"),
        ({}, [1.0, 10**400], "must fit a float"),
        ({"centre": 0.4}, [1.0, 2.0], "centre 0.4 in the middle"),
        ({"centre": "0.25"}, [1.0, 2.0], "actions must be a number, got '0.25'"),
        ({"actions": (0.0, None)}, [1.0, 2.0], "actions must be a number, got None"),
        ({"actions": "ab"}, [1.0, 2.0], "has 2"),
        ({"actions": 0.5}, [1.0, 2.0], "has 2"),
    ],
)
def test_continuous_bad_input_changes_nothing(change, loss, message, tmp_path):
    policy = teach_value(DGTContinuousBandit(-1, 4, 2, feedback="two-point"), range(30))
    before = saved(policy, tmp_path)
    decision = ContinuousDecision((0.0, 0.5), 0.25, policy.id, 1)._replace(**change)
    with pytest.raises(ValueError, match=message):
        policy.learn(X[0], decision, loss if loss is not np.nan else [loss, loss])
    with pytest.raises(ValueError, match=message):
        policy.learn_many(X[:1], [decision], [loss if loss is not np.nan else [loss, loss]])
    assert saved(policy, tmp_path) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_actions": 1}, "n_actions must be a whole number from 2"),
        ({"max_depth": 0}, "max_depth must be a whole number from 1"),
        ({"leaf": "soft"}, "leaf must be one of"),
        ({"recipe": "best"}, "recipe must be default, paper"),
        ({"explore": "often"}, "explore must be a rule"),
        ({"loss_range": (1, 0)}, "low end first"),
        ({"loss_range": (0, np.inf)}, "finite"),
        ({"loss_range": (0, 1, 2)}, "pair"),
        ({"loss_range": None}, "pair of numbers, got None"),
        ({"loss_range": [[1], [1, 2]]}, "two finite numbers"),
        ({"leaf": ["constant"]}, "leaf must be one of"),
        ({"loss_range": "ab"}, "pair of numbers, got 'ab'"),
        ({"loss_range": (-1e308, 1e308)}, "difference"),
        ({"explore": ["x"]}, "explore must be a rule"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        DGTBandit(**{"n_actions": 3} | arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"low": 2.0}, "low end first"),
        ({"feedback": "full"}, "one-point"),
        ({"delta": 3}, "half"),
        ({"delta": "x"}, "delta must be a number"),
        ({"delta": True}, "delta must be a number"),
        ({"low": -1e308, "high": 1e308}, "difference"),
        ({"low": 1e20, "high": 1e20 + 1e5}, "further apart"),
    ],
)
def test_wrong_continuous_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        DGTContinuousBandit(**{"low": 0.0, "high": 1.0} | arguments)


def test_losses_of_another_range(tmp_path):
    shares = DGTBandit(4, 3, random_state=1)
    euros = DGTBandit(4, 3, random_state=1, loss_range=(-10, 30))
    for i in range(100):
        one, other = shares.decide(X[i]), euros.decide(X[i])
        assert one[:2] == other[:2]
        shares.learn(X[i], one, float(one.action != Y[i]))
        euros.learn(X[i], other, 40 * (other.action != Y[i]) - 10)
    np.testing.assert_allclose(euros.expected_loss(X), 40 * shares.expected_loss(X) - 10)


def test_learn_many_is_many_learns(tmp_path):
    one, other = (DGTBandit(4, 3, random_state=1) for _ in "ab")
    decisions = [(one.decide(x), other.decide(x)) for x in X[:50]]
    losses = np.linspace(0, 1, 50)
    one.learn_many(X[:50].astype(np.float32), [d for d, _ in decisions], losses)
    for x, (_, decision), loss in zip(X.astype(np.float32), decisions, losses, strict=False):
        other.learn(x, decision, loss)
    np.testing.assert_array_equal(view_state(one._arena).nodes, view_state(other._arena).nodes)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_numbers_have_linear_leaves_but_in_the_paper():
    assert DGTContinuousBandit(0, 1).leaf == "linear"
    assert DGTContinuousBandit(0, 1, recipe="paper").leaf == "constant"
    assert DGTContinuousBandit(0, 1, recipe="paper", leaf="linear").leaf == "linear"


@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_the_tree_answers_as_the_policy_does(leaf):
    policy = teach(DGTBandit(4, 3, leaf, random_state=1), range(400))
    rows = X[(np.abs((X - X.mean(0)) / X.std(0)) < 2).all(axis=1)]
    assert (policy.tree_.predict(rows).argmax(axis=1) == policy.predict(rows)).all()
    assert (policy.tree_.apply(rows) == policy.apply(rows)).all()
    value = teach_value(DGTContinuousBandit(-1, 4, 3, leaf, feedback="two-point", random_state=1))
    np.testing.assert_allclose(
        np.clip(value.tree_.predict(rows)[:, 0], -1, 4), value.predict(rows), atol=1e-6
    )


@pytest.mark.parametrize("feedback", ["one-point", "two-point"])
def test_continuous_actions_stay_in_bounds_and_improve(feedback):
    policy = DGTContinuousBandit(0, 3, 3, feedback=feedback, random_state=0)
    start = np.mean((1.5 - Y) ** 2)
    for passes in range(25):
        teach_value(policy, np.random.default_rng(passes).permutation(400))
    assert np.mean((policy.predict(X) - Y) ** 2) < 0.25 * start
    decisions = [policy.decide(x) for x in X]
    actions = np.array([d.actions for d in decisions])
    assert (actions >= 0).all() and (actions <= 3).all()
    assert {np.sign(d.action - d.centre) for d in decisions} == {-1, 1}


@pytest.mark.parametrize("feedback", ["one-point", "two-point"])
def test_the_largest_losses_leave_a_sound_policy(feedback):
    policy = DGTContinuousBandit(0, 1, 3, "linear", feedback=feedback, random_state=0)
    for i, x in enumerate(X):
        sign = -1 if i % 3 else 1
        loss = [sign * 1e12, -sign * 1e12] if feedback == "two-point" else sign * 1e12
        policy.learn(x, policy.decide(x), loss)
    assert np.isfinite(view_state(policy._arena).nodes).all()
    assert np.isfinite(policy.predict(X)).all()


def test_rows_with_gaps_and_categories_through_an_encoder(tmp_path):
    table = np.array([[1.0, "a"], [None, "b"], [3.0, "a"], [2.0, "b"]] * 10, dtype=object)
    encoder = Encoder().fit(columns_of(table))
    policy = DGTBandit(2, 2, encoder=encoder, random_state=0)
    for _ in range(20):
        for row in table:
            decision = policy.decide(row)
            policy.learn(row, decision, float(decision.action != (row[1] == "b")))
    assert policy.predict(table[:4]).tolist() == [0, 1, 0, 1]
    policy.save(tmp_path / "p.dgt")
    assert dgtrees.load(tmp_path / "p.dgt").decide(table[1]) == policy.decide(table[1])
    with pytest.raises(ValueError, match="encoder's 2 columns, got 3"):
        policy.decide([1.0, "a", 2.0])


def test_many_threads_decide_while_one_learns():
    """Scores are always those of one whole update: every leaf holds the same value for all."""
    policy = DGTBandit(4, 4, explore="softmax", random_state=0)
    policy.decide(X[0])
    leaves = view_state(policy._arena).mean_leaves
    leaves[:] = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    decisions, errors = [], []
    stop = threading.Event()

    def ask(thread):
        try:
            while not stop.is_set():
                decisions.append(policy.decide(X[thread]))
        except Exception as error:  # pragma: no cover
            errors.append(error)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    # The learner writes leaves of (c, -c, c, -c): a torn read would show another set of
    # probabilities than those two that softmax can give then.
    for i in range(300):
        with policy._lock:
            leaves[:] = (1.0 if i % 2 else -1.0) * np.array([[1.0], [-1.0], [1.0], [-1.0]])
        x = X[i]
        policy.predict(x[None])
    stop.set()
    for thread in threads:
        thread.join()
    assert not errors
    numbers = [d.number for d in decisions]
    assert len(set(numbers)) == len(numbers)  # no decision was counted twice
    high, low = np.exp(1) / (2 * np.exp(1) + 2 * np.exp(-1)), 0.0
    low = 0.5 - high
    assert {round(d.probability, 9) for d in decisions} <= {round(low, 9), round(high, 9)}


def test_threads_and_a_learner_leave_a_sound_policy(tmp_path):
    policy = DGTBandit(4, 4, random_state=0)
    answered = threading.Event()
    queue = []

    def ask(thread):
        for i in range(thread, 400, 4):
            queue.append((X[i], policy.decide(X[i]), Y[i]))

    def learn():
        while not (answered.is_set() and not queue):
            if queue:
                x, decision, y = queue.pop()
                policy.learn(x, decision, float(decision.action != y))

    learner = threading.Thread(target=learn)
    askers = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
    for thread in (learner, *askers):
        thread.start()
    for thread in askers:
        thread.join()
    answered.set()
    learner.join()
    assert policy.n_answers == policy.n_decisions == 400
    policy.save(tmp_path / "p.dgt")
    assert (dgtrees.load(tmp_path / "p.dgt").predict(X) == policy.predict(X)).all()


def test_copies_go_their_own_way(tmp_path):
    policy = teach(DGTBandit(4, 3, random_state=1), range(50))
    for twin in (copy.deepcopy(policy), pickle.loads(pickle.dumps(policy))):
        before = saved(policy, tmp_path)
        assert saved(twin, tmp_path) == before
        teach(twin, range(20))
        assert saved(policy, tmp_path) == before


@pytest.mark.parametrize(
    "change",
    [
        {"state.nodes": np.zeros((3, 2))},
        {"state.counts": np.array([5, 0, 10**6, 0, 0, 0, 0, 0], dtype=np.int32)},
        {"state.answers": np.full((30, 3), 9.0)},
        {"state.leaves": np.full((4, 8), np.nan)},
        {"state.mean": None},
    ],
)
def test_files_that_do_not_fit_are_refused(change, tmp_path):
    policy = teach(DGTBandit(4, 3, random_state=1), range(30))
    policy.save(tmp_path / "p.dgt")
    header, arrays = model_file.read(tmp_path / "p.dgt")
    arrays = {name: a for name, a in (arrays | change).items() if a is not None}
    keep = {k: v for k, v in header.items() if k not in ("arrays", "array_bytes")}
    model_file.write(tmp_path / "q.dgt", keep, arrays)
    with pytest.raises(ModelFileError, match="not a valid DGTBandit"):
        dgtrees.load(tmp_path / "q.dgt")


def test_same_seed_same_stream():
    one, other = (teach(DGTBandit(4, 3, random_state=1)) for _ in "ab")
    np.testing.assert_array_equal(one.action_probabilities(X), other.action_probabilities(X))
    assert one.id != other.id


def test_threads_that_bring_first_rows_of_two_widths():
    for seed in range(50):
        policy = DGTBandit(3, 3, random_state=seed)
        start, done, refused = threading.Barrier(8), [], []

        def ask(width, policy=policy, start=start, done=done, refused=refused):
            start.wait()
            try:
                policy.decide(np.ones(width))
                done.append(width)
            except ValueError as error:
                refused.append(str(error))

        threads = [threading.Thread(target=ask, args=(3 if i % 2 else 900,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert done == [policy.n_features] * 4 and len(refused) == 4


@pytest.mark.parametrize("call", ["_ready", "_with_room"])
def test_the_width_is_checked_again_under_the_lock(call):
    policy = DGTBandit(3, 3)
    policy.decide(np.ones(3))
    with pytest.raises(ValueError, match="must have 3 features as the first one had, got 900"):
        getattr(policy, call)(900)
    with pytest.raises(ValueError, match="got 900"):
        policy._stream(np.ones((1, 900)), np.zeros(1, int), np.zeros(1, int), np.zeros(8), "0-1")


@pytest.mark.parametrize("feedback", ["one-point", "two-point"])
def test_the_paper_recipe_takes_the_slopes_of_its_equations(feedback):
    """One leaf row a step, SGD at rate 1 and no replay: the leaf moves by the slope itself."""
    alone = {"output_bias": False, "leaf_spread": 0.0}  # nothing but the slope moves the answer
    recipe = replace(RECIPES["paper"]["constant"], leaf_optimizer="sgd", leaf_rate=1.0, **alone)
    assert not recipe.baseline and BanditRecipe().baseline
    policy = DGTContinuousBandit(-1, 1, 1, feedback=feedback, delta=0.5, recipe=recipe)
    for loss in (0.25, -0.125, 0.5):
        d = policy.decide(X[0])
        before = view_state(policy._arena).leaves.copy()
        step = d.action - d.centre
        policy.learn(X[0], d, loss if feedback == "one-point" else [loss, 0.0625])
        slope = loss / step if feedback == "one-point" else (loss - 0.0625) / (2 * step)
        moved = (before - view_state(policy._arena).leaves).ravel()
        assert moved[np.abs(moved).argmax()] == pytest.approx(slope)
        assert np.count_nonzero(moved) == 1
    assert not view_state(policy._arena).baseline_counts.any()


EXTREME = {
    "sgd": {"leaf_optimizer": "sgd", "leaf_rate": 1e6, "slope_rate": 1e6},
    "rmsprop": {"leaf_optimizer": "rmsprop"},
    "adagrad": {"leaf_optimizer": "adagrad"},
}


@pytest.mark.parametrize("optimizer", EXTREME)
def test_no_accepted_answer_makes_a_file_that_load_refuses(optimizer, tmp_path):
    paper = replace(RECIPES["paper"]["constant"], **EXTREME[optimizer])
    policy = DGTBandit(4, 3, "linear", recipe=paper, random_state=0)
    value = DGTContinuousBandit(0, 1, 3, "linear", delta=1e-6, recipe=paper, random_state=0)
    huge = X * [1e29, 1, 1, 1, 1e-30]
    for i, x in enumerate(huge):
        d = policy.decide(x)
        policy.learn(x, d._replace(probability=(1.0, 1e-300, 5e-324)[i % 3]), float(i % 2))
        value.learn(x, value.decide(x), 1e12 if i % 2 else -1e12)
    for one in (policy, value):
        one.save(tmp_path / "p.dgt")
        loaded = dgtrees.load(tmp_path / "p.dgt")
        np.testing.assert_array_equal(loaded.predict(X), one.predict(X))


@pytest.mark.parametrize("feedback", ["one-point", "two-point"])
@pytest.mark.parametrize(
    ("low", "high", "delta"),
    [
        (0.1, 0.7, 0.3),
        (-0.1, 0.7, 0.4),
        (0.0, 0.3, 0.15),
        (-1.3, 1e9, None),
        (1e9, 1e9 + 2, 0.0011),
        (0, 1, 1e-6),
        (-8e307, 8e307, None),
        (1e-299, 1e-298, None),
    ],
)
def test_a_policy_accepts_its_own_decisions(feedback, low, high, delta):
    policy = DGTContinuousBandit(low, high, 2, feedback=feedback, delta=delta, random_state=0)
    for i, x in enumerate(X):
        d = ContinuousDecision.from_json(policy.decide(x).to_json())
        policy.learn(x, d, [1.0, 2.0] if feedback == "two-point" else float(i % 3))
    assert policy.n_answers == len(X)
    with pytest.raises(ValueError, match="delta must be from"):
        DGTContinuousBandit(low, high, delta=1e-7 * 0.5 * (high - low))


def test_a_step_that_rounds_to_more_than_half_the_range_is_accepted():
    policy = DGTContinuousBandit(-0.1, 0.7, delta=0.4)
    middle = 0.5 * (-0.1 + 0.7)
    steps = [ContinuousDecision((end,), middle).step(policy._half) for end in (-0.1, 0.7)]
    assert max(map(abs, steps)) > 1
    policy.learn(X[0], ContinuousDecision((0.7,), middle, policy.id, 1), 1.0)
    policy.learn(X[0], ContinuousDecision((-0.1,), middle, policy.id, 1), 1.0)


def test_rows_of_an_encoder_are_taken_by_name_and_one_at_a_time(tmp_path):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"size": [1.0, np.nan, 3.0, 2.0] * 10, "kind": ["a", "b"] * 20})
    policy = DGTBandit(2, 2, encoder=Encoder().fit(columns_of(table)), random_state=0)
    turned = table[["kind", "size"]].assign(more="x")
    np.testing.assert_array_equal(policy._rows(turned), policy._rows(table))
    np.testing.assert_array_equal(policy._rows(table.to_numpy()), policy._rows(table))
    for row in (turned.iloc[1], table.iloc[1], pd.Series(table.iloc[1].tolist())):
        np.testing.assert_array_equal(policy._row(row), policy._rows(table)[1])
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
        "dict": ({"size": 1.0, "kind": "a"}, "encoder's 2 columns, got shape"),
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
        DGTBandit(2).decide(x)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("X", [3, {"a": 1.0}, [["a", "b"]], [[1.0], [1.0, 2.0]], [], [[]]])
def test_what_are_no_rows_is_refused_in_one_line(X):
    policy = teach(DGTBandit(4, 2), range(3))
    with pytest.raises(ValueError, match="X must be rows") as caught:
        policy.predict(X)
    assert "\n" not in str(caught.value)


def test_numbers_of_numpy_are_saved_like_any(tmp_path):
    recipe = BanditRecipe(
        explore=DecayingEpsilon(np.int64(5), np.float32(0.5)),
        node_rate=np.float32(0.5), replay=np.int64(2), capacity=np.uint8(9),
        rates_by_width=np.bool_(True), averaging=np.float16(0.25), clip=np.int32(3),
    )  # fmt: skip
    policy = DGTBandit(
        np.int64(4), np.int8(2), recipe=recipe, random_state=np.uint32(3),
        loss_range=np.array([0, 1], dtype=np.float32),
    )  # fmt: skip
    same = DGTBandit(4, 2, explore=DecayingEpsilon(5, 0.5), random_state=3,
        recipe=BanditRecipe(node_rate=0.5, replay=2, capacity=9, averaging=0.25, clip=3),
    )  # fmt: skip
    same.id = policy.id
    assert saved(teach(policy), tmp_path) == saved(teach(same), tmp_path)
    value = DGTContinuousBandit(np.float32(0), np.int64(4), np.int64(2), delta=np.float32(0.5))
    teach_value(value).save(tmp_path / "p.dgt")
    assert dgtrees.load(tmp_path / "p.dgt").delta == 0.5
    with pytest.raises(ValueError, match="rates_by_width must be True or False, got 1"):
        BanditRecipe(rates_by_width=1)


def test_evaluate_judges_a_policy_with_its_exploration():
    policy = teach(DGTBandit(4, 3, random_state=1))
    chances = policy.action_probabilities(X)
    actions = np.arange(400) % 4
    log = Log(X, actions, np.full(400, 0.25), (actions != Y).astype(float), n_actions=4)
    assert evaluate(policy, log) == evaluate(chances, log)
    assert evaluate(policy, log).value > evaluate(policy.predict(X), log).value
    assert policy.action_probabilities(X[:0]).shape == (0, 4)


def test_learn_many_takes_frames_and_iterators_and_nothing(tmp_path):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"size": X[:20, 0], "kind": ["a", "b"] * 10})
    encoder = Encoder(min_frequency=1).fit(columns_of(table))
    files = []
    for rows in (table, table.to_numpy(), iter(table.to_numpy()), table[["kind", "size"]]):
        policy = DGTBandit(2, 2, encoder=encoder, random_state=0)
        policy.id = "same"
        decisions = [policy.decide(table[i : i + 1]) for i in range(20)]
        before = saved(policy, tmp_path)
        policy.learn_many([], [], [])
        policy.learn_many(table[:0], [], np.empty(0))
        with pytest.raises(ValueError, match="must be sequences, got 3") as caught:
            policy.learn_many(3, decisions, 4)
        assert "\n" not in str(caught.value)
        assert saved(policy, tmp_path) == before
        policy.learn_many(rows, iter(decisions), (0.5 for _ in decisions))
        files.append(saved(policy, tmp_path))
    assert len(set(files)) == 1


def test_copies_are_whole_while_another_thread_learns():
    policy = teach(DGTBandit(4, 3, random_state=1), range(20))
    for twin in (copy.copy(policy), copy.deepcopy(policy), pickle.loads(pickle.dumps(policy))):
        for mine, its in zip(policy._arena, twin._arena, strict=True):
            assert mine is not its and not np.shares_memory(mine, its)
            np.testing.assert_array_equal(mine, its)
    state = policy.__getstate__()
    before = [array.copy() for array in state["_arena"]]
    teach(policy, range(20, 40))
    for array, then in zip(state["_arena"], before, strict=True):
        np.testing.assert_array_equal(array, then)


@pytest.mark.parametrize("part", ["recipe", "parameters", "explore"])
def test_files_that_leave_something_out_are_refused(part, tmp_path):
    policy = teach(DGTBandit(4, 3, random_state=1), range(30))
    policy.save(tmp_path / "p.dgt")
    header, arrays = model_file.read(tmp_path / "p.dgt")
    keep = {k: v for k, v in header.items() if k not in ("arrays", "array_bytes")}
    fields, name = {
        "recipe": (keep["recipe"], "baseline"),
        "parameters": (keep["parameters"], "loss_range"),
        "explore": (keep["recipe"]["explore"], "delta"),
    }[part]
    del fields[name]
    model_file.write(tmp_path / "q.dgt", keep, arrays)
    with pytest.raises(ModelFileError, match=f"not a valid DGTBandit.*{part} must have"):
        dgtrees.load(tmp_path / "q.dgt")


def test_the_same_decision_learnt_twice_counts_twice():
    policy = DGTBandit(4, 3, random_state=1)
    decision = policy.decide(X[0])
    for _ in range(2):
        policy.learn(X[0], decision, 1.0)
    assert policy.n_answers == 2


def test_expected_losses_of_extreme_scores_come_without_a_warning():
    policy = teach(DGTBandit(4, 3, random_state=1), range(3))
    view_state(policy._arena).mean_leaves[:] = np.array([[1e4], [-1e4], [0.0], [800.0]])
    assert policy.expected_loss(X[:1])[0].tolist() == [0.0, 1.0, 0.5, 0.0]
