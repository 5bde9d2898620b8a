"""The dot product that decides where a row goes, and nothing else.

It adds in one fixed order: eight running sums over the features 0, 8, 16, ..; 1, 9, 17, ..; and so
on, accumulated in float64, folded by halves, then the remaining features one by one. No fused
multiply-add, no reassociation. A row therefore reaches the same leaf alone, in a batch, in float32
or float64 storage, and in exported code.

Vectors are named by an array and the place of their first element, because a view of an array
costs more (its reference is counted) than a short dot product. Arrays must be contiguous; how many
dimensions they have does not matter. Places are not checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

from dgtrees.tree.compiled import njit

__all__ = ["LANES", "dot", "dot_at", "dots_at"]

LANES = 8
"""Running sums of one dot product; part of the file format's meaning, never change it."""


def _first_elements(context: Any, builder: Any, kind: Any, array: Any, starts: list) -> list:
    """Pointers to the elements of an array at the given places."""
    data = context.make_array(kind)(context, builder, array).data
    return [builder.gep(data, [start]) for start in starts]


def _load(builder: Any, pointer: Any, i: Any, width: int) -> Any:
    """The `width` numbers from element i on as float64, whatever the array holds."""
    double, element = ir.DoubleType(), pointer.type.pointee
    address, wide = builder.gep(pointer, [i]), double
    if width > 1:
        address = builder.bitcast(address, ir.VectorType(element, width).as_pointer())
        wide = ir.VectorType(double, width)
    value = builder.load(address)
    # NumPy promises the alignment of an element, not that of a vector of them.
    value.align = 8 if element == double else 4
    return value if element == double else builder.fpext(value, wide)


def _loop(
    builder: Any, start: Any, stop: Any, step: int, totals: list, add: Callable[[Any, list], list]
) -> list:
    """totals = add(i, totals) for i = start, start + step, .. below stop."""
    entry = builder.block
    head, body, done = (builder.append_basic_block(name) for name in ("head", "dot", "end"))
    builder.branch(head)
    builder.position_at_end(head)
    i = builder.phi(stop.type)
    sums = [builder.phi(total.type) for total in totals]
    builder.cbranch(builder.icmp_signed("<", i, stop), body, done)
    builder.position_at_end(body)
    after = add(i, sums)
    i.add_incoming(start, entry)
    i.add_incoming(builder.add(i, ir.Constant(stop.type, step)), body)
    for phi, before, now in zip(sums, totals, after, strict=True):
        phi.add_incoming(before, entry)
        phi.add_incoming(now, body)
    builder.branch(head)
    builder.position_at_end(done)
    return sums


def _fold(builder: Any, lanes: Any) -> Any:
    # By halves, 8 to 4 to 2 to 1: the order that ONNX and C repeat, and that no CPU's own
    # "horizontal add" is free to change.
    half = LANES // 2
    while half:
        low, high = (
            ir.Constant(ir.VectorType(ir.IntType(32), half), list(range(at, at + half)))
            for at in (0, half)
        )
        lanes = builder.fadd(
            builder.shuffle_vector(lanes, lanes, low), builder.shuffle_vector(lanes, lanes, high)
        )
        half //= 2
    return builder.extract_element(lanes, ir.Constant(ir.IntType(32), 0))


_ZEROS = ir.Constant(ir.VectorType(ir.DoubleType(), LANES), [0.0] * LANES)


def _add_up(builder: Any, ws: list, xs: list, d: Any) -> list:
    """Dot products of the d numbers at pairs of pointers, side by side.

    Written as LLVM vectors because the compiler may not reorder floating-point sums by itself,
    and a scalar loop is two to three times slower.
    """

    def add(i: Any, sums: list, width: int) -> list:
        return [
            builder.fadd(
                total,
                builder.fmul(_load(builder, a, i, width), _load(builder, b, i, width)),
            )
            for total, a, b in zip(sums, ws, xs, strict=True)
        ]

    # fmul and fadd without fast-math flags: LLVM then neither fuses nor reorders them.
    # The largest multiple of LANES that is not above d.
    whole = builder.and_(d, ir.Constant(d.type, -LANES))
    zero = ir.Constant(d.type, 0)
    lanes = _loop(
        builder, zero, whole, LANES, [_ZEROS] * len(ws), lambda i, sums: add(i, sums, LANES)
    )
    totals = [_fold(builder, sums) for sums in lanes]
    return _loop(builder, whole, d, 1, totals, lambda i, sums: add(i, sums, 1))


def _check_contiguous(*arrays: Any) -> None:
    for array in arrays:
        if array.layout != "C":
            raise TypingError(f"dot products need contiguous arrays, got {array}")


# Intrinsics, which become part of the functions that call them: one function more for each pair of
# types took longer to compile.


def _dot_at(_typing: Any, w: Any, w_start: Any, x: Any, x_start: Any, d: Any) -> Any:
    """Dot product of the d numbers from w_start on in w and from x_start on in x."""
    _check_contiguous(w, x)
    signature = types.float64(w, types.intp, x, types.intp, types.intp)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        ws = _first_elements(context, builder, signature.args[0], args[0], [args[1]])
        xs = _first_elements(context, builder, signature.args[2], args[2], [args[3]])
        return _add_up(builder, ws, xs, args[4])[0]

    return signature, codegen


def _dots_at(_typing: Any, w: Any, w_starts: Any, x: Any, x_starts: Any, d: Any) -> Any:
    """As many of `dot_at` side by side as there are places, so that none waits for its own sums."""
    _check_contiguous(w, x)
    count = w_starts.count
    places = types.UniTuple(types.intp, count)
    signature = types.UniTuple(types.float64, count)(w, places, x, places, types.intp)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        ws, xs = (
            _first_elements(
                context,
                builder,
                signature.args[k],
                args[k],
                cgutils.unpack_tuple(builder, args[k + 1], count),
            )
            for k in (0, 2)
        )
        return context.make_tuple(builder, signature.return_type, _add_up(builder, ws, xs, args[4]))

    return signature, codegen


dot_at: Any = intrinsic(_dot_at)
dots_at: Any = intrinsic(_dots_at)


@njit(nogil=True, cache=True)
def dot(w, x):
    """Dot product of two contiguous vectors."""
    return dot_at(w, 0, x, 0, w.shape[0])
