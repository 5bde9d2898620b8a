"""From rows and centres to a finished tree, with few columns and with many."""

import numpy as np
import pytest

from dgtrees.learn.cuts import CutSettings
from dgtrees.learn.unlabelled import fit_unlabelled
from unlabelled_rows import blobs

pytestmark = pytest.mark.usefixtures("one_blas_thread")


@pytest.mark.parametrize("d", [4, 130])
@pytest.mark.parametrize("rank", [0, 2])
def test_tree_and_shapes_speak_of_the_rows_as_they_are(d, rank):
    X = blobs(d=d) + 7.0
    weight = np.linspace(0.5, 1.5, len(X))
    found = fit_unlabelled(X, weight, X[:6], rank=rank, settings=CutSettings())
    assert found.tree.n_leaves == 6
    assert np.array_equal(found.tree.leaf_values[:, 0], np.arange(6))
    assert np.array_equal(found.tree.apply(X), found.leaves)
    for leaf in range(6):
        mine = found.leaves == leaf
        mean = np.average(X[mine], axis=0, weights=weight[mine])
        assert np.allclose(found.shapes.centres[leaf], mean)
    if d == 4:  # with many columns the history is that of the leading components
        cost = weight @ found.shapes.costs_at(X, found.leaves)
        assert np.isclose(cost, found.history[-1])


def test_more_starts_never_cost_more():
    X = blobs(spread=1.5)
    costs = [
        fit_unlabelled(
            X, np.ones(len(X)), X[:4], settings=CutSettings(screen_rows=50), starts=starts
        ).history[-1]
        for starts in (1, 3)
    ]
    assert costs[1] <= costs[0]
