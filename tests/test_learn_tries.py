"""Several starts: the one that validates best at half-time goes on, whatever the threads."""

import threading

import numpy as np
import pytest

from dgtrees import DGTClassifier
from dgtrees.errors import StateError
from dgtrees.learn.recipe import Recipe
from dgtrees.learn.result import TrainingResult
from dgtrees.learn.tries import _recent, best_of_tries, few_weights
from training_rows import examples, trainer

EPOCHS = 10
RECIPE = Recipe(epochs=EPOCHS, batch_size=64, min_batches=1, averaging=0.1, learning_rate=0.02)
TRAIN, HELD = examples(300), examples(150, seed=1)


def trainers(count=3, recipe=RECIPE, first=0):
    return [trainer(TRAIN, recipe, seed=seed) for seed in range(first, first + count)]


def trees_equal(one, other):
    names = ("weights", "bias", "leaf_values")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def tried(group, callbacks=(), n_threads=1):
    chosen, result = best_of_tries(group, TRAIN, HELD, callbacks, n_threads)
    return group.index(chosen), result


@pytest.mark.parametrize("first", [0, 3, 6, 9])
def test_the_lowest_recent_validation_loss_goes_on(first):
    """Two groups of seeds at least choose different places, or the first would do."""
    halves = [t.begin(TRAIN, HELD).advance(EPOCHS // 2) for t in trainers(first=first)]
    # A fifth of five epochs: the last one.
    losses = [run.result.history["val_loss"][-1] for run in halves]
    group = trainers(first=first)
    chosen, result = tried(group)
    assert chosen == int(np.argmin(losses))
    alone = trainers(first=first)[chosen]
    assert alone.fit(TRAIN, HELD) == result
    assert trees_equal(alone.harden(), group[chosen].harden())


def test_those_groups_choose_different_tries():
    assert len({tried(trainers(first=first))[0] for first in (0, 3, 6, 9)}) > 1


def test_recent_is_a_fifth_of_the_epochs_so_far():
    losses = [9.0] * 8 + [1.0, 2.0]
    assert _recent(TrainingResult({"val_loss": losses})) == 1.5
    assert _recent(TrainingResult({"val_loss": [9.0, 1.0]})) == 1.0
    assert _recent(TrainingResult()) == 0.0


def test_without_validation_rows_the_training_loss_decides():
    assert _recent(TrainingResult({"loss": [9.0, 1.0], "val_loss": []})) == 1.0
    halves = [t.begin(TRAIN).advance(EPOCHS // 2) for t in trainers(first=3)]
    losses = [run.result.history["loss"][-1] for run in halves]
    group = trainers(first=3)
    chosen, result = best_of_tries(group, TRAIN, None)
    assert group.index(chosen) == int(np.argmin(losses))
    assert "val_loss" not in result.history


def crossing_lines(seed, flip):
    """Two lines divide the classes, so that a greedy first cut is worth little."""
    rng = np.random.default_rng(seed)
    u, v = rng.uniform(0, 1, size=(2, 600))
    y = (u + v > 0.85) ^ (u - 0.6 * v > 0.35) ^ (rng.random(600) < 0.03) ^ flip
    return np.column_stack([u, v]), y.astype(int)


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_a_tree_of_few_weights_finds_two_crossing_lines(seed, flip):
    X, y = crossing_lines(seed, flip)
    assert DGTClassifier(max_depth=2, random_state=seed).fit(X, y).score(X, y) > 0.92


def test_a_tree_of_many_weights_has_one_try():
    X, y = crossing_lines(0, False)
    assert few_weights(len(X), columns=2, height=2, values_a_leaf=2)
    assert not few_weights(len(X), columns=2, height=3, values_a_leaf=2)
    wide = DGTClassifier(max_depth=3, max_epochs=10, random_state=0).fit(X, y)
    assert len(wide.history_["loss"]) == 10


def test_the_others_stop_at_half_time():
    group = trainers()
    chosen, result = tried(group)
    made = [t.descent.epochs for t in group]
    assert made[chosen] == EPOCHS == result.n_epochs
    assert [n for k, n in enumerate(made) if k != chosen] == [EPOCHS // 2] * 2


@pytest.mark.parametrize("n_threads", [2, 3, 8])
def test_the_result_does_not_depend_on_threads(n_threads):
    one, many = trainers(), trainers()
    chosen, result = tried(one)
    assert tried(many, n_threads=n_threads) == (chosen, result)
    for a, b in zip(one, many, strict=True):
        assert trees_equal(a.harden(), b.harden())


def test_one_try_is_an_ordinary_fit():
    group, (alone,) = trainers(1), trainers(1)
    assert tried(group) == (0, alone.fit(TRAIN, HELD))
    assert trees_equal(group[0].harden(), alone.harden())


def test_a_single_epoch_leaves_no_half_to_try():
    recipe = Recipe(epochs=1, batch_size=64, min_batches=1)
    group = trainers(recipe=recipe)
    chosen, result = tried(group)
    assert (chosen, result.n_epochs) == (0, 1)
    assert [t.descent.epochs for t in group] == [1, 0, 0]


@pytest.mark.parametrize("n_threads", [1, 3])
def test_callbacks_count_the_epochs_of_all_tries_one_at_a_time(n_threads):
    calls, inside = [], threading.Lock()

    def callback(done, total, metrics):
        assert inside.acquire(blocking=False)
        calls.append((done, total))
        assert set(metrics) == {"loss", "val_loss", "val_rmse"}
        inside.release()

    tried(trainers(), (callback,), n_threads)
    total = 3 * (EPOCHS // 2) + EPOCHS // 2
    assert calls == [(k, total) for k in range(1, total + 1)]


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("at", [1, 7, 17])
def test_a_callback_stops_everything(n_threads, at):
    calls = {"one": [], "other": []}

    def one(done, total, metrics):
        calls["one"].append(done)
        return done == at

    group = trainers()
    _, result = tried(group, (one, lambda done, *_: calls["other"].append(done)), n_threads)
    assert calls["one"] == calls["other"] == list(range(1, at + 1))
    assert result.stopped_early
    # Every other try ends with the epoch that it is in, or its first.
    assert sum(t.descent.epochs for t in group) <= at + 2


def test_an_error_in_a_try_is_the_callers():
    group = trainers(recipe=Recipe(epochs=10, learning_rate=1e38, leaf_learning_rate=1e38))
    with pytest.raises(StateError, match="the loss became"), np.errstate(all="ignore"):
        tried(group, n_threads=3)
