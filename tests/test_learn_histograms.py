"""Sums by bin, and the best split, beside a search that sums every side anew."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dgtrees.learn._histograms import best_split, fill, layout, pack, separate, split_sums
from dgtrees.learn._scan import ONE, WIDTH
from reference import best_split_slowly


def binned(seed, rows, columns, most, channels=1):
    rng = np.random.default_rng(seed)
    bins = rng.integers(0, most, size=(rows, columns)).astype(np.uint8)
    gradient = rng.integers(-5, 6, size=(rows, channels)).astype(np.float64)
    return bins, gradient, rng.integers(1, 4, size=rows).astype(np.float64)


def packed(rows, gradient, curvature):
    words, units = np.zeros((len(gradient), 1 + gradient.shape[1] // 2), np.int64), np.empty(2)
    pack(rows, gradient, curvature, words, units)
    return words, units


def filled(bins, rows, words, most):
    base, groups, size = layout(np.full(bins.shape[1], most), words.shape[1])
    sums = np.full(size, 7)
    fill(bins, rows, 0, len(rows), words, base, sums)
    return sums, base, groups


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.integers(2, 40), st.sampled_from([1, 4, 20]), st.integers(2, 9),
    st.integers(1, 5),
)  # fmt: skip
def test_histograms_are_sums_over_the_rows_of_a_leaf(seed, rows, columns, most, channels):
    bins, gradient, curvature = binned(seed, rows, columns, most, channels)
    some = np.flatnonzero(np.arange(rows) % 3 > 0).astype(np.int32)
    words, units = packed(some, gradient, curvature)
    sums, base, _ = filled(bins, some, words, most)
    left = np.zeros(2 * words.shape[1], np.int64)
    for column in range(columns):
        for at in range(most):
            here = some[bins[some, column] <= at]
            split_sums(sums, words.shape[1], base[column], at, left)
            slopes = left[[0, *range(2, 1 + channels)]] * units[0] / ONE
            assert np.allclose(slopes, gradient[here].sum(axis=0), atol=1e-5)
            assert np.isclose(left[1] * units[1] / ONE, curvature[here].sum(), atol=1e-5)


def test_columns_have_places_of_their_own():
    n_bins = np.array([3, 127, 2, 63] * 9)
    base, groups, size = layout(n_bins, words=2)
    places = [
        set((int(base[c]) + 2 * WIDTH * np.arange(n_bins[c])).tolist()) for c in range(len(n_bins))
    ]
    assert len(set.union(*places)) == n_bins.sum() and max(set.union(*places)) + WIDTH < size
    assert sorted(groups[:, 2:][groups[:, 2:] >= 0].tolist()) == list(range(36))


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 40),
    st.sampled_from([1, 4, 18]),
    st.integers(2, 9),
    st.sampled_from([1, 3]),
    st.sampled_from([-1, 0, 1]),
)
def test_the_best_split_is_the_one_a_slow_search_finds(seed, rows, columns, most, least, sign):
    bins, gradient, _ = binned(seed, rows, columns, most)
    everything, ones = np.arange(rows, dtype=np.int32), np.ones(rows)
    words, units = packed(everything, gradient, ones)
    sums, base, groups = filled(bins, everything, words, most)
    total, left = np.empty(2, np.int64), np.empty(2, np.int64)
    split_sums(sums, 1, base[0], most - 1, total)
    slow_bounds = np.array([-0.5, 0.75]) if sign else np.array([-np.inf, np.inf])
    gain, column, last = best_split(
        sums, base, groups, np.full(columns, most), total, rows, least, 1.0 / units[1],
        np.full(columns, sign, np.int8), slow_bounds * units[1] / units[0], left,
        np.empty(2, np.float32), np.empty(2 * WIDTH, np.int32), np.empty(2 * WIDTH, np.float32),
    )  # fmt: skip
    slow = best_split_slowly(bins, gradient[:, 0], ones, 1.0, least, sign, *slow_bounds)
    assert np.isclose(max(gain, 0.0) * units[0] ** 2 / units[1], slow[0], atol=1e-4)
    if slow[0] > 1e-4:
        there = bins[:, column] <= last
        assert 0 < there.sum() < rows
        assert np.isclose(left[0] * units[0] / ONE, gradient[there].sum(), atol=1e-5)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(4, 60), st.integers(2, 5), st.integers(2, 9))
def test_several_outputs_choose_together(seed, rows, channels, most):
    bins, gradient, _ = binned(seed, rows, 3, most, channels)
    everything, ones = np.arange(rows, dtype=np.int32), np.ones(rows)
    words, units = packed(everything, gradient, ones)
    sums, base, groups = filled(bins, everything, words, most)
    width = words.shape[1]
    total, left = np.empty(2 * width, np.int64), np.empty(2 * width, np.int64)
    split_sums(sums, width, base[0], most - 1, total)
    gain, _, _ = best_split(
        sums, base, groups, np.full(3, most), total, rows, 1, 1.0 / units[1], np.zeros(3, np.int8),
        np.array([-np.inf, np.inf]), left, np.empty(2 * width, np.float32),
        np.empty(2 * WIDTH * width, np.int32), np.empty(2 * WIDTH, np.float32),
    )  # fmt: skip

    def taken(part):
        return (gradient[part].sum(axis=0) ** 2).sum() / (part.sum() + 1.0)

    whole = np.ones(rows, bool)
    slow = 0.0
    for column in range(3):
        for last in range(most - 1):
            there = bins[:, column] <= last
            if 0 < there.sum() < rows:
                slow = max(slow, taken(there) + taken(~there) - taken(whole))
    assert np.isclose(max(gain, 0.0) * units[0] ** 2 / units[1], slow, rtol=1e-4, atol=1e-3)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(4, 40), st.booleans())
def test_children_share_their_parents_sums(seed, rows, smaller_is_child):
    bins, gradient, curvature = binned(seed, rows, 3, 5, 3)
    everything = np.arange(rows, dtype=np.int32)
    cut = rows // 3 if not smaller_is_child else rows - rows // 3
    words, _ = packed(everything, gradient, curvature)
    parent, _, _ = filled(bins, everything, words, 5)
    sums = [filled(bins, side, words, 5)[0] for side in (everything[:cut], everything[cut:])]
    one, two = parent, (sums[1] if smaller_is_child else sums[0]).copy()
    separate(one, two, smaller_is_child)
    assert np.array_equal(one, sums[0]) and np.array_equal(two, sums[1])
