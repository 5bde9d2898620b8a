"""One sum of trees: what it is while it grows, and what its finished trees say."""

import numpy as np
import pytest

from dgtrees.learn.boosted_sum import BoostedSum, deal_folds, start_sum
from dgtrees.learn.boosting import Booster
from dgtrees.learn.boosting_choice import CHOICES
from dgtrees.learn.boosting_losses import CrossEntropy, Quantile, Squared
from dgtrees.learn.boosting_rows import prepare_rows
from dgtrees.learn.boosting_settings import BoostingSettings

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 5)) * [1.0, 10.0, 0.1, 1.0, 1.0]
Y = np.sin(X[:, :1] * 2) + 0.1 * X[:, 1:2] + X[:, 3:4] * X[:, 4:]
TRAIN, HELD = np.arange(300), np.arange(300, 400)


def rows(y=Y, loss=None, signs=None):
    signs = np.zeros(5, np.int8) if signs is None else signs
    return prepare_rows(X, y, np.ones(len(X)), TRAIN, loss or Squared(), signs)


@pytest.mark.parametrize(
    ("outputs", "leaf"),
    [(1, "constant"), (3, "constant"), (8, "constant"), (1, "linear"), (3, "mixed")],
)
def test_finished_trees_add_up_to_the_scores(outputs, leaf):
    y = np.hstack([Y * (k + 1) - k * X[:, :1] for k in range(outputs)])
    settings = BoostingSettings(patience=None, leaf=leaf)
    booster = Booster(rows(y), HELD, TRAIN, settings, None, 0).run(30)
    whole = BoostedSum(booster.rows, [booster], settings, {})
    eye = np.eye(outputs)
    sums = whole.base(eye, np.zeros(outputs)).predict(X)
    booster.kept = 30
    for tree in whole.trees(eye):
        sums += tree.predict(X)
    # Rows go where they went in training, held-out ones too: only the order of adding differs.
    assert np.allclose(sums[np.r_[HELD, TRAIN]], booster.scores, atol=1e-12)
    trees = whole.trees(eye)
    assert any((np.count_nonzero(tree.weights, axis=1) > 1).any() for tree in trees)
    assert [tree.linear for tree in trees[:2]] == [leaf != "constant", leaf == "linear"]
    assert whole.importance().shape == (5,) and np.isclose(whole.importance().sum(), 1.0)


def test_held_out_rows_stop_a_sum_and_say_how_long_it_is():
    booster = Booster(rows(), TRAIN, HELD, BoostingSettings(patience=5), None, 0).run(1000)
    assert len(booster.trees) < 1000 and len(booster.trees) - booster.kept == 5
    assert booster.best_loss == min(booster.losses)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupted_sum_ends_its_rounds_and_can_go_on(threads):
    settings = BoostingSettings(patience=None)
    whole, other = (start_sum(rows(), folds(), settings, {}, False, 0) for _ in range(2))

    def interrupt(done, most, told):
        if done >= 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        whole.run(500, threads, interrupt)
    assert max(len(booster.trees) for booster in whole.boosters) < 100
    whole.run(100), other.run(100)
    for one, same in zip(whole.boosters, other.boosters, strict=True):
        assert np.array_equal(one.scores, same.scores) and one.losses == same.losses


def test_training_loss_falls():
    classes = np.eye(3)[(X[:, 0] > 0).astype(int) + (X[:, 3] > 0)]
    for loss, y in ((Squared(), Y), (Quantile(0.3), Y), (CrossEntropy(), classes)):
        made = rows(y, loss)
        booster = Booster(made, TRAIN, HELD[:0], BoostingSettings(patience=None), None, 0)
        before = loss.values(booster.scores, made.y[TRAIN]).mean()
        booster.run(20)
        assert loss.values(booster.scores, made.y[TRAIN]).mean() < 0.9 * before


def test_rows_and_columns_are_drawn():
    settings = BoostingSettings(row_share=0.5, column_share=0.3, patience=None)
    one, two = (Booster(rows(), TRAIN, HELD[:0], settings, None, seed).run(5) for seed in (0, 1))
    assert not np.array_equal(one.scores, two.scores)


