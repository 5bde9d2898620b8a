"""Gradient descent by bags: whole bags in every batch, and a loss that falls."""

import numpy as np
import pytest

from dgtrees.learn.bag_descent import BagFeed, descend
from dgtrees.learn.bag_score import BagTable
from dgtrees.learn.starts import Start
from dgtrees.tables.bags import Bags
from reference_bags import concept_bags, loss_slowly


def table(bags=40, seed=0):
    X, ids, label = concept_bags(bags, lambda rows: rows[:, 0] + rows[:, 1] > 1.2, seed)
    return BagTable(X.astype(np.float32), Bags.of(ids, len(X)), label)


@pytest.mark.parametrize("size", [1, 7, 30, 1000])
def test_batches_are_of_whole_bags_and_all_of_them(size):
    feed = BagFeed(table())
    size = max(size, int(feed.table.bags.sizes.max()))
    seen = []
    for rows, count in feed.batches(size, seed=3, epoch=1, done=0):
        assert len(rows) == count <= size and np.array_equal(
            feed.bags.sizes, feed.table.bags.sizes[feed.chosen]
        )
        assert np.array_equal(rows.X, feed.table.take(feed.chosen).X)
        seen.append(feed.chosen)
    assert sorted(np.concatenate(seen).tolist()) == list(range(40))
    assert len(seen) <= feed.n_batches(size)
    later = [feed.chosen for _ in feed.batches(size, seed=3, epoch=1, done=1)]
    assert [part.tolist() for part in later] == [part.tolist() for part in seen[1:]]


def test_descent_turns_an_axis_parallel_split():
    train = table()
    split = np.array([[1.0, 0.0, 0.0, 0.0]]), np.array([-0.3])
    start = Start(np.array([~0]), np.array([~1]), 1, np.array([[-3.0], [0.0]]), *split)
    tree = descend(start, train, "sum", 60, seed=0)
    before = np.where(train.X @ split[0][0] + split[1] >= 0, 0.0, -3.0)
    after = tree.predict(train.X)[:, 0]
    losses = [
        loss_slowly(scores, train.bags.number, train.label, "sum").mean()
        for scores in (before, after)
    ]
    assert losses[1] < 0.8 * losses[0]
    assert tree.weights[0, 1] > 0.3 * tree.weights[0, 0] > 0
    again = descend(start, train, "sum", 60, seed=0)
    assert np.array_equal(again.weights, tree.weights)
