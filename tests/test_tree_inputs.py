"""Rows on their way into compiled code."""

import threading

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgtrees.tree.inputs import available_threads, check_row, check_rows, split_rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_are_taken_as_they_are(dtype):
    X = np.zeros((2, 3), dtype=dtype)
    assert check_rows(X, 3) is X
    assert check_rows(X.T.copy().T, 3).flags.c_contiguous


def test_other_numbers_become_float64():
    assert check_rows([[1, 2]], 2).dtype == np.float64
    assert check_row([True, 2], 2).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("X", [np.zeros(3), np.zeros((2, 2)), np.zeros((1, 2, 3))])
def test_rows_of_another_width(X):
    with pytest.raises(ValueError, match=r"X must have shape \(rows, 3\), got"):
        check_rows(X, 3)


def test_a_row_of_floats_is_not_copied_and_gaps_are_nan():
    x = np.zeros(3)
    assert check_row(x, 3) is x
    np.testing.assert_array_equal(check_row([1.0, None, pd.NA], 3), [1.0, np.nan, np.nan])
    strided = np.arange(6.0)[::2]
    found = check_row(strided, 3)
    assert found.flags.c_contiguous and found.tolist() == strided.tolist()


@pytest.mark.parametrize(("x", "error"), [(["a", 1, 2], TypeError), ([[1, 2, 3]], ValueError)])
def test_what_is_no_row_of_numbers(x, error):
    with pytest.raises(error, match="x must"):
        check_row(x, 3)


@settings(deadline=None)
@given(st.integers(0, 50), st.one_of(st.none(), st.integers(1, 7)), st.sampled_from([1, 10**9]))
def test_every_row_is_worked_on_once(rows, threads, cost):
    done, lock = np.zeros(rows, dtype=int), threading.Lock()

    def work(start, stop):
        with lock:
            done[start:stop] += 1

    split_rows(work, rows, cost, threads)
    assert (done == 1).all()


def test_an_error_in_any_thread_is_raised():
    def work(start, stop):
        if start:
            raise ArithmeticError("in a thread")

    with pytest.raises(ArithmeticError, match="in a thread"):
        split_rows(work, 100, 1, 4)


def test_the_environment_says_how_many_threads(monkeypatch):
    monkeypatch.setenv("DGTREES_NUM_THREADS", "3")
    assert available_threads() == 3
    monkeypatch.setenv("DGTREES_NUM_THREADS", "-1")
    assert available_threads() == 1
    monkeypatch.setenv("DGTREES_NUM_THREADS", "many")
    with pytest.raises(ValueError, match="DGTREES_NUM_THREADS must be a whole number, got 'many'"):
        available_threads()
    monkeypatch.delenv("DGTREES_NUM_THREADS")
    assert available_threads() >= 1
