"""The split that sums by bin favour, for sixteen columns side by side. Generated as LLVM vectors.

Sums are whole numbers, two in one 64-bit word: of the rows' gradients, and of their curvature in
the low half of the first word. A group of sixteen columns lies together, bin by bin:
`sums[first + (bin * words + word) * 16 + column]`. Both sums of all rows are below 2^30 in size;
here they count in units of 2^30, so that nothing overflows in float32.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from dgtrees.tree.vectors import WIDTH, Lanes, spread

__all__ = ["ONE", "WIDTH", "scan_group"]

ONE = 2.0**30
"""What counts as 1."""

_LONG, _INT = ir.IntType(64), ir.IntType(32)
_LONGS, _INTS = ir.VectorType(_LONG, WIDTH), ir.VectorType(_INT, WIDTH)
_FLOATS = ir.VectorType(ir.FloatType(), WIDTH)


def _numbers(value: int | float, kind: Any = _INTS) -> Any:
    return ir.Constant(kind, [value] * WIDTH)


class _Group:
    """Code that reads and writes vectors in arrays."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        self.builder = builder
        self._arrays = [
            context.make_array(kind)(context, builder, value).data
            if isinstance(kind, types.Array)
            else None
            for kind, value in zip(signature.args, args, strict=True)
        ]

    def place(self, array: int, index: Any, kind: Any) -> Any:
        """Where a vector begins."""
        address = self.builder.gep(self._arrays[array], [index])
        return self.builder.bitcast(address, kind.as_pointer())

    def read(self, array: int, index: Any, kind: Any, align: int) -> Any:
        """A vector."""
        value = self.builder.load(self.place(array, index, kind))
        value.align = align
        return value

    def write(self, array: int, index: Any, value: Any) -> None:
        """A vector of 32-bit numbers."""
        self.builder.store(value, self.place(array, index, value.type)).align = 4

    def halves(self, word: Any) -> tuple[Any, Any]:
        """High and low number of words; the low one may be negative."""
        builder = self.builder
        low = builder.trunc(word, _INTS)
        rest = builder.sub(word, builder.sext(low, _LONGS))
        return builder.trunc(builder.ashr(rest, _numbers(32, _LONGS)), _INTS), low

    def shares(self, total: Any) -> Lanes:
        """Whole sums in units of `ONE`."""
        floats = self.builder.sitofp(total, _FLOATS)
        return Lanes(self.builder, floats) * (1.0 / ONE)


@intrinsic
def scan_group(
    _typing: Any,
    sums: Any,
    first: Any,
    n_bins: Any,
    words: Any,
    totals: Any,
    need: Any,
    ridge: Any,
    running: Any,
    found: Any,
) -> Any:
    """Gain of the best split of each of sixteen columns, and its bin, to found (32,).

    Parameters
    ----------
    sums : int64 array
    first, n_bins, words : int
        Where the group begins; bins to look at; 64-bit words of a bin.
    totals : float32 (2 * words,)
        Sums over all bins, in units of `ONE`: the first gradient, the curvature, other gradients.
    need, ridge : float32
        Least curvature of a side, and what is added to it.
    running : int32 (32 * words,)
        Room.
    found : float32 (32,)
        Gains, 0 where there is no split, then bins.
    """
    whole, real = types.intp, types.float32
    signature = types.void(sums, whole, whole, whole, totals, real, real, running, found)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _, start, bins, n_words, _, least, ridge_, _, _ = args
        group = _Group(context, builder, signature, args)
        width = ir.Constant(start.type, WIDTH)
        zero = ir.Constant(start.type, 0)

        def total(index: Any) -> Lanes:
            return spread(builder, builder.load(builder.gep(group._arrays[4], [index])))

        def squares(at: Any, sum_: Any, left: Lanes, right: Lanes) -> tuple[Lanes, Lanes]:
            here = group.shares(sum_)
            rest = total(at) - here
            return left + here * here, right + rest * rest

        least, ridge_ = spread(builder, least), spread(builder, ridge_)
        curvature_of_all = total(ir.Constant(start.type, 1))
        one, two = (cgutils.alloca_once(builder, _INTS) for _ in range(2))
        gain, where = (cgutils.alloca_once(builder, _FLOATS) for _ in range(2))
        left_at, right_at = (cgutils.alloca_once(builder, _FLOATS) for _ in range(2))
        for place in (one, two):
            builder.store(_numbers(0), place)
        for place in (gain, where):
            builder.store(_numbers(0.0, _FLOATS), place)
        with cgutils.for_range(builder, builder.mul(n_words, ir.Constant(start.type, 2))) as loop:
            group.write(7, builder.mul(loop.index, width), _numbers(0))
        with cgutils.for_range(builder, bins) as loop:
            at = builder.add(start, builder.mul(builder.mul(loop.index, n_words), width))
            high, low = group.halves(group.read(0, at, _LONGS, 8))
            high, low = builder.add(builder.load(one), high), builder.add(builder.load(two), low)
            builder.store(high, one)
            builder.store(low, two)
            nothing = Lanes(builder, _numbers(0.0, _FLOATS))
            left, right = squares(zero, high, nothing, nothing)
            builder.store(left.value, left_at)
            builder.store(right.value, right_at)
            # Further gradients, for several outputs: their sums so far wait in `running`.
            with cgutils.for_range(builder, builder.sub(n_words, ir.Constant(start.type, 1))) as w:
                word = builder.add(w.index, ir.Constant(start.type, 1))
                read = group.read(0, builder.add(at, builder.mul(word, width)), _LONGS, 8)
                for k, half in enumerate(group.halves(read)):
                    index = builder.add(builder.add(word, word), ir.Constant(start.type, k))
                    place = builder.mul(index, width)
                    sum_ = builder.add(group.read(7, place, _INTS, 4), half)
                    group.write(7, place, sum_)
                    left, right = squares(
                        index,
                        sum_,
                        Lanes(builder, builder.load(left_at)),
                        Lanes(builder, builder.load(right_at)),
                    )
                    builder.store(left.value, left_at)
                    builder.store(right.value, right_at)
            left, right = (Lanes(builder, builder.load(p)) for p in (left_at, right_at))
            mass = group.shares(low)
            rest = curvature_of_all - mass
            value = left / (mass + ridge_) + right / (rest + ridge_)
            best = Lanes(builder, builder.load(gain))
            better = builder.and_(
                builder.and_(mass.at_least(least).value, rest.at_least(least).value),
                builder.fcmp_ordered(">", value.value, best.value),
            )
            here = spread(builder, builder.sitofp(loop.index, ir.FloatType()))
            builder.store(builder.select(better, value.value, best.value), gain)
            builder.store(builder.select(better, here.value, builder.load(where)), where)
        group.write(8, zero, builder.load(gain))
        group.write(8, width, builder.load(where))
        return context.get_dummy_value()

    return signature, codegen
