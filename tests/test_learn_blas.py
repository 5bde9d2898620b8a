"""Matrix products of flat arrays, against NumPy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgtrees.learn._blas import SGEMM, multiply

ELSEWHERE = np.float32(-77)


def laid_out(matrix, place, apart):
    """A matrix in a flat array, its rows `apart` numbers further apart than they are long."""
    rows, columns = matrix.shape
    flat = np.full(place + rows * (columns + apart), ELSEWHERE)
    flat[place:].reshape(rows, columns + apart)[:, :columns] = matrix
    return flat, columns + apart


@pytest.mark.parametrize("ta", [0, 1])
@pytest.mark.parametrize("tb", [0, 1])
@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.tuples(*[st.integers(1, 12)] * 3),
    places=st.tuples(*[st.integers(0, 5)] * 3),
    apart=st.tuples(*[st.integers(0, 4)] * 3),
)
def test_the_product_and_nothing_else_is_written(ta, tb, seed, sizes, places, apart):
    (m, n, k), rng = sizes, np.random.default_rng(seed)
    A = rng.normal(size=(k, m) if ta else (m, k)).astype(np.float32)
    B = rng.normal(size=(n, k) if tb else (k, n)).astype(np.float32)
    a, lda = laid_out(A, places[0], apart[0])
    b, ldb = laid_out(B, places[1], apart[1])
    c, ldc = laid_out(np.full((m, n), np.nan), places[2], apart[2])
    multiply(SGEMM, ta, tb, m, n, k, a, places[0], lda, b, places[1], ldb, c, places[2], ldc)
    wanted = (A.T if ta else A).astype(float) @ (B.T if tb else B)
    found = c[places[2] :].reshape(m, ldc)
    np.testing.assert_allclose(found[:, :n], wanted, atol=1e-5)
    assert (c[: places[2]] == ELSEWHERE).all() and (found[:, n:] == ELSEWHERE).all()


def test_products_without_rows_or_columns_are_left_alone():
    C = np.full(4, ELSEWHERE)
    nothing = np.empty(0, np.float32)
    multiply(SGEMM, 0, 0, 0, 2, 3, nothing, 0, 3, np.ones(6, np.float32), 0, 2, C, 0, 2)
    multiply(SGEMM, 0, 0, 2, 0, 3, np.ones(6, np.float32), 0, 3, nothing, 0, 1, C, 0, 2)
    assert (C == ELSEWHERE).all()
    multiply(SGEMM, 0, 0, 2, 2, 0, nothing, 0, 1, nothing, 0, 2, C, 0, 2)
    assert (C == 0).all()
