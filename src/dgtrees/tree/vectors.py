"""Sixteen float32 numbers side by side: expressions for code that is generated, not compiled.

The compiler does not turn the gradient's inner loop into vector instructions by itself (too many
arrays that might overlap), so `gradient` writes it down as LLVM vectors. `Lanes` gives those the
operators of numbers; rows of a batch are the lanes.
"""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir
from numba.core import cgutils

__all__ = [
    "SATURATED",
    "WIDTH",
    "Lanes",
    "exp_both_ways",
    "interleave",
    "load",
    "new_lanes",
    "spread",
    "store",
    "tanh_and_slope",
]

WIDTH = 16
"""Lanes of a vector: two or one registers of today's CPUs."""

_FLOAT, _INT = ir.FloatType(), ir.IntType(32)
_FLOATS, _INTS = ir.VectorType(_FLOAT, WIDTH), ir.VectorType(_INT, WIDTH)
# Products may be fused with sums. Sums keep their order, and 0 times anything finite stays 0.
_FLAGS = ("contract", "nsz")

_LOG2_E, _LN_2 = 1.4426950408889634, 0.6931471805599453
_EVEN = tuple(_LN_2**k / math.factorial(k) for k in (6, 4, 2, 0))
_ODD = tuple(_LN_2**k / math.factorial(k) for k in (7, 5, 3, 1))
"""2^f for |f| <= 1/2, powers of f^2: what is left out is below float32's precision."""

SATURATED = 9.0
"""From here on tanh is 1 in float32, and its slope is taken as exactly 0."""


class Lanes:
    """A vector of 16 numbers, or of 16 truth values, under construction."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def _other(self, other: Lanes | float) -> Any:
        return other.value if isinstance(other, Lanes) else _constant(float(other))

    def _new(self, value: Any) -> Lanes:
        return Lanes(self.builder, value)

    def __add__(self, other: Lanes | float) -> Lanes:
        return self._new(self.builder.fadd(self.value, self._other(other), flags=_FLAGS))

    def __sub__(self, other: Lanes | float) -> Lanes:
        return self._new(self.builder.fsub(self.value, self._other(other), flags=_FLAGS))

    def __mul__(self, other: Lanes | float) -> Lanes:
        return self._new(self.builder.fmul(self.value, self._other(other), flags=_FLAGS))

    def __truediv__(self, other: Lanes | float) -> Lanes:
        return self._new(self.builder.fdiv(self.value, self._other(other), flags=_FLAGS))

    def __neg__(self) -> Lanes:
        return self._new(self.builder.fneg(self.value))

    def at_least(self, other: Lanes | float) -> Lanes:
        """Where it is >= other."""
        return self._new(self.builder.fcmp_ordered(">=", self.value, self._other(other)))

    def choose(self, yes: Lanes | float, no: Lanes | float) -> Lanes:
        """One value where it is true, the other elsewhere."""
        return self._new(self.builder.select(self.value, self._other(yes), self._other(no)))

    def polynomial(self, *coefficients: float) -> Lanes:
        """A polynomial of it, highest power first."""
        result = self._new(_constant(coefficients[0]))
        for coefficient in coefficients[1:]:
            result = result * self + coefficient
        return result

    def _bits(self, mask: int) -> Any:
        whole = self.builder.bitcast(self.value, _INTS)
        return self.builder.and_(whole, ir.Constant(_INTS, [mask] * WIDTH))

    def size(self) -> Lanes:
        """Absolute value."""
        return self._new(self.builder.bitcast(self._bits(0x7FFFFFFF), _FLOATS))

    def signed_as(self, other: Lanes) -> Lanes:
        """It, which is not negative, with the sign of the other."""
        whole = self.builder.bitcast(self.value, _INTS)
        signed = self.builder.or_(whole, other._bits(0x80000000))
        return self._new(self.builder.bitcast(signed, _FLOATS))


def _constant(value: float) -> Any:
    return ir.Constant(_FLOATS, [value] * WIDTH)


def spread(builder: Any, number: Any) -> Lanes:
    """One number in all lanes."""
    first = builder.insert_element(ir.Constant(_FLOATS, ir.Undefined), number, ir.Constant(_INT, 0))
    everywhere = ir.Constant(_INTS, [0] * WIDTH)
    return Lanes(
        builder, builder.shuffle_vector(first, ir.Constant(_FLOATS, ir.Undefined), everywhere)
    )


def new_lanes(builder: Any) -> Any:
    """A place for 16 numbers, all 0 at first; the compiler keeps it in registers."""
    place = cgutils.alloca_once(builder, _FLOATS)
    builder.store(_constant(0.0), place)
    return place


def interleave(first: Lanes, second: Lanes) -> tuple[Lanes, Lanes]:
    """Numbers of both by turns: those of their first halves, then those of the second halves."""
    halves = []
    for start in (0, WIDTH // 2):
        order = [x for i in range(start, start + WIDTH // 2) for x in (i, WIDTH + i)]
        mask = ir.Constant(_INTS, order)
        value = first.builder.shuffle_vector(first.value, second.value, mask)
        halves.append(Lanes(first.builder, value))
    return halves[0], halves[1]


def _place(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), _FLOATS.as_pointer())


def load(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Lanes:
    """The 16 numbers of a float32 array from `index` on."""
    value = builder.load(_place(context, builder, kind, array, index))
    value.align = 4  # NumPy promises the alignment of an element, not that of a vector
    return Lanes(builder, value)


def store(context: Any, builder: Any, kind: Any, array: Any, index: Any, lanes: Lanes) -> None:
    """Write 16 numbers into a float32 array from `index` on."""
    builder.store(lanes.value, _place(context, builder, kind, array, index)).align = 4


def exp_both_ways(x: Lanes) -> tuple[Lanes, Lanes]:
    """exp(x) and exp(-x) for |x| <= 80, to float32's precision."""
    return _two_to_both(x * _LOG2_E)


