"""From a table to the tree that suits it."""

import numpy as np
import pytest

from dgtrees.learn.auto import fit_automatically
from dgtrees.learn.choice import Choice
from dgtrees.learn.plans import Plan
from dgtrees.tables.examples import Examples

ARRAYS = ("weights", "bias", "left", "right", "leaf_values", "leaf_weights")


def rows(n=120, d=4, classes=0, seed=0, weight=None):
    rng = np.random.default_rng(seed)
    X = 3.0 + 2.0 * rng.normal(size=(n, d))
    signal = X[:, 0] + 2 * np.abs(X[:, 1] - 3.0) + 0.3 * rng.normal(size=n)
    y = np.digitize(signal, np.arange(5, 4 + classes)) if classes else signal[:, None]
    return Examples(X, y, np.ones(n) if weight is None else weight)


def same_tree(a, b):
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ARRAYS)


by_classes = pytest.mark.parametrize("classes", [0, 2, 3])


def with_plan(monkeypatch, plan):
    monkeypatch.setattr("dgtrees.learn.auto.choose", lambda *_: Choice({plan: [1.0]}, plan))


@by_classes
def test_a_tree_is_the_same_for_a_seed_and_any_number_of_threads(classes):
    train = rows(classes=classes)
    one = fit_automatically(train, None, classes, seed=3)
    two = fit_automatically(train, None, classes, seed=3, n_threads=2)
    assert same_tree(one.tree, two.tree)
    np.testing.assert_array_equal(one.importance, two.importance)
    assert one.choice.losses == two.choice.losses


@by_classes
def test_weights_of_which_there_is_less_than_one_a_row_say_nothing_about_a_number(classes):
    weight = np.random.default_rng(1).choice([0.25, 0.5, 1.0], 120)
    one = fit_automatically(rows(classes=classes, weight=weight), None, classes)
    for factor in (2.0**-20,):
        scaled = rows(classes=classes, weight=weight * factor)
        assert same_tree(one.tree, fit_automatically(scaled, None, classes).tree)


def test_more_weight_than_rows_is_more_rows_so_that_leaves_lean_less(monkeypatch):
    plan = Plan(max_leaves=4, strength=10.0)
    with_plan(monkeypatch, plan)
    light = fit_automatically(rows(), None, 0).tree
    heavy = fit_automatically(rows(weight=np.full(120, 100.0)), None, 0).tree
    assert np.array_equal(light.weights, heavy.weights)
    assert np.ptp(heavy.leaf_values) > np.ptp(light.leaf_values)


def test_rows_of_no_weight_are_as_good_as_absent():
    weight = np.ones(120)
    weight[::3] = 0.0
    train = rows(classes=3, weight=weight)
    some = weight > 0
    absent = Examples(train.X[some], train.y[some], weight[some])
    one, other = (fit_automatically(given, None, 3, seed=1) for given in (train, absent))
    assert same_tree(one.tree, other.tree)


@pytest.mark.parametrize("classes", [0, 3])
@pytest.mark.parametrize(
    "plan",
    [Plan(penalty=1.0), Plan(max_leaves=8), Plan(1.0, 8), Plan(max_depth=3, epochs=60), Plan()],
    ids=str,
)
def test_importances_are_shares_and_name_the_columns_that_matter(plan, classes, monkeypatch):
    with_plan(monkeypatch, plan)
    train = rows(300, classes=classes)
    train.X[:, 3] = 7.0
    importance = fit_automatically(train, None, classes).importance
    assert importance.shape == (4,) and (importance >= 0).all()
    assert importance[3] == 0
    if plan == Plan():
        assert importance.sum() == pytest.approx(0.0)  # nothing is used
    else:
        assert importance.sum() == pytest.approx(1.0)
        assert importance[0] + importance[1] > 0.6


@pytest.mark.parametrize("classes", [0, 3])
def test_given_rows_are_judged_by_and_not_trained_on(classes):
    train, held = rows(classes=classes), rows(50, classes=classes, seed=8)
    made = fit_automatically(train, held, classes)
    assert {len(losses) for losses in made.choice.losses.values()} == {1}
    far = fit_automatically(train, Examples(held.X + 5.0, held.y, held.weight), classes)
    linear = Plan(penalty=10.0)
    assert far.choice.losses[linear] > made.choice.losses[linear]
    np.testing.assert_allclose(made.scale, train.X.std(axis=0))
