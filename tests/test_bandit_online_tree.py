"""What both policies share: the tree, the lock, copies."""

import copy
import pickle
import threading

import numpy as np
import pytest

import dgtrees
from dgtrees import DGTBandit, DGTContinuousBandit
from dgtrees.tree.state import view_state
from taught_policies import X, Y, saved, teach, teach_value


def test_a_first_row_that_is_refused_leaves_no_trace(tmp_path):
    policy = DGTBandit(4, 3, "constant", random_state=1)
    before = saved(policy, tmp_path)
    with pytest.raises(ValueError, match="nan"):
        policy.decide([np.nan, 1.0])
    assert saved(policy, tmp_path) == before


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
    policy = DGTBandit(4, 4, "constant", random_state=0)
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
    policy = teach(DGTBandit(4, 3, "constant", random_state=1), range(50))
    for twin in (copy.deepcopy(policy), pickle.loads(pickle.dumps(policy))):
        before = saved(policy, tmp_path)
        assert saved(twin, tmp_path) == before
        teach(twin, range(20))
        assert saved(policy, tmp_path) == before


def test_same_seed_same_stream():
    one, other = (teach(DGTBandit(4, 3, "constant", random_state=1)) for _ in "ab")
    np.testing.assert_array_equal(one.action_probabilities(X), other.action_probabilities(X))
    assert one.id != other.id


def test_threads_that_bring_first_rows_of_two_widths():
    for seed in range(50):
        policy = DGTBandit(3, 3, "constant", random_state=seed)
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


def test_the_width_is_checked_again_under_the_lock():
    policy = DGTBandit(3, 3, "constant")
    policy.decide(np.ones(3))
    with pytest.raises(ValueError, match="must have 3 features as the first one had, got 900"):
        policy.decide(np.ones(900))
    with pytest.raises(ValueError, match="got 900"):
        policy._stream(np.ones((1, 900)), np.zeros(1, int), np.zeros(1, int), np.zeros(8), "0-1")


def test_copies_are_whole_while_another_thread_learns():
    policy = teach(DGTBandit(4, 3, "constant", random_state=1), range(20))
    for twin in (copy.copy(policy), copy.deepcopy(policy), pickle.loads(pickle.dumps(policy))):
        for mine, its in zip(policy._arena, twin._arena, strict=True):
            assert mine is not its and not np.shares_memory(mine, its)
            np.testing.assert_array_equal(mine, its)
    state = policy.__getstate__()
    before = [array.copy() for array in state["_learner"].arena]
    teach(policy, range(20, 40))
    for array, then in zip(state["_learner"].arena, before, strict=True):
        np.testing.assert_array_equal(array, then)
