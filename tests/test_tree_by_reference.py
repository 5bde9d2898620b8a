"""Named tuples that compiled code takes as one pointer."""

import copy
import pickle
from typing import NamedTuple

import numpy as np
import pytest

from dgtrees.tree.by_reference import Held, opener
from dgtrees.tree.compiled import njit


class Inner(NamedTuple):
    singles: np.ndarray
    factor: float


class Outer(NamedTuple):
    matrix: np.ndarray
    inner: Inner
    count: int
    wanted: bool
    words: np.ndarray


def made(rows: int = 2) -> Outer:
    inner = Inner(np.arange(24, dtype=np.float32).reshape(2, 3, 4), 0.5)
    return Outer(np.arange(3.0 * rows).reshape(rows, 3), inner, -7, True, np.array([2**63 + 1]))


opened = opener(made(0))


@njit()
def read(table, i, j):
    state = opened(table)
    inner = state.inner
    words, shape = state.words[0], state.matrix.shape
    return state.matrix[i, j], inner.singles[1, i, j] * inner.factor, state.count, words, shape


@njit()
def write(table, value):
    state = opened(table)
    for i in range(state.matrix.shape[0]):
        if state.wanted:
            state.matrix[i, -1] = value


def test_numbers_and_arrays_are_those_of_the_tuple_whatever_their_sizes():
    for rows in (2, 5):
        held = Held(made(rows))  # which keeps the arrays
        found = read(held.table, 1, 2)
        assert found == (5.0, 9.0, -7, 2**63 + 1, (rows, 3))


def test_what_is_written_is_written_into_the_arrays():
    held = Held(made())
    write(held.table, 8.0)
    assert held.state.matrix.tolist() == [[0.0, 1.0, 8.0], [3.0, 4.0, 8.0]]
    other = Held(held.state._replace(wanted=False))
    write(other.table, 9.0)
    assert held.state.matrix[0, 2] == 8.0


@pytest.mark.parametrize("twin_of", [copy.deepcopy, lambda held: pickle.loads(pickle.dumps(held))])
def test_a_copy_has_arrays_and_a_table_of_its_own(twin_of):
    held = Held(made())
    twin = twin_of(held)
    write(twin.table, 8.0)
    assert twin.state.matrix[0, 2] == 8.0 and held.state.matrix[0, 2] == 2.0


def test_arrays_that_compiled_code_would_misread_are_refused():
    with pytest.raises(ValueError, match="contiguous and writeable"):
        Held(made()._replace(matrix=np.zeros((4, 4))[:, ::2]))