def test_folds_are_even_and_hold_all_classes():
    y = np.eye(3)[np.repeat([0, 1, 2], [60, 30, 10])]
    fold = deal_folds(y, 4, True, seed=0)
    for number in range(4):
        assert y[fold == number].sum(axis=0).round(-1).tolist() in ([20, 10, 0], [10, 10, 0])
        assert y[fold == number].sum(axis=0).min() >= 2


def test_what_is_linear_starts_from_a_line():
    y = X @ [[1.0], [0.2], [3.0], [0.0], [-1.0]] + 0.1 * RNG.normal(size=(400, 1))
    made = rows((y - y.mean()) / y.std())
    choose = {"least_rows": True, "linear": True, "oblique": True}
    whole = start_sum(made, [(TRAIN, HELD)], BoostingSettings(), choose, False, 0)
    assert whole.settings.linear and whole.boosters[0].line is not None
    assert set(whole.tried) == {"start", *choose}


def test_leaves_are_tried_last_and_what_says_nothing_is_not():
    choose = dict.fromkeys(CHOICES, True)
    whole = start_sum(rows(), [(TRAIN, HELD)], BoostingSettings(), choose, False, 0)
    tried = ["start", "least_rows", "varied", "linear", "oblique", "linear leaves", "mixed"]
    assert list(whole.tried) == tried
    settings = BoostingSettings(leaf="linear")
    whole = start_sum(rows(), [(TRAIN, HELD)], settings, choose | {"leaf": False}, False, 0)
    assert list(whole.tried) == ["start", "linear"]


def folds():
    """Rows to learn from, and others, of four sums."""
    fold = deal_folds(Y, 4, False, seed=0)
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(4)]


def test_every_second_sum_of_varied_ones_is_linear():
    settings = BoostingSettings(varied=True, patience=None)
    whole = start_sum(rows(), folds(), settings, {}, False, 0).run(6)
    lines = [booster.line is not None for booster in whole.boosters]
    leaves = [booster.settings.leaf for booster in whole.boosters]
    assert lines == [False, True] * 2 and leaves == ["constant", "mixed"] * 2
    assert whole.settings == settings and whole.adds_columns
    for booster in whole.boosters:
        booster.kept = 6
    eye = np.eye(1)
    sums = whole.base(eye, np.zeros(1)).predict(X)
    sums += np.sum([tree.predict(X) for tree in whole.trees(eye)], axis=0)
    scores = np.empty((4, len(X), 1))
    for own, booster in zip(scores, whole.boosters, strict=True):
        own[np.r_[booster.train, booster.held]] = booster.scores
    assert np.allclose(sums, scores.mean(axis=0), atol=1e-12)


def test_choices_are_judged_by_the_mean_of_two_sums_of_other_rows(monkeypatch):
    made = []

    class Seen(Booster):
        def __init__(self, rows, train, held, *others):
            super().__init__(rows, train, held, *others)
            made.append((train, held))

    monkeypatch.setattr("dgtrees.learn.boosted_sum.Booster", Seen)
    parts = folds()
    start_sum(rows(), parts, BoostingSettings(), {"least_rows": True}, False, 0)
    pairs = [made[k : k + 2] for k in range(0, 16, 2)]  # two settings on four held-out parts
    assert len(made) == 16 + 4
    for k, ((one, held), (two, same)) in enumerate(pairs):
        kept = [parts[(k + other) % 4][1] for other in (1, 2, 3)]
        assert np.array_equal(held, parts[k % 4][1]) and np.array_equal(held, same)
        assert np.array_equal(one, np.sort(np.concatenate(kept[1:])))
        assert np.array_equal(two, np.sort(np.concatenate(kept[::2])))


def test_columns_with_a_sign_are_in_no_line_and_no_direction():
    signs = np.array([1, 0, 0, 0, -1], np.int8)
    made = rows(signs=signs)
    settings = BoostingSettings(linear=True)
    whole = start_sum(made, [(TRAIN, HELD)], settings, {}, False, 0).run(20)
    line = whole.boosters[0].line
    assert (line.weights[:, signs != 0] == 0).all() and line.weights.any()
    for tree in whole.boosters[0].trees:
        oblique = np.count_nonzero(tree.weights, axis=1) > 1
        assert (tree.weights[oblique][:, signs != 0] == 0).all()
