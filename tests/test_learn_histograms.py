"""Sums by bin, and the best split, beside a search that sums every side anew."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dgtrees.learn._histograms import best_split, fill, separate
from reference import best_split_slowly


def binned(seed, rows, columns, most):
    rng = np.random.default_rng(seed)
    bins = rng.integers(0, most, size=(rows, columns)).astype(np.uint8)
    # Whole numbers: sums are exact in float32, in any order.
    gradient = rng.integers(-5, 6, size=(rows, 1)).astype(np.float32)
    return bins, gradient, np.ones(rows, np.float32)


def filled(bins, rows, gradient, curvature, most):
    columns = np.arange(bins.shape[1])
    n_bins = np.full(bins.shape[1], most)
    room = np.full((bins.shape[1], most * (gradient.shape[1] + 1)), 7.0, np.float32)
    fill(bins, rows, 0, len(rows), gradient, curvature, columns, n_bins, room)
    return room, columns, n_bins


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.integers(1, 4), st.integers(2, 9))
def test_histograms_are_sums_over_the_rows_of_a_leaf(seed, rows, columns, most):
    bins, gradient, curvature = binned(seed, rows, columns, most)
    gradient = np.hstack([gradient, 2 * gradient])
    some = np.flatnonzero(np.arange(rows) % 3 > 0).astype(np.int32)
    found, _, _ = filled(bins, some, gradient, curvature, most)
    for column in range(columns):
        for at in range(most):
            here = some[bins[some, column] == at]
            sums = [*gradient[here].sum(axis=0), curvature[here].sum()]
            assert found[column, 3 * at : 3 * at + 3].tolist() == sums


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 40),
    st.integers(1, 4),
    st.integers(2, 9),
    st.sampled_from([1, 3]),
    st.sampled_from([-1, 0, 1]),
    st.booleans(),
)
def test_the_best_split_is_the_one_a_slow_search_finds(
    seed, rows, columns, most, least, sign, bounded
):
    bins, gradient, curvature = binned(seed, rows, columns, most)
    everything = np.arange(rows, dtype=np.int32)
    room, which, n_bins = filled(bins, everything, gradient, curvature, most)
    total = np.array([gradient.sum(), curvature.sum()], dtype=np.float64)
    bounds = np.array([-0.5, 0.75]) if bounded else np.array([-np.inf, np.inf])
    signs = np.full(columns, sign, np.int8)
    gain, column, last = best_split(
        room, which, n_bins, total, rows, least, 1.0, signs, bounds, np.empty(1)
    )
    slow = best_split_slowly(bins, gradient[:, 0], curvature, 1.0, least, sign, *bounds)
    assert np.isclose(max(gain, 0.0), slow[0], atol=1e-5)
    if slow[0] > 1e-5:
        left = bins[:, column] <= last
        assert 0 < left.sum() < rows


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(4, 40), st.booleans())
def test_children_share_their_parents_sums(seed, rows, smaller_is_child):
    bins, gradient, curvature = binned(seed, rows, 3, 5)
    everything = np.arange(rows, dtype=np.int32)
    cut = rows // 3 if not smaller_is_child else rows - rows // 3
    left, right = everything[:cut], everything[cut:]
    parent, columns, n_bins = filled(bins, everything, gradient, curvature, 5)
    sums = [filled(bins, side, gradient, curvature, 5)[0] for side in (left, right)]
    room = np.stack([parent, sums[1] if smaller_is_child else sums[0]])
    separate(room, 0, 1, smaller_is_child, columns, n_bins, 2)
    assert np.array_equal(room, np.stack(sums))