def _two_to_both(x: Lanes) -> tuple[Lanes, Lanes]:
    """2^x and 2^-x.

    x = n + f with a whole n and |f| <= 1/2; the even and the odd part of 2^f serve both signs, and
    2^n is put together from its bits.
    """
    builder = x.builder
    # Adding 1.5 * 2^23 rounds to a whole number, whose lowest bits are then n. No flags here: the
    # compiler must not cancel the addition against the subtraction.
    magic = _constant(12582912.0)
    shifted = builder.fadd(x.value, magic)
    f = x - Lanes(builder, builder.fsub(shifted, magic))
    square = f * f
    even = square.polynomial(*_EVEN)
    odd = f * square.polynomial(*_ODD)
    n = builder.sub(builder.bitcast(shifted, _INTS), ir.Constant(_INTS, [0x4B400000] * WIDTH))
    up, down = (
        Lanes(builder, _power_of_two(builder, sign))
        for sign in (n, builder.sub(ir.Constant(_INTS, [0] * WIDTH), n))
    )
    return (even + odd) * up, (even - odd) * down


def _power_of_two(builder: Any, n: Any) -> Any:
    biased = builder.add(n, ir.Constant(_INTS, [127] * WIDTH))
    return builder.bitcast(builder.shl(biased, ir.Constant(_INTS, [23] * WIDTH)), _FLOATS)


def tanh_and_slope(x: Lanes) -> tuple[Lanes, Lanes]:
    """tanh(x) and its derivative.

    From exp(-2 |x|), which keeps the derivative right where tanh is nearly 1: an optimiser that
    divides by a gradient's size makes full steps of the smallest wrong one. Exactly 0 from 9 on.
    """
    size = x.size()
    far = size.at_least(SATURATED)
    e, _ = _two_to_both(far.choose(SATURATED, size) * (-2.0 * _LOG2_E))
    part = spread(x.builder, ir.Constant(_FLOAT, 1.0)) / (e + 1.0)
    tanh = ((-e) + 1.0) * part
    slope = (e * part) * (part * 4.0)
    return tanh.signed_as(x), far.choose(0.0, slope)
