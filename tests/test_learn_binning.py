"""Columns in bins, and the thresholds between them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dgtrees.learn.binning import MOST_BINS, bin_rows

COLUMNS = arrays(np.float64, st.integers(1, 60), elements=st.floats(-1e9, 1e9))


@given(COLUMNS, st.integers(2, 20))
def test_thresholds_tell_bins_apart(column, most):
    X = column[:, None]
    binned = bin_rows(X, np.arange(len(X)), most)
    edges = binned.edges[0]
    assert len(edges) < most and (np.diff(edges) > 0).all()
    for k, edge in enumerate(edges):
        assert np.array_equal(X[:, 0] >= edge, binned.bins[:, 0] > k)


@given(COLUMNS)
def test_few_values_have_a_bin_each(column):
    binned = bin_rows(column[:, None], np.arange(len(column)), MOST_BINS)
    assert binned.n_bins[0] == len(np.unique(column))


def test_thresholds_are_learnt_from_training_rows_only():
    X = np.arange(10.0)[:, None]
    binned = bin_rows(X, np.arange(5))
    assert binned.edges[0].tolist() == [0.5, 1.5, 2.5, 3.5]
    assert binned.bins[5:, 0].tolist() == [4] * 5
