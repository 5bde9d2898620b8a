"""Trees with linear leaves for boosted sums: where they are cut, and what their leaves hold."""

import numpy as np
import pytest

import reference
from dgtrees.learn._hinge_splits import find_hinge
from dgtrees.learn.linear_tree import LinearGrowth, grow_linear, growth_of

RNG = np.random.default_rng(0)


def grown(X, y, depth=2, columns=None, weight=None, penalty=1e-3, seed=0):
    columns = np.arange(X.shape[1]) if columns is None else columns
    growth = LinearGrowth(depth, 10, penalty, columns)
    weight = np.ones(len(X)) if weight is None else weight
    center, scale = X.mean(axis=0), X.std(axis=0)
    return grow_linear(X, y, weight, growth, center, scale, np.random.default_rng(seed))


@pytest.mark.parametrize("convex", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_a_cut_is_where_a_slow_search_finds_it(seed, convex):
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.normal(size=(120, 3)), np.ones(120)])
    target = (1 if convex else -1) * np.abs(rows @ [1.0, 2.0, 0.0, 0.3]) + rng.normal(size=120)
    weight = rng.uniform(0.5, 2.0, size=120)
    start, found = rows @ rng.normal(size=4) >= 0, np.zeros(4)
    expected = reference.hinge_slowly(rows, target, weight, start.copy(), convex, 1.0, 5.0)
    assert find_hinge(rows, target, weight, start.copy(), convex, 1.0, 5.0, found)
    assert np.allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize(("penalty", "size"), [(0.0, 1.0), (1e-3, 1e17)])
def test_columns_that_others_make_up_are_no_trouble(penalty, size):
    X = RNG.normal(size=(200, 2))
    y = X[:, :1] + np.abs(X[:, 1:])
    alone = grown(X, y, depth=0, penalty=penalty, weight=np.full(200, size)).predict(X)
    X = np.column_stack([X, X[:, 0], np.ones(200)])
    growth = LinearGrowth(0, 10, penalty, np.arange(4))
    given = np.full(200, size), growth, np.zeros(4), np.ones(4), np.random.default_rng(0)
    assert np.allclose(grow_linear(X, y, *given).predict(X), alone, atol=1e-3)


def test_too_few_rows_on_a_side_are_no_cut():
    rows = np.column_stack([RNG.normal(size=(20, 2)), np.ones(20)])
    side = np.arange(20) < 3
    given = rows, rows[:, 0].copy(), np.ones(20), side, True, 1.0, 5.0, np.zeros(3)
    assert not find_hinge(*given)


def test_a_bend_is_found_and_its_planes():
    X = RNG.normal(size=(600, 3)) * [1.0, 20.0, 0.1] + [0.0, 5.0, 0.0]
    y = np.column_stack([np.maximum(2 * X[:, 0], X[:, 1] / 20), X[:, 2]])
    tree = grown(X, y[:, :1])
    assert np.sqrt(np.mean((tree.predict(X) - y[:, :1]) ** 2)) < 0.15 * y[:, 0].std()
    # One tree for several outputs.
    both = grown(X, y).predict(X)
    assert np.corrcoef(both[:, 1], y[:, 1])[0, 1] > 0.999


def test_a_leaf_is_a_ridge_regression_of_all_outputs():
    X, weight = RNG.normal(size=(80, 4)), RNG.uniform(0.5, 2.0, size=80)
    y = RNG.normal(size=(80, 2))
    tree = grown(X, y, depth=0, weight=weight, penalty=7.0)
    A = np.column_stack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones(80)])
    penalty = np.diag([7.0] * 4 + [1e-3])
    expected = A @ np.linalg.solve(A.T @ (A * weight[:, None]) + penalty, A.T @ (y.T * weight).T)
    assert tree.n_leaves == 1 and np.allclose(tree.predict(X), expected)


def test_only_columns_that_may_have_a_slope_have_one():
    X = RNG.normal(size=(400, 40))
    y = X[:, :1] + np.abs(X[:, 1:2])
    tree = grown(X, y, columns=np.arange(1, 40))
    assert not tree.weights[:, 0].any() and not tree.leaf_weights[:, :, 0].any()
    used = np.flatnonzero(tree.leaf_weights.any(axis=(0, 1)))
    assert len(used) == 32  # of more, a part is drawn
    assert np.count_nonzero(tree.weights, axis=1).max() <= 16


def test_growth_follows_the_other_trees_of_a_sum():
    growth = growth_of(4, 50, 2.0, (3, 10.0), np.arange(3))
    assert (growth.depth, growth.least_rows, growth.penalty) == (2, 50, 20.0)
    assert growth_of(31, 5, 1.0, (4, 1.0), np.arange(3)).depth == 4
