"""Members of a forest together, and what those say of a row that have not seen it."""

import numpy as np
import pytest

from dgtrees.estimators.out_of_bag import ask_unseen, rows_of_leaves, together, tree_seed
from dgtrees.learn.linear import Linear
from dgtrees.learn.members import Member
from dgtrees.tables.examples import Examples, bootstrap
from dgtrees.tree.forest import ObliqueForest
from dgtrees.tree.oblique import ObliqueTree

X = np.random.default_rng(0).normal(size=(50, 1))
TRAIN = Examples(X, np.zeros((50, 1)), np.arange(50.0))


def stump(low, high, slope=None):
    tree = ObliqueTree.complete([[1.0]], [0.0], [[low], [high]])
    linear = None if slope is None else Linear(np.array([[slope]]), np.array([1.0]))
    return Member(tree, np.ones(1), linear)


def test_members_beside_lines_become_a_sum():
    members = [stump(0.0, 4.0, 2.0), stump(2.0, 8.0, 4.0)]
    trees, combine, base = together(members, "mean")
    forest = ObliqueForest(trees, combine, base=base)
    said = [m.tree.predict(X) + m.linear.predict(X) for m in members]
    assert np.allclose(forest.predict(X), np.mean(said, axis=0))
    plain = [stump(0.0, 1.0)]
    assert together(plain, "mean") == ([plain[0].tree], "mean", None)


@pytest.mark.parametrize("slope", [None, 3.0])
def test_only_those_are_asked_that_have_not_drawn_a_row(slope):
    members = [stump(float(k), 10.0 * k, slope) for k in range(6)]
    seeds = [tree_seed(1, number) for number in range(9)]
    forest = ObliqueForest([member.tree for member in members])
    bounds = np.array([-1.0]), np.array([30.0])
    mean, spread = ask_unseen(members, forest, TRAIN, 1.0, seeds, bounds)
    drawn = [bootstrap(TRAIN.weight, 1.0, seed) > 0 for seed in seeds[:6]]
    for row in range(50):
        own = [m for m, seen in zip(members, drawn, strict=True) if not seen[row]]
        trees = [m.tree.predict(X[row : row + 1])[0, 0] for m in own]
        if not own:
            assert np.isnan(mean[row, 0])
            continue
        whole = np.mean(trees) + (0.0 if slope is None else slope * X[row, 0] + 1.0)
        assert mean[row, 0] == pytest.approx(whole if slope is None else np.clip(whole, -1, 30))
        if len(own) > 1:
            assert spread[row, 0] == pytest.approx(np.std(trees, ddof=1))
        else:
            assert np.isnan(spread[row, 0])


def test_rows_of_leaves_are_those_of_visits():
    tree = stump(0.0, 1.0).tree
    assert np.array_equal(rows_of_leaves(tree, TRAIN), tree.visits(X, TRAIN.weight)[1])
