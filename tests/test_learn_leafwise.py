"""Trees grown leaf by leaf, from bins."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgtrees.learn._histograms import layout, pack
from dgtrees.learn._leafwise import add_by_leaf, grow, sum_by_leaf
from dgtrees.learn._scan import ONE
from reference import best_split_slowly


class Grown:
    """A tree, and the rows it was grown on."""

    def __init__(self, bins, gradient, leaves=8, least=2, signs=None, n_rows=None):
        n, columns = bins.shape
        n_bins = np.full(columns, int(bins.max()) + 1)
        signs = np.zeros(columns, np.int8) if signs is None else signs
        self.rows = np.arange(n_rows or n, dtype=np.int32)
        self.others = np.arange(n_rows or n, n, dtype=np.int32)
        words, self.units = np.zeros((n, 1 + gradient.shape[1] // 2), np.int64), np.empty(2)
        pack(self.rows, gradient, np.ones(n), words, self.units)
        base, groups, size = layout(n_bins, words.shape[1])
        self.splits, self.children, gains, bounds, self.edges, self.totals = grow(
            bins, self.rows, self.others, words, base, groups, n_bins, signs,
            np.empty((leaves, size), np.int64), leaves, least, 1.0 / self.units[1],
        )  # fmt: skip
        self.gains = gains * self.units[0] ** 2 / self.units[1]
        self.bounds = bounds * self.units[0] / self.units[1]

    def route(self, bins):
        """Leaf of every row, one by one."""
        leaves = []
        for row in bins:
            node = 0 if len(self.splits) else ~0
            while node >= 0:
                column, last = self.splits[node]
                node = self.children[node, int(row[column] > last)]
            leaves.append(~node)
        return np.array(leaves)


def table(seed, rows=60, columns=3, bins=6, channels=1):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, bins, size=(rows, columns)).astype(np.uint8)
    X[0] = bins - 1
    return X, rng.integers(-5, 6, size=(rows, channels)).astype(np.float64)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.sampled_from([60, 45]))
def test_rows_are_sorted_by_their_leaves(seed, channels, n_rows):
    bins, gradient = table(seed, channels=channels)
    tree = Grown(bins, gradient, least=4, n_rows=n_rows)
    leaves = tree.route(bins)
    assert len(tree.edges) == len(tree.splits) + 1 <= 8 and (tree.gains > 0).all()
    for leaf, (first, last, start, stop) in enumerate(tree.edges):
        own = np.flatnonzero(leaves == leaf)
        assert sorted(tree.rows[first:last]) == own[own < n_rows].tolist()
        assert sorted(tree.others[start:stop]) == own[own >= n_rows].tolist()
        assert last - first >= 4 or len(tree.splits) == 0
        slope, curve = tree.totals[leaf, :2] * tree.units / ONE
        assert np.isclose(slope, gradient[tree.rows[first:last], 0].sum(), atol=1e-5)
        assert np.isclose(curve, last - first, atol=1e-5)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_first_split_is_the_best_of_all(seed):
    bins, gradient = table(seed)
    gains = Grown(bins, gradient).gains
    slow, _, _ = best_split_slowly(bins, gradient[:, 0], np.ones(len(bins)), 1.0, 2)
    assert np.isclose(gains[0] if len(gains) else 0.0, slow, atol=1e-4)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([-1, 1]))
def test_values_follow_the_sign_of_a_column(seed, sign):
    bins, gradient = table(seed, rows=200)
    tree = Grown(bins, gradient, 16, signs=np.array([sign, 0, 0], np.int8))
    sums = np.zeros((len(tree.edges), 1))
    sum_by_leaf(tree.rows, tree.edges, 0, gradient, sums)
    counts = tree.edges[:, 1] - tree.edges[:, 0]
    values = np.clip(-sums[:, 0] / (counts + 1.0), tree.bounds[:, 0], tree.bounds[:, 1])
    for higher in range(1, 6):
        low, high = bins.copy(), bins.copy()
        low[:, 0], high[:, 0] = higher - 1, higher
        assert (sign * (values[tree.route(high)] - values[tree.route(low)]) >= 0).all()


@pytest.mark.parametrize("outputs", [1, 3])
def test_scores_get_the_values_of_their_leaves(outputs):
    bins, gradient = table(0)
    tree = Grown(bins, gradient, n_rows=40)
    rng = np.random.default_rng(0)
    scores, values = rng.normal(size=(60, outputs)), rng.normal(size=(len(tree.edges), outputs))
    expected = scores + values[tree.route(bins)]
    add_by_leaf(scores, tree.rows, tree.edges, 0, values)
    add_by_leaf(scores, tree.others, tree.edges, 2, values)
    assert np.array_equal(scores, expected)
