"""Matrix products in compiled code, written for the small float32 matrices of a training step.

A BLAS chooses its code by the names of the processors it knows, and packs both factors before it
starts: at these sizes, on a processor that is new to it, SciPy's takes 2.5 times as long. And every
BLAS rounds differently. Here an element of a product is one sum over k in ascending order, whatever
the tile it lies in: the same bits on any number of threads and on any CPU that fuses
multiplication and addition.

A tile of C, some rows by some vectors of 16 columns, stays in registers while k passes. The last
tile of a row or column begins early enough to be a whole one, and computes some elements again.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from dgtrees.tree.compiled import njit
from dgtrees.tree.vectors import WIDTH, Lanes, interleave, load, new_lanes, spread, store

__all__ = ["multiply", "spare_size"]


def _tile_shape() -> tuple[int, int]:
    """Rows and vectors of a tile: what the registers can hold beside a vector of each factor."""
    return (8, 2) if llvm.get_host_cpu_features().get("avx512f", False) else (6, 1)


_ROWS, _VECTORS = _tile_shape()


def _tile(rows: int, vectors: int) -> Any:
    """Code for one tile: C[i, j] = sum_k A[i, k] B[k, j]."""

    @intrinsic
    def tile(_typing, A, a, down, along, B, b, ldb, k, C, c, ldc):  # type: ignore[no-untyped-def]
        i = types.int64
        signature = types.none(A, i, i, i, B, i, i, i, C, i, i)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            A, a, down, along, B, b, ldb, k, C, c, ldc = args
            kinds = signature.args
            first = context.make_array(kinds[0])(context, builder, A).data

            def times(number: Any, factor: int) -> Any:
                return builder.mul(number, ir.Constant(number.type, factor))

            starts = [builder.gep(first, [builder.add(a, times(down, r))]) for r in range(rows)]
            sums = [[new_lanes(builder) for _ in range(vectors)] for _ in range(rows)]
            with cgutils.for_range(builder, k) as loop:
                at = builder.add(b, builder.mul(loop.index, ldb))
                places = [builder.add(at, ir.Constant(at.type, WIDTH * v)) for v in range(vectors)]
                right = [load(context, builder, kinds[4], B, place) for place in places]
                for r in range(rows):
                    place = builder.gep(starts[r], [builder.mul(loop.index, along)])
                    left = spread(builder, builder.load(place))
                    for v in range(vectors):
                        product = left * right[v] + Lanes(builder, builder.load(sums[r][v]))
                        builder.store(product.value, sums[r][v])
            for r in range(rows):
                for v in range(vectors):
                    place = builder.add(c, times(ldc, r))
                    place = builder.add(place, ir.Constant(place.type, WIDTH * v))
                    lanes = Lanes(builder, builder.load(sums[r][v]))
                    store(context, builder, kinds[8], C, place, lanes)
            return context.get_dummy_value()

        return signature, codegen

    return tile


_whole, _narrow = _tile(_ROWS, _VECTORS), _tile(_ROWS, 1)
_flat, _least = _tile(1, _VECTORS), _tile(1, 1)


@intrinsic
def _transpose_square(_typing, B, b, ldb, T, t, ldt):  # type: ignore[no-untyped-def]
    """T (16, 16) = B (16, 16) transposed."""
    i = types.int64
    signature = types.none(B, i, i, T, i, i)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        B, b, ldb, T, t, ldt = args
        kinds = signature.args

        def row(place: Any, apart: Any, r: int) -> Any:
            return builder.add(place, builder.mul(apart, ir.Constant(apart.type, r)))

        lanes = [load(context, builder, kinds[0], B, row(b, ldb, r)) for r in range(WIDTH)]
        # Interleaving rows r and r + 8, four times over, moves element (r, c) to (c, r).
        half = WIDTH // 2
        for _ in range(4):
            lanes = [x for r in range(half) for x in interleave(lanes[r], lanes[r + half])]
        for r in range(WIDTH):
            store(context, builder, kinds[3], T, row(t, ldt, r), lanes[r])
        return context.get_dummy_value()

    return signature, codegen


@njit(nogil=True, cache=True)
def _transpose(B, b, ldb, n, k, T, t, ldt):
    """T (k, n) = B (n, k) transposed."""
    if n < WIDTH or k < WIDTH:
        for i in range(n):
            for j in range(k):
                T[t + j * ldt + i] = B[b + i * ldb + j]
        return
    for i in range(0, n, WIDTH):
        x = min(i, n - WIDTH)
        for j in range(0, k, WIDTH):
            y = min(j, k - WIDTH)
            place, to = b + x * ldb + y, t + y * ldt + x
            _transpose_square(B, place, ldb, T, to, ldt)  # type: ignore[call-arg]


@njit(nogil=True, cache=True)
def _multiply_tiles(m, n, k, A, a, down, along, B, b, ldb, C, c, ldc):
    """C (m, n) = A B for n >= 16, tile by tile; A's elements lie `down` and `along` apart."""
    j = 0
    while j < n:
        wide = n - j >= WIDTH * _VECTORS
        y = j if wide else min(j, n - WIDTH)
        if m >= _ROWS:
            for i in range(0, m, _ROWS):
                x = min(i, m - _ROWS)
                left, to = a + x * down, c + x * ldc + y
                if wide:
                    _whole(A, left, down, along, B, b + y, ldb, k, C, to, ldc)
                else:
                    _narrow(A, left, down, along, B, b + y, ldb, k, C, to, ldc)
        else:
            for i in range(m):
                left, to = a + i * down, c + i * ldc + y
                if wide:
                    _flat(A, left, down, along, B, b + y, ldb, k, C, to, ldc)
                else:
                    _least(A, left, down, along, B, b + y, ldb, k, C, to, ldc)
        j += WIDTH * _VECTORS if wide else WIDTH


@njit(nogil=True, cache=True, apart=True)
def multiply(spare, ta, tb, m, n, k, A, a, lda, B, b, ldb, C, c, ldc):
    """C (m, n) = op(A) op(B): flat float32 arrays from places a, b, c on, rows lda, ldb, ldc apart.

    `ta` and `tb` say which of the factors is transposed; `spare` is scratch space (`spare_size`).
    """
    if m <= 0 or n <= 0:
        return
    down, along = (1, lda) if ta else (lda, 1)
    narrow = n < WIDTH
    if tb or narrow:
        # With too few columns for a vector, both B and C are wider copies in the scratch space.
        apart = max(n, WIDTH)
        if tb:
            _transpose(B, b, ldb, n, k, spare, 0, apart)
        else:
            for i in range(k):
                for j in range(n):
                    spare[i * apart + j] = B[b + i * ldb + j]
        B, b, ldb = spare, 0, apart
    if not narrow:
        _multiply_tiles(m, n, k, A, a, down, along, B, b, ldb, C, c, ldc)
        return
    to = k * WIDTH
    _multiply_tiles(m, WIDTH, k, A, a, down, along, spare, 0, WIDTH, spare, to, WIDTH)
    for i in range(m):
        for j in range(n):
            C[c + i * ldc + j] = spare[to + i * WIDTH + j]


def spare_size(m: int, n: int, k: int) -> int:
    """Numbers of scratch space that products of at most these sizes take."""
    return k * max(n, WIDTH) + m * WIDTH
