"""Which nodes and leaves are left: every answer as before, on every row that comes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dgtrees.tree import ObliqueTree
from dgtrees.tree.pruning import select
from dgtrees.tree.topology import check_children, child_pointers


@given(height=st.integers(0, 5), seed=st.integers(0, 2**32 - 1), values=st.integers(1, 4))
def test_rows_of_kept_leaves_get_the_same_answers(height, seed, values):
    rng = np.random.default_rng(seed)
    nodes = 2**height - 1
    answers = rng.integers(values, size=(nodes + 1, 1)).astype(float)
    tree = ObliqueTree.complete(rng.normal(size=(nodes, 3)), rng.normal(size=nodes), answers)
    X = rng.normal(size=(50, 3))
    keep = np.zeros(tree.n_leaves, dtype=bool)
    keep[tree.apply(X)[:10]] = True
    smaller = tree.keep_leaves(keep)
    rows = X[keep[tree.apply(X)]]
    assert np.array_equal(smaller.predict(rows), tree.predict(rows))
    assert smaller.n_leaves <= keep.sum()


def test_everything_reached_and_different_stays_as_it_is():
    left, right = child_pointers(3)
    kept, new_left, new_right, leaves = select(
        left, right, np.ones(15, dtype=bool), lambda a, b: False
    )
    assert kept == list(range(7)) and leaves == list(range(8))
    assert np.array_equal(new_left, left) and np.array_equal(new_right, right)


def test_agreeing_leaves_become_one():
    left, right = child_pointers(3)
    kept, new_left, new_right, leaves = select(
        left, right, np.ones(15, dtype=bool), lambda a, b: True
    )
    assert (kept, leaves) == ([], [0])
    check_children(new_left, new_right)
