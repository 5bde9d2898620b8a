"""Splits of a node by columns and directions drawn at random."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgtrees.learn._random_splits import (
    Sample,
    Splitting,
    find_split,
    make_room,
    slope,
    solve_positive,
)
from reference import best_threshold_slowly


def table(seed, rows=40, d=3, classes=0, outputs=1):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, size=(d, rows)).astype(np.float32)
    label = rng.integers(0, max(classes, 1), size=rows).astype(np.int32)
    target = rng.integers(-4, 5, size=(rows, outputs)).astype(float)
    weight = rng.integers(1, 4, size=rows).astype(float)
    return Sample(X, label, target, weight, classes)


def split(sample, splitting, rows, seed=0):
    room = make_room(sample, len(rows), max(splitting.width, 1), seed)
    columns, weights = np.zeros(len(room.slope), np.int64), np.zeros(len(room.slope))
    gain, threshold, size = find_split(
        sample, splitting, rows, 0, len(rows), room, columns, weights
    )
    return gain, threshold, columns[:size], weights[:size]


def shares(sample):
    return np.eye(sample.classes)[sample.label] if sample.classes else sample.target


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([(0, 1), (0, 3), (2, 1), (4, 1)]))
def test_of_all_columns_the_best_split_is_taken(seed, kind):
    sample = table(seed, classes=kind[0], outputs=kind[1])
    rows = np.random.default_rng(seed).permutation(40)[:30].astype(np.int32)
    gain, threshold, columns, weights = split(sample, Splitting(3, 0, 1, 4.0), rows)
    args = shares(sample)[rows], sample.weight[rows], 4.0
    every = [best_threshold_slowly(sample.X[j, rows], *args) for j in range(3)]
    best = max((g for g in every if g is not None), default=None)
    if best is None:
        assert len(columns) == 0
        return
    assert gain == pytest.approx(best, abs=1e-9) and weights.tolist() == [1.0]
    left = sample.X[columns[0], rows] < threshold
    assert min(sample.weight[rows][left].sum(), sample.weight[rows][~left].sum()) >= 4.0


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 3]))
def test_a_direction_gains_what_its_projection_gains(seed, classes):
    rng = np.random.default_rng(seed)
    sample = table(seed, classes=classes)
    sample = sample._replace(X=rng.normal(size=(3, 40)).astype(np.float32))
    rows = np.arange(40, dtype=np.int32)
    gain, threshold, columns, weights = split(sample, Splitting(1, 6, 3, 0.0), rows, seed)
    values = np.float32(weights @ sample.X[columns].astype(float))
    assert gain == pytest.approx(best_threshold_slowly(values, shares(sample), sample.weight, 0.0))
    assert 0 < (values < threshold).sum() < 40


def test_a_direction_finds_the_slope_of_the_target():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4, 200)).astype(np.float32)
    target = (X.T @ [1.0, -2.0, 0.0, 0.5])[:, None].astype(float)
    sample = Sample(X, np.zeros(0, np.int32), target, np.ones(200), 0)
    room = make_room(sample, 200, 4, 0)
    assert slope(sample, np.arange(200, dtype=np.int32), 0, 200, 4, room)
    assert np.allclose(room.slope / 0.9, np.array([1.0, -2.0, 0.0, 0.5])[room.order], atol=0.1)
    gain, _, columns, _ = split(sample, Splitting(4, 8, 4, 0.0), np.arange(200, dtype=np.int32))
    assert len(columns) > 1 and gain > 0


def test_rows_that_agree_or_cannot_be_told_apart_are_not_split():
    sample, rows = table(0, classes=2), np.arange(40, dtype=np.int32)
    tried = Splitting(3, 4, 3, 0.0)
    same = sample._replace(label=np.ones(40, np.int32))
    flat = sample._replace(X=np.ones((3, 40), np.float32))
    for one in (same, flat):
        assert len(split(one, tried, rows)[2]) == 0
    assert len(split(sample, tried._replace(least=1e6), rows)[2]) == 0
    assert len(split(sample, tried, rows[:1])[2]) == 0


def test_columns_that_do_not_vary_do_not_count_and_no_gain_is_no_reason_to_stop():
    # Neither column alone tells the classes apart: a tree must split all the same.
    X = np.array([[0, 0, 1, 1], [0, 1, 0, 1], [7, 7, 7, 7]], np.float32)
    label = np.array([0, 1, 1, 0], np.int32)
    sample = Sample(X, label, np.zeros((0, 0)), np.ones(4), 2)
    for seed in range(20):
        gain, _, columns, _ = split(
            sample, Splitting(1, 0, 1, 0.0), np.arange(4, dtype=np.int32), seed
        )
        assert gain == pytest.approx(0) and columns[0] in (0, 1)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_cholesky_solves(k, seed):
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(k, k))
    A, b = half @ half.T + np.eye(k), rng.normal(size=k)
    room, x = A.copy(), b.copy()
    assert solve_positive(room, x, k)
    assert np.allclose(A @ x, b)
    assert not solve_positive(-A, b.copy(), k)
