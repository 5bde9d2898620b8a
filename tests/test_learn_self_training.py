"""From a few labels to a tree: folds, candidates, their average, the student."""

import numpy as np
import pytest

from dgtrees.learn import few_labels
from dgtrees.learn.few_labels import (
    Graphs,
    agree,
    choose_spreading,
    sample_rows,
    spread_labels,
)
from dgtrees.learn.guesses import GUESS_NAMES, best_penalty, make_guess
from dgtrees.learn.part_labelled import PartLabelled, best_sharpness
from dgtrees.learn.self_training import choose, self_train, with_labels
from dgtrees.learn.spreading import Spreading, SpreadingChoice
from dgtrees.learn.student import (
    StudentPlan,
    choose_student,
    student_importance,
    student_plans,
    student_recipe,
    train_student,
)


def two_moons(rows=160, labels=8, seed=0):
    """Moons around each other; the classes of the first rows are known."""
    random = np.random.default_rng(seed)
    truth = np.arange(rows) % 2
    angle = np.pi * random.random(rows)
    X = np.stack([np.cos(angle), np.sin(angle)], axis=1) * np.where(truth, -1, 1)[:, None]
    X += np.where(truth, [[1.0], [0.4]], [[0.0], [0.0]]).T + 0.08 * random.normal(size=(rows, 2))
    X = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
    target = np.eye(2)[truth[:labels]]
    return PartLabelled(X, np.arange(labels), target, np.ones(rows), True), truth


def some_values(rows=150, labels=40, seed=0):
    X = np.random.default_rng(seed).normal(size=(rows, 3)).astype(np.float32)
    y = np.sin(X[:, :1]) + 0.5 * X[:, 1:2]
    y = (y - y[:labels].mean()) / y[:labels].std()
    return PartLabelled(X, np.arange(labels), y[:labels], np.ones(rows), False), y


def test_classes_are_spread_over_folds():
    part, truth = two_moons(labels=40)
    assert part.n_folds == 10
    for fold in range(10):
        assert sorted(truth[part.labelled[part.fold == fold]]) == [0, 0, 1, 1]


def test_centred_classes_add_up_to_nothing_and_come_back():
    part, _ = two_moons()
    assert part.offsets.shape == (8, 1)
    np.testing.assert_allclose(part.whole(part.offsets) + part.center, part.target)
    sure = part.answers(part.offsets, 1000.0)
    np.testing.assert_allclose(sure, part.target, atol=1e-9)


def test_a_few_right_labels_are_no_certainty():
    part, _ = two_moons()
    sharp = best_sharpness(part, 0.01 * part.offsets)
    shares = part.answers(0.01 * part.offsets, sharp)
    assert 0.8 < shares.max() < 0.999


def test_a_part_of_the_rows_is_a_table_of_its_own():
    part, _ = two_moons()
    some = part.take(np.array([1, 5, 7, 20, 30]))
    assert some.labelled.tolist() == [0, 1, 2]
    assert np.array_equal(some.X[some.labelled], part.X[[1, 5, 7]])
    assert np.array_equal(some.target, part.target[[1, 5, 7]])


@pytest.mark.parametrize("kind", GUESS_NAMES)
@pytest.mark.parametrize("make", [two_moons, some_values])
def test_a_fold_does_not_know_its_labels(kind, make):
    part, _ = make(labels=20)
    out = part.fold == 0
    target = part.target.copy()
    target[out] = target[out][::-1]
    other = PartLabelled(part.X, part.labelled, target, part.weight, part.classification)
    other.__dict__.update(center=part.center, fold=part.fold)
    assert not np.array_equal(part.target, other.target)
    one, two = (make_guess(p, kind)(out) for p in (part, other))
    np.testing.assert_allclose(one, two)
    whole = [make_guess(p, kind)(None) for p in (part, other)]
    assert kind == "nothing" or not np.allclose(*whole)


def test_noisy_labels_take_a_strong_penalty():
    part, _ = some_values()
    noise = np.random.default_rng(0).normal(size=part.target.shape)
    noisy = PartLabelled(part.X, part.labelled, noise, part.weight, False)
    assert best_penalty(noisy) > best_penalty(part)


def test_the_graph_is_chosen_where_labels_follow_it():
    part, truth = two_moons(labels=12)
    choice = choose(part, part.X, None)
    assert sum(choice.shares.values()) == pytest.approx(1.0)
    assert max(choice.shares, key=choice.shares.get).neighbours > 0
    soft = spread_labels(part, Graphs(part.X, 0), choice)
    assert (soft.argmax(axis=1) == truth).mean() > 0.93
    np.testing.assert_allclose(soft.sum(axis=1), 1.0)
    assert "their average" in str(choice)


def test_the_penalty_of_sure_models_is_no_stronger_than_their_classes_need():
    random = np.random.default_rng(1)
    X = random.normal(size=(60, 80)).astype(np.float32)  # more columns than labels
    truth = (X[:, :40].sum(axis=1) > 0).astype(int)
    part = PartLabelled(X, np.arange(60), np.eye(2)[truth], np.ones(60), True)

    def wrong(penalty):
        guess = make_guess(part, "linear", penalty)
        held = np.vstack([guess(part.fold == fold)[part.fold == fold] for fold in range(10)])
        label = np.concatenate([truth[part.fold == fold] for fold in range(10)])
        return ((held[:, 0] < 0) != label).mean()

    assert wrong(best_penalty(part)) <= min(wrong(p) for p in (1e4, 1e2, 1.0)) + 0.05


