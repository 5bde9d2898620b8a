"""Matrix products in compiled code: SciPy's own sgemm, called by its address.

The address is handed in as a number, so that compiled code can be kept between processes.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import get_cython_function_address, intrinsic

from dgtrees.tree.compiled import njit

__all__ = ["SGEMM", "multiply"]

SGEMM: int = get_cython_function_address("scipy.linalg.cython_blas", "sgemm")

_NAMES = ("address", "ta", "tb", "m", "n", "k", "A", "a", "lda", "B", "b", "ldb", "C", "c", "ldc")


@intrinsic
def _sgemm(_typing, address, ta, tb, m, n, k, A, a, lda, B, b, ldb, C, c, ldc):  # type: ignore[no-untyped-def]
    i = types.int64
    signature = types.none(i, i, i, i, i, i, A, i, i, B, i, i, C, i, i)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        given = dict(zip(_NAMES, args, strict=True))
        kinds = dict(zip(_NAMES, signature.args, strict=True))
        byte, integer, single = ir.IntType(8), ir.IntType(32), ir.FloatType()

        def boxed(value: Any, kind: Any) -> Any:  # Fortran takes everything by address
            place = builder.alloca(kind)
            builder.store(value, place)
            return place

        def number(name: str) -> Any:
            return boxed(builder.trunc(given[name], integer), integer)

        def turned(name: str) -> Any:
            flag = builder.icmp_signed("!=", given[name], ir.Constant(given[name].type, 0))
            letters = (ir.Constant(byte, ord(letter)) for letter in "TN")
            return boxed(builder.select(flag, *letters), byte)

        def pointer(array: str, place: str) -> Any:
            made = context.make_array(kinds[array])(context, builder, given[array])
            return builder.gep(made.data, [given[place]])

        # Column by column, our rows are columns: C' = op(B)' op(A)'.
        arguments = [turned("tb"), turned("ta"), number("n"), number("m"), number("k")]
        arguments += [boxed(ir.Constant(single, 1.0), single)]
        arguments += [pointer("B", "b"), number("ldb"), pointer("A", "a"), number("lda")]
        arguments += [boxed(ir.Constant(single, 0.0), single)]
        arguments += [pointer("C", "c"), number("ldc")]
        kind = ir.FunctionType(ir.VoidType(), [argument.type for argument in arguments])
        builder.call(builder.inttoptr(given["address"], kind.as_pointer()), arguments)
        return context.get_dummy_value()

    return signature, codegen


@njit(nogil=True, cache=True)
def multiply(blas, ta, tb, m, n, k, A, a, lda, B, b, ldb, C, c, ldc):
    """C (m, n) = op(A) op(B): flat float32 arrays from places a, b, c on, rows lda, ldb, ldc apart.

    `ta` and `tb` say which of the factors is transposed; `blas` is SGEMM.
    """
    if m > 0 and n > 0:
        _sgemm(blas, ta, tb, m, n, k, A, a, lda, B, b, ldb, C, c, ldc)  # type: ignore[call-arg]
