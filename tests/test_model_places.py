"""places: every leaf that rows reach has a line, below the decisions that send them there."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dgtrees.model.plot.places import place_all
from dgtrees.tree import ObliqueTree
from reference import paths, random_topology


def random_tree(nodes, rng):
    left, right, _ = random_topology(nodes, rng)
    return ObliqueTree(
        rng.normal(size=(nodes, 2)), np.zeros(nodes), left, right, np.zeros((nodes + 1, 1))
    )


@given(st.integers(0, 12), st.integers(0, 10**6))
def test_leaves_that_rows_reach_are_drawn_once_and_no_others(nodes, seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(nodes, rng)
    rows = rng.integers(0, 2, size=tree.n_leaves)
    rows[rng.integers(tree.n_leaves)] = 1
    places = place_all(tree, 99, np.concatenate(tree.totals(rows.astype(float))) > 0)
    assert sorted(~p.child for p in places if p.child < 0) == np.flatnonzero(rows).tolist()
    lines = [p for p in places if not p.is_box]
    assert [p.first for p in lines] == list(range(len(lines)))
    assert sum(p.is_box for p in places) == len(lines) - 1  # each sends rows both ways
    sides = paths(tree.left, tree.right)
    for leaf in (p for p in places if p.child < 0):
        place = leaf
        while place.above >= 0:
            above = places[place.above]
            assert sides[above.child, ~leaf.child] == (1 if place.yes else -1)
            place = above


@given(st.integers(1, 12), st.integers(0, 10**6))
def test_everything_is_drawn_where_nothing_is_known_of_rows(nodes, seed):
    tree = random_tree(nodes, np.random.default_rng(seed))
    places = place_all(tree, 99)
    assert sorted(p.child for p in places) == list(range(-nodes - 1, nodes))
    assert [p.child for p in place_all(tree, 0)] == [0]