def test_leaves_and_height_are_chosen_on_rows_held_out():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 10)).astype(np.float32)
    score = X @ np.linspace(-1, 1, 10)
    shares = np.column_stack([1 / (1 + np.exp(score)), 1 / (1 + np.exp(-score))])
    plans = student_plans(400, None, "auto")
    assert plans == [StudentPlan(4), StudentPlan(0, "linear"), StudentPlan(1, "linear")]
    recipe = student_recipe(True, max_epochs=40)
    losses = choose_student(X, shares, np.ones(400), True, plans, recipe, seed=0)
    assert min(losses, key=losses.get) == StudentPlan(0, "linear")
    tree = train_student(X, shares, np.ones(400), True, plans[1], recipe, seed=0)
    importance = student_importance(tree, X, shares, np.ones(400), True)
    assert importance.sum() == pytest.approx(1.0)
    assert importance[[0, -1]].min() > 5 * importance[[4, 5]].max()


def test_a_given_height_is_taken_as_it_is():
    assert student_plans(400, 3, "auto") == [StudentPlan(3)]
    assert student_plans(400, 3, "linear") == [StudentPlan(3, "linear")]
    assert student_plans(400, None, "constant") == [StudentPlan(4)]


def test_no_graph_and_a_graph_of_a_given_size():
    part, _ = two_moons()
    assert not any(one.neighbours for one in choose(part, part.X, 0).losses)
    assert {one.neighbours for one in choose(part, part.X, 7).losses} == {0, 7}


def test_large_tables_search_neighbours_once(monkeypatch):
    part, _ = two_moons(labels=12)
    monkeypatch.setattr(few_labels, "_SEVERAL_SEARCHES", 100)
    kept = choose_spreading(part, part.X).shares
    assert len({(one.scaling, one.directions) for one in kept if one.neighbours}) == 1


def test_choices_are_made_on_some_rows_of_many(monkeypatch):
    part, _ = two_moons(labels=30)
    monkeypatch.setattr(few_labels, "_CHOICE_LABELS", 20)
    monkeypatch.setattr(few_labels, "_CHOICE_ROWS", 50)
    rows = sample_rows(part)
    assert len(rows) == 50
    assert (rows < 30).sum() == 20
    assert (np.diff(rows) > 0).all()


def test_rows_agree_with_labels_and_a_tree():
    part, truth = two_moons()
    choice = SpreadingChoice(shares={Spreading("nothing", 5, 0.01, "standard", 2): 1.0})
    told = np.eye(2)[truth]
    told[40:50] = 1 - told[40:50]  # mistakes of a tree among neighbours that know better
    agreed = agree(part, Graphs(part.X, 0), choice, told)
    np.testing.assert_allclose(agreed.sum(axis=1), 1.0)
    assert (agreed[40:50].argmax(axis=1) == truth[40:50]).mean() > 0.7
    alone = SpreadingChoice(shares={Spreading("linear"): 1.0})
    np.testing.assert_allclose(agree(part, Graphs(part.X, 0), alone, told), told)
    (graph,) = choice.shares
    both = SpreadingChoice(shares={graph: 0.25, Spreading("linear"): 0.75})
    mixed = 0.25 * agreed + 0.75 * told
    np.testing.assert_allclose(agree(part, Graphs(part.X, 0), both, told), mixed, atol=0.02)


def test_labels_stay_what_they_are():
    part, _ = two_moons()
    assert np.array_equal(with_labels(part, np.full((160, 2), 0.5))[:8], part.target)


def test_a_student_learns_shares():
    part, truth = two_moons()
    shares = np.where(truth[:, None] == [0, 1], 0.8, 0.2)
    recipe = student_recipe(True, max_epochs=40)
    tree = train_student(part.X, shares, part.weight, True, StudentPlan(4), recipe, seed=0)
    p = np.exp(tree.predict(part.X))
    p /= p.sum(axis=1, keepdims=True)
    assert np.abs(p - shares).mean() < 0.03


@pytest.mark.parametrize("make", [two_moons, some_values])
def test_any_number_of_threads_gives_the_same_tree(make):
    part, _ = make()
    choice = SpreadingChoice(
        shares={Spreading("linear", 5, 0.01, "standard", 2): 1.0},
        sharpness={Spreading("linear", 5, 0.01, "standard", 2): 4.0},
    )
    settings = {"max_depth": 3, "max_epochs": 5}
    one, two = (
        self_train(part, part.X, part.X, choice, n_threads=threads, **settings)
        for threads in (1, 2)
    )
    assert np.array_equal(one.targets, two.targets)
    assert np.array_equal(one.tree.weights, two.tree.weights)
    assert one.epochs == 5


def test_values_are_learnt():
    part, y = some_values()
    choice = choose(part, part.X, None)
    made = self_train(part, part.X, part.X, choice, max_depth=5, max_epochs=60)
    assert np.square(made.tree.predict(part.X) - y).mean() < 0.35 * y.var()
