"""Trees without labels: every shape is a leaf with rows, and refinement never raises the cost."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgtrees.learn.cuts import CutSettings
from dgtrees.learn.leaf_shapes import Centres, Flats
from dgtrees.learn.partition import grow_partition
from dgtrees.tree.oblique import ObliqueTree
from unlabelled_rows import blobs, grid

pytestmark = pytest.mark.usefixtures("one_blas_thread")


def grown(X, leaves, rank=0, seed=0):
    rng = np.random.default_rng(seed)
    start = X[rng.choice(len(X), leaves, replace=False)]
    shapes = Flats(start, np.zeros((leaves, rank, X.shape[1]))) if rank else Centres(start)
    return grow_partition(X, np.ones(len(X)), shapes, CutSettings(), rng)


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("leaves", [1, 2, 9])
def test_every_leaf_has_rows_and_the_cost_never_rises(leaves, rank):
    X = blobs()
    tree = grown(X, leaves, rank)
    history = tree.refine(X, np.ones(len(X)), 4)
    assert (np.diff(history) <= 1e-9).all()
    found = tree.leaves(X)
    assert (np.bincount(found, minlength=leaves) > 0).all()
    assert np.isclose(tree.cost(X, np.ones(len(X))), history[-1])
    # The numbers of a finished tree: parents before children, leaves from left to right.
    numbers = np.arange(leaves, dtype=float)[:, None]
    whole = ObliqueTree(tree.weights, tree.bias, tree.left, tree.right, numbers)
    assert np.array_equal(whole.apply(X), found)


@settings(max_examples=4, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 10))
def test_rows_on_a_grid_fill_any_number_of_leaves(seed, leaves):
    X = grid(12, seed=seed)
    tree = grown(X, min(leaves, len(X)), seed=seed)
    tree.refine(X, np.ones(len(X)), 2)
    assert (np.bincount(tree.leaves(X), minlength=len(tree.shapes)) > 0).all()


def test_separate_blobs_are_found_exactly():
    X = blobs(spread=0.05)
    tree = grown(X, 6, seed=3)
    tree.shapes = Centres(X[:6])
    tree.refine(X, np.ones(len(X)), 3)
    found = tree.leaves(X)
    assert len({(int(a), i % 6) for i, a in enumerate(found)}) <= 8
