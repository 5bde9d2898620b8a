"""Matrix products of flat arrays, against NumPy's and against sums in order."""

import llvmlite.binding as llvm
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgtrees.learn._products import multiply, spare_size

ELSEWHERE = np.float32(-77)
SPARE = np.empty(100, np.float32)


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
    sizes=st.tuples(*[st.integers(1, 40)] * 3),
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
    spare = np.full(spare_size(m, n, k) + 1, ELSEWHERE)
    multiply(spare, ta, tb, m, n, k, a, places[0], lda, b, places[1], ldb, c, places[2], ldc)
    assert spare[-1] == ELSEWHERE
    wanted = (A.T if ta else A).astype(float) @ (B.T if tb else B)
    found = c[places[2] :].reshape(m, ldc)
    np.testing.assert_allclose(found[:, :n], wanted, atol=1e-5)
    assert (c[: places[2]] == ELSEWHERE).all() and (found[:, n:] == ELSEWHERE).all()


def test_products_without_rows_or_columns_are_left_alone():
    C = np.full(4, ELSEWHERE)
    nothing = np.empty(0, np.float32)
    multiply(SPARE, 0, 0, 0, 2, 3, nothing, 0, 3, np.ones(6, np.float32), 0, 2, C, 0, 2)
    multiply(SPARE, 0, 0, 2, 0, 3, np.ones(6, np.float32), 0, 3, nothing, 0, 1, C, 0, 2)
    assert (C == ELSEWHERE).all()
    multiply(SPARE, 0, 0, 2, 2, 0, nothing, 0, 1, nothing, 0, 2, C, 0, 2)
    assert (C == 0).all()


def one_sum_in_order(A, B):
    """Every element is one sum over k, of products that are added without being rounded first."""
    C = np.zeros((len(A), B.shape[1]), np.float32)
    for k in range(A.shape[1]):
        # float64 holds the product of two float32 exactly
        C = (C + A[:, k : k + 1].astype(float) * B[k]).astype(np.float32)
    return C


@pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 300), (7, 15, 64), (9, 17, 20), (64, 70, 33)])
def test_an_element_does_not_depend_on_the_tile_it_lies_in(m, n, k):
    rng = np.random.default_rng(0)
    A, B = (rng.normal(size=size).astype(np.float32) for size in ((m, k), (k, n)))
    C, spare = np.empty(m * n, np.float32), np.empty(spare_size(m, n, k), np.float32)
    multiply(spare, 0, 0, m, n, k, A.ravel(), 0, k, B.ravel(), 0, n, C, 0, n)
    alone = np.empty(1, np.float32)
    for i, j in rng.integers([m, n], size=(20, 2)):
        multiply(spare, 0, 0, 1, 1, k, A[i].copy(), 0, k, B[:, j].copy(), 0, 1, alone, 0, 1)
        assert alone[0] == C[i * n + j]
    if llvm.get_host_cpu_features().get("fma", False):
        wanted = one_sum_in_order(A, B).ravel()
        # rounding the sum to float64 and then to float32 may differ from rounding it once
        assert (wanted == C).mean() > 0.99
        np.testing.assert_allclose(C, wanted, rtol=1e-5, atol=1e-6)
