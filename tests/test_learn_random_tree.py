"""Trees grown from random splits."""

import numpy as np
import pytest

from dgtrees.learn._random_splits import Sample, Splitting, make_room
from dgtrees.learn._random_tree import grow
from dgtrees.tree.by_reference import Held
from dgtrees.tree.oblique import ObliqueTree

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)).astype(np.float32)
Y = np.sign(X[:, 0] * X[:, 1]) + 0.1 * X[:, 2]
LABEL = (X[:, 0] + X[:, 1] > 0).astype(np.int32) + (X[:, 2] > 1)
DRAWN = RNG.integers(0, 3, size=300).astype(float)


def grown(splitting, classes=0, max_leaves=10**6, seed=3):
    label = LABEL.astype(np.int32) if classes else np.zeros(0, np.int32)
    target = np.zeros((0, 0)) if classes else Y[:, None].astype(float)
    sample = Sample(np.ascontiguousarray(X.T), label, target, DRAWN, classes)
    rows = np.flatnonzero(DRAWN).astype(np.int32)
    room = Held(make_room(sample, len(rows), splitting.width, seed))
    made = grow(sample, splitting, rows, max_leaves, room.table)
    tree = ObliqueTree(made.weights, made.bias, made.left, made.right, made.sums)
    return made, tree


@pytest.mark.parametrize("classes", [0, 3])
@pytest.mark.parametrize("splitting", [Splitting(2, 0, 1, 0.0), Splitting(2, 3, 4, 0.0)])
def test_leaves_hold_the_rows_that_come_to_them(splitting, classes):
    made, tree = grown(splitting, classes)
    leaf = tree.apply(X)
    target = np.eye(3)[LABEL] if classes else Y[:, None]
    for k in range(target.shape[1]):
        sums = np.bincount(leaf, DRAWN * target[:, k], tree.n_leaves)
        assert np.allclose(sums, made.sums[:, k])
    assert np.allclose(np.bincount(leaf, DRAWN, tree.n_leaves), made.mass)
    assert (made.gains >= 0).all() and made.gains.sum() > 0


def test_leaves_agree_unless_they_are_small_or_few():
    made, _ = grown(Splitting(2, 2, 3, 0.0), 3)
    assert ((made.sums > 0).sum(axis=1) == 1).all()
    small, _ = grown(Splitting(2, 2, 3, 10.0), 3)
    assert small.mass.min() >= 10 and len(small.mass) < len(made.mass)
    few, _ = grown(Splitting(2, 2, 3, 0.0), 3, max_leaves=5)
    assert len(few.mass) == 5
    one, _ = grown(Splitting(2, 2, 3, 1e9), 3)
    assert len(one.mass) == 1 and one.weights.shape == (0, 4)


def test_few_leaves_are_the_best_ones():
    made, tree = grown(Splitting(4, 0, 1, 0.0), max_leaves=6)
    alone, other = grown(Splitting(4, 0, 1, 25.0))

    def error(tree, made):
        values = (made.sums / made.mass[:, None])[tree.apply(X), 0]
        return DRAWN @ (values - Y) ** 2

    assert error(tree, made) < error(other, alone) or len(alone.mass) > 6


def test_a_seed_says_it_all():
    a, b, c = (grown(Splitting(1, 2, 3, 0.0), seed=seed)[0] for seed in (1, 1, 2))
    assert np.array_equal(a.weights, b.weights) and not np.array_equal(a.weights, c.weights)
