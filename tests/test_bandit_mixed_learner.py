import json

import numpy as np
import pytest

from dgtrees.bandit.learner import Learner
from dgtrees.bandit.mixed_growth import with_room
from dgtrees.bandit.mixed_learner import MixedLearner
from dgtrees.bandit.mixed_policy import MixedPolicy
from dgtrees.bandit.simulation import simulate
from dgtrees.tree import mixed_step
from dgtrees.tree.compiled import njit
from dgtrees.tree.mixed_state import STACK_PRIOR, Counts, Rewards, open_mixed
from reference_mixed import Ridge, corrected, stacked


def _labelled(rows: int, columns: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three classes: a step in one column and the sign of a product."""
    X = np.random.default_rng(seed).normal(size=(rows, columns))
    return X, (X[:, 0] > 0).astype(int) + (X[:, 1] * X[:, 2] > 0)


def _everything(n: int) -> np.ndarray:
    return np.ones(n, dtype=bool)


def _taught(
    answers: int, columns: int = 5, **options
) -> tuple[MixedLearner, np.ndarray, np.ndarray]:
    X, y = _labelled(answers, columns)
    learner = MixedLearner(columns, 3, seed=1, **options)
    learner.stream(X, y, np.arange(answers), 1.0, 0.0)
    return learner, X, y


@njit()
def _learn_stack(table, known, action, reward):
    mixed_step._learn_stack(open_mixed(table), known, action, reward)


def _same(first: MixedLearner, second: MixedLearner) -> bool:
    a, b = first.pack()[1], second.pack()[1]
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("making", [False, True])
def test_more_room_keeps_what_is_in_use(making):
    """Of two slots only the one in use, unless a successor is in the making."""
    learner = _taught(900)[0]
    while bool(learner._state.counts[Counts.STAGE]) != making:
        x = np.zeros(5)
        learner.learn(x, *learner.decide(x, _everything(3))[:1], 1.0, 1.0)
    old = learner.pack()[1]
    learner._state = with_room(learner._state, 8192)
    new = learner.pack()[1]
    assert old.keys() == new.keys()
    # The next place is that after the last where the log is full.
    for name in old.keys() - {"sizes", "near.counters"}:
        np.testing.assert_array_equal(new[name], old[name], err_msg=name)
    np.testing.assert_array_equal(new["near.counters"][:, 0], old["near.counters"][:, 0])


def test_it_is_a_learner_and_learns():
    learner = _taught(3000)[0]
    assert isinstance(learner, Learner)
    assert (learner.n_features, learner.n_actions, learner.n_answers) == (5, 3, 3000)
    fresh, labels = _labelled(1000, seed=9)
    assert np.mean(learner.expected(fresh).argmax(axis=1) == labels) > 0.8
    assert learner.tree() is None


def test_a_stream_is_decide_and_learn_one_by_one_also_through_files():
    X, y = _labelled(700)
    whole, single = MixedLearner(5, 3, seed=1), MixedLearner(5, 3, seed=1)
    losses = whole.stream(X, y, np.arange(700), 1.0, 0.0)
    for i, x in enumerate(X):
        action, chances = single.decide(x, _everything(3))
        single.learn(x, action, float(action == y[i]), chances[action])
        assert losses[i] == float(action != y[i])
        if i in (0, 5, 12, 22, 45, 90, 256, 600):  # before, between and amid successors
            settings, arrays = single.pack()
            single = MixedLearner.unpack(json.loads(json.dumps(settings)), arrays)
    assert np.array_equal(whole.expected(X), single.expected(X))
    assert single._state.counts[Counts.STAGE]  # a successor is in the making, in a stale slot
    more = [learner.stream(X, y, np.arange(300), 1.0, 0.0) for learner in (whole, single)]
    assert np.array_equal(*more)
    assert not single._state.counts[Counts.STAGE] and _same(whole, single)


def test_the_log_goes_round():
    X, y = _labelled(900)
    learner = MixedLearner(5, 3, capacity=200, seed=0)
    again = MixedLearner(5, 3, capacity=200, seed=0)
    learner.stream(X, y, np.arange(900), 1.0, 0.0)
    for part in np.array_split(np.arange(900), 7):
        again.stream(X, y, part, 1.0, 0.0)
        again = MixedLearner.unpack(*again.pack())
    assert learner.n_answers == 900 and _same(learner, again)


def test_members_are_those_of_the_slow_twin():
    learner, X, _ = _taught(300)
    state, told = learner._state, learner._state.told
    assert not state.counts[Counts.STAGE]
    slot, offset = state.counts[Counts.LIVE], state.rewards_seen[Rewards.OFFSET]
    linear, product = Ridge(3, told.ridge), Ridge(3, told.product_ridge)
    for x, action, reward in zip(X, state.log_actions, state.log_rewards, strict=False):
        learner.expected(x[None])  # leaves the row as its members see it
        linear.learn(action, state.row.copy(), reward)
        product.learn(action, state.products.copy(), reward)
    near = state.near
    for x in np.random.default_rng(5).normal(size=(5, 5)):
        answer = learner.expected(x[None])[0]
        scores, places = state.scores + offset, near.nearest
        first = np.array([linear.predict(k, state.row, offset) for k in range(3)])
        second = [product.predict(k, state.products, offset) for k in range(3)]
        found = [part[slot, places] for part in (near.actions, near.rewards, near.counts)]
        third = corrected(first, near.distances, *found, told)
        np.testing.assert_allclose(scores, np.clip([first, second, third], -0.5, 1.5), atol=1e-7)
        total = offset + state.stack[0] @ (scores - offset)
        np.testing.assert_allclose(answer, total, atol=1e-9)


def test_the_stack_is_that_of_the_slow_twin():
    learner = MixedLearner(2, 2)
    state, table = learner._state, learner._held.table
    state.rewards_seen[Rewards.SQUARE], state.rewards_seen[Rewards.OFFSET] = 4.0, 1.0
    rng, history = np.random.default_rng(0), []
    for _ in range(200):
        scores, reward = rng.normal(size=3), float(rng.normal())
        state.scores[:, 1] = scores
        _learn_stack(table, 0, 1, reward)
        history.append((scores / 2.0, (reward - 1.0) / 2.0))
    expected = stacked(history, state.told.stack_memory, 3, STACK_PRIOR)
    np.testing.assert_allclose(state.stack[0], expected, atol=1e-9)
    assert np.array_equal(state.stack[1], np.full(3, 1 / 3))


@pytest.mark.parametrize("allowed", [[1, 1, 1], [1, 0, 1], [0, 1, 0]])
def test_probabilities_are_exact_and_those_of_the_draws(allowed):
    learner, X, _ = _taught(150, explore=0.9, least_explore=0.6)
    allowed = np.array(allowed, dtype=bool)
    chances = learner.probabilities(X[0], allowed)
    assert chances.sum() == pytest.approx(1.0, abs=1e-15)
    assert (chances[~allowed] == 0.0).all() and (chances[allowed] > 0.0).all()
    draws = [learner.decide(X[0], allowed) for _ in range(4000)]
    assert all(np.array_equal(given, chances) for _, given in draws)
    shares = np.bincount([action for action, _ in draws], minlength=3) / 4000
    assert (np.abs(shares - chances) <= 4.5 * np.sqrt(chances * (1 - chances) / 4000)).all()


@pytest.mark.parametrize("allowed", [[1, 1, 1], [1, 0, 1]])
def test_the_likeliest_action_is_best_with_its_bonus(allowed):
    learner, X, _ = _taught(300)
    state, told = learner._state, learner._state.told
    linear, allowed = Ridge(3, told.ridge), np.array(allowed, dtype=bool)
    for x, action, reward in zip(X, state.log_actions, state.log_rewards, strict=False):
        learner.expected(x[None])
        linear.learn(action, state.row.copy(), reward)
    deviation = np.sqrt(state.rewards_seen[Rewards.SQUARE])
    chosen = set()
    for x in np.random.default_rng(5).normal(size=(40, 5)):
        hope = np.maximum(learner.expected(x[None])[0], state.rewards_seen[Rewards.SMALLEST])
        width = np.array([linear.width(k, state.row) for k in range(3)])
        hope += told.bonus * np.sqrt(np.log(allowed.sum())) * deviation * width
        best = np.where(allowed, hope, -np.inf).argmax()
        assert learner.probabilities(x, allowed).argmax() == best
        chosen.add(best)
    assert len(chosen) == allowed.sum()


def test_actions_that_seem_worse_than_anything_are_told_apart_by_what_is_unknown():
    learner = MixedLearner(1, 3, seed=0)
    state, table = learner._state, learner._held.table
    state.counts[Counts.BUILT] = 1
    state.rewards_seen[Rewards.SMALLEST], state.rewards_seen[Rewards.SQUARE] = -1.0, 0.1
    state.row[:] = 1.0
    state.total[:] = [-1.0, -1.4, -1.3]
    state.linear.inverse[0, :2] *= 0.01  # of the third, little is known
    mixed_step.choose(table, _everything(3), False)
    assert state.probabilities.argmax() == 2
    state.total[0] = -0.5
    mixed_step.choose(table, _everything(3), False)
    assert state.probabilities.argmax() == 0


def test_all_actions_are_tried_while_all_rewards_are_equal():
    learner, tried = MixedLearner(3, 20, explore=0.0, least_explore=0.0), []
    for x in np.random.default_rng(0).normal(size=(200, 3)):
        action, chances = learner.decide(x, _everything(20))
        learner.learn(x, action, 7.0, chances[action])
        tried.append(action)
    assert np.bincount(tried[-100:], minlength=20).min() >= 2


def test_no_allowed_action_is_refused():
    with pytest.raises(ValueError, match="at least one action"):
        MixedLearner(2, 2).decide(np.zeros(2), np.zeros(2, dtype=bool))


@pytest.mark.parametrize(("scale", "shift"), [(1000.0, 5.0), (2.0**-20, 0.0), (3.0, -1e4)])
def test_scale_and_shift_of_rewards_do_not_change_decisions(scale, shift):
    X, y = _labelled(1500)
    plain, other = MixedLearner(5, 3, seed=2), MixedLearner(5, 3, seed=2)
    first = plain.stream(X, y, np.arange(1500), 1.0, 0.0)
    second = other.stream(X, y, np.arange(1500), scale + shift, shift)
    assert np.array_equal(first, second)
    rewards = plain.expected(X) * scale + shift
    np.testing.assert_allclose(other.expected(X), rewards, rtol=1e-6, atol=1e-6 * scale)


@pytest.mark.parametrize("place", [0, 100])
def test_one_wild_cell_does_no_harm(place):
    differences = []
    for seed in range(5):
        X, y = _labelled(3000, columns=8, seed=seed)
        wild = X.copy()
        wild[place, 0] = 1e9
        clean, other = (
            MixedLearner(8, 3, seed=seed).stream(rows, y, np.arange(3000), 1.0, 0.0)
            for rows in (X, wild)
        )
        differences.append(other.mean() - clean.mean())
    assert abs(np.mean(differences)) < 0.01


def test_a_first_row_that_is_far_off_is_forgotten():
    X, y = _labelled(300)
    learner = MixedLearner(5, 3, seed=0)
    learner.stream(np.vstack([X[:1] + 1e9, X]), np.append(0, y), np.arange(301), 1.0, 0.0)
    np.testing.assert_allclose(learner.remembered(290), X[-290:], atol=1e-6)


def test_rare_values_lie_two_deviations_away():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=400), rng.random(400) < 0.02])
    learner = MixedLearner(2, 2, seed=0)
    learner.stream(X, X[:, 1] > 0, np.arange(400), 1.0, 0.0)
    spans = learner._state.inverse_scale[learner._state.counts[Counts.LIVE]]
    np.testing.assert_allclose(spans, [1.0 / X[:, 0].std(), 2.0], rtol=0.1)


def test_a_changed_world_is_learnt_anew():
    X, y = _labelled(8000)
    y[4000:] = np.array([2, 0, 1])[y[4000:]]
    learner = MixedLearner(5, 3, seed=0)
    losses = learner.stream(X, y, np.arange(8000), 1.0, 0.0)
    assert learner.n_changes == 1
    assert losses[5000:6000].mean() < losses[1000:2000].mean() + 0.03
    stubborn = MixedLearner(5, 3, seed=0, notice_change=False)
    assert stubborn.stream(X, y, np.arange(8000), 1.0, 0.0)[5000:6000].mean() > 0.15
    assert stubborn.n_changes == 0


def test_a_half_life_follows_a_world_that_drifts():
    X = _labelled(9000)[0][:, :2]
    angle = np.arange(9000) / 1500.0
    y = (X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle) > 0).astype(int)
    loss = {}
    for life in (None, 300.0):
        learner = MixedLearner(2, 2, seed=0, half_life=life, notice_change=False)
        loss[life] = learner.stream(X, y, np.arange(9000), 1.0, 0.0)[3000:].mean()
    assert loss[300.0] < 0.1 and loss[300.0] < loss[None] - 0.1


def test_new_columns_change_nothing_until_they_are_not_zero():
    learner, X, _ = _taught(500)
    before = learner.expected(X)
    learner.add_features(3)
    wider = np.hstack([X, np.zeros((500, 3))])
    np.testing.assert_allclose(learner.expected(wider), before, atol=1e-9)
    wider[:, 7] = np.random.default_rng(1).integers(2, size=500)
    labels = np.where(wider[:, 7] > 0, 2, 0)
    learner.stream(wider, labels, np.arange(500), 1.0, 0.0)
    learner.stream(wider, labels, np.arange(500), 1.0, 0.0)
    assert np.mean(learner.expected(wider).argmax(axis=1) == labels) > 0.85
    assert _same(learner, MixedLearner.unpack(*learner.pack()))


def test_columns_may_become_too_many_to_be_kept_apart():
    learner, X, y = _taught(400)
    learner.add_features(200)
    assert learner.n_features == 205 and learner._state.axes.shape[1] == 96
    noise = 0.1 * np.random.default_rng(0).normal(size=(400, 200))
    learner.stream(np.hstack([X, noise]), y, np.arange(400), 1.0, 0.0)
    assert learner.n_answers == 800


def test_an_added_action_starts_from_similar_ones():
    learner, X, _ = _taught(500)
    before = learner.expected(X)
    learner.add_action(np.array([0.0, 2.0, 0.0]))
    learner.add_action(None)
    after = learner.expected(X)
    assert learner.n_actions == 5
    np.testing.assert_allclose(after[:, :3], before, atol=1e-9)
    alike = [np.corrcoef(after[:, 3], before[:, k])[0, 1] for k in range(3)]
    assert np.argmax(alike) == 1 and alike[1] > 0.5
    learner.stream(X, np.full(500, 3), np.arange(500), 1.0, 0.0)
    assert np.mean(learner.expected(X).argmax(axis=1) == 3) > 0.95
    assert _same(learner, MixedLearner.unpack(*learner.pack()))


def test_another_seed_draws_differently_and_learns_the_same_way():
    learner, X, _ = _taught(300, explore=0.5, least_explore=0.5)
    other = MixedLearner.unpack(*learner.pack())
    other.reseed(99)
    draws = [[one.decide(x, _everything(3))[0] for x in X] for one in (learner, other)]
    assert draws[0] != draws[1]
    assert np.array_equal(learner.expected(X), other.expected(X))


def test_similar_weights_must_fit():
    with pytest.raises(ValueError, match="one weight per action"):
        MixedLearner(2, 2).add_action(np.ones(3))


@pytest.mark.parametrize(
    ("option", "value"), [("half_life", 1.0), ("bonus", -1.0), ("least_explore", 2.0)]
)
def test_settings_out_of_bounds_are_refused(option, value):
    with pytest.raises(ValueError, match=option):
        MixedLearner(2, 2, **{option: value})


def test_the_policy_plays_in_a_simulation():
    X, y = _labelled(1500)
    curve = simulate(MixedPolicy(3), X, y, X_test=X, y_test=y, queries=1500)
    assert curve.held_out[-1] > 0.8
    policy = MixedPolicy(3)
    assert policy.action_probabilities(X[:2]).shape == (2, 3)
    assert policy.predict(X[:4]).shape == (4,)
