"""ObliqueForest against the plain mean, vote or soft vote of its trees."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from dgtrees import ObliqueForest, ObliqueTree


def random_tree(rng, height, d=3, outputs=2, linear=False):
    leaves = 2**height
    return ObliqueTree.complete(
        rng.normal(size=(leaves - 1, d)),
        rng.normal(size=leaves - 1),
        rng.normal(size=(leaves, outputs)),
        rng.normal(size=(leaves, outputs, d)) if linear else None,
    )


def random_forest(seed, combine, linear=False, bounds=None):
    rng = np.random.default_rng(seed)
    # Trees of different shapes, a single leaf and a pruned one among them.
    trees = [random_tree(rng, height, linear=linear) for height in (0, 3, 2, 4)]
    trees[3] = trees[3].keep_leaves(np.arange(16) % 3 > 0)
    return ObliqueForest(trees, combine, bounds), rng.normal(size=(150, 3))


def expected(forest, X):
    """The combination, spelt out tree by tree."""
    total = np.zeros((len(X), forest.n_outputs))
    for tree in forest.trees:
        out = tree.predict(X)
        if forest.combine == "vote":
            out = np.eye(forest.n_outputs)[out.argmax(axis=1)]
        elif forest.combine == "softmax":
            out = softmax(out, axis=1)
        elif forest.bounds is not None:
            out = np.clip(out, *forest.bounds)
        total += out
    return total / len(forest.trees)


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("combine", ["mean", "vote", "softmax"])
@given(seed=st.integers(0, 2**32 - 1))
def test_a_forest_is_the_combination_of_its_trees(combine, linear, seed):
    forest, X = random_forest(seed, combine, linear)
    answer = forest.predict(X)
    assert np.array_equal(answer, expected(forest, X))
    assert np.array_equal(answer[7:8], forest.predict(X[7:8]))
    assert np.array_equal(answer, forest.predict(X, n_threads=3))
    assert np.array_equal(forest.apply(X), np.stack([t.apply(X) for t in forest.trees], axis=1))
    by_tree = forest.outputs_by_tree(X)
    assert by_tree.shape == (4, 150, 2)
    assert np.allclose(by_tree.mean(axis=0), answer, atol=1e-14)


def test_linear_leaves_stay_within_bounds():
    bounds = (np.array([-0.5, -0.1]), np.array([0.5, 0.1]))
    forest, X = random_forest(0, "mean", linear=True, bounds=bounds)
    answer = forest.predict(X)
    assert np.array_equal(answer, expected(forest, X))
    assert (answer >= bounds[0]).all() and (answer <= bounds[1]).all()


def test_answers_are_written_where_they_can_be():
    rng = np.random.default_rng(0)
    forest = ObliqueForest([random_tree(rng, 2), random_tree(rng, 1)])
    out = np.zeros(2)
    assert forest.predict_row(np.ones(3), out) is out and out.any()
    out.flags.writeable = False
    for bad, message in (
        (out, "got one that is read-only"),
        ([0.0, 0.0], "can be written to, got list"),
        (np.zeros(3), r"of shape \(2,\), got float64 of shape \(3,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            forest.predict_row(np.ones(3), bad)


def test_a_forest_describes_itself_and_survives_pickling():
    forest, X = random_forest(1, "mean")
    assert (len(forest), forest.depth, forest.n_leaves) == (4, 4, 1 + 8 + 4 + 10)
    assert forest.flops == 3 * (0 + 3 + 2 + 4)
    forest.predict(X)
    copy = pickle.loads(pickle.dumps(forest))
    assert np.array_equal(copy.predict(X), forest.predict(X))
    assert forest.predict(X[:0]).shape == (0, 2)


def test_trees_that_do_not_belong_together_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="at least one tree"):
        ObliqueForest([])
    with pytest.raises(ValueError, match=r"tree 0 has \(3, 2, False\), tree 1 has \(4, 2, False\)"):
        ObliqueForest([random_tree(rng, 2), random_tree(rng, 2, d=4)])
    with pytest.raises(ValueError, match="one of mean, vote, softmax, sum, got 'median'"):
        ObliqueForest([random_tree(rng, 2)], "median")
    with pytest.raises(ValueError, match="bounds must be two arrays of 2 numbers"):
        ObliqueForest([random_tree(rng, 2)], "mean", (np.zeros(1), np.zeros(1)))
    with pytest.raises(ValueError, match=r"shape \(rows, 3\), got \(2, 5\)"):
        ObliqueForest([random_tree(rng, 2)]).predict(np.zeros((2, 5)))
