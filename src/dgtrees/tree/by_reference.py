"""Named tuples of arrays that compiled functions take as one pointer.

Numba passes a named tuple by value: every array is seven or more numbers, and a tuple of sixty is
unpacked again in each function that it is handed on to. Compiling that took most of a minute, and
calling it from Python longer than the work. Here the tuple's numbers, and the addresses and shapes
of its arrays, are written into one table. `opener` makes the function by which compiled code sees
the table as the tuple: `state.rows[i]` reads the same in Python and there.

A table knows nothing of who owns the arrays: whoever has it must keep them, see `Held`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import typeof, types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    infer_getattr,
    intrinsic,
    lower_getattr_generic,
    models,
    register_model,
)
from numba.np.arrayobj import populate_array

__all__ = ["Held", "opener"]


class Held:
    """A named tuple of arrays, numbers and such tuples, and its table for compiled code.

    Copies, pickled ones too, have a table of their own, with the addresses of their own arrays.
    """

    def __init__(self, state: Any) -> None:
        self.state = state
        numbers = list(_numbers(state))
        kinds = "".join("d" if isinstance(number, float) else "q" for number in numbers)
        self.table = np.frombuffer(bytearray(struct.pack(kinds, *numbers)), dtype=np.int64)

    def __reduce__(self) -> Any:
        return Held, (self.state,)


def _numbers(state: tuple) -> Iterator[float]:
    """What a table has of a tuple: integers and floats, of 8 bytes each."""
    for value in state:
        if isinstance(value, tuple):
            yield from _numbers(value)
        elif isinstance(value, np.ndarray):
            if not (value.flags.c_contiguous and value.flags.writeable):
                raise ValueError("arrays for compiled code must be contiguous and writeable")
            yield value.ctypes.data
            yield from value.shape
        else:
            yield float(value) if isinstance(value, (float, np.floating)) else int(value)


class _Reference(types.Type):
    """Numba's type of a tuple in a table: the types of its fields and where they begin."""

    def __init__(self, example: Any) -> None:
        self.fields: dict[str, tuple[Any, int]] = {}
        place = 0
        for name, value in example._asdict().items():
            if isinstance(value, tuple):
                kind: Any = _Reference(value)
                size = kind.size
            elif isinstance(value, np.ndarray):
                kind, size = typeof(value), 1 + value.ndim
            else:
                real = isinstance(value, (float, np.floating))
                kind, size = types.float64 if real else types.int64, 1
            self.fields[name] = kind, place
            place += size
        self.size = place
        super().__init__(name=f"Reference({type(example).__name__})")


@register_model(_Reference)
class _ReferenceModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, ir.IntType(64).as_pointer())


@infer_getattr
class _Fields(AttributeTemplate):
    key = _Reference

    def generic_resolve(self, kind: Any, name: str) -> Any:  # type: ignore[override]
        return kind.fields[name][0] if name in kind.fields else None


@lower_getattr_generic(_Reference)
def _get_field(context: Any, builder: Any, kind: Any, table: Any, name: str) -> Any:
    """A number, an array that nobody counts references to, or the place of a tuple."""
    field, place = kind.fields[name]
    start = builder.gep(table, [ir.Constant(ir.IntType(64), place)])
    if isinstance(field, _Reference):
        return start
    if isinstance(field, types.Array):
        return _make_array(context, builder, field, start)
    number = _load(builder, start, 0)
    return builder.bitcast(number, ir.DoubleType()) if field == types.float64 else number


def _load(builder: Any, table: Any, i: int) -> Any:
    """A number of a table, of which the compiler may know that it does not change meanwhile."""
    number = builder.load(builder.gep(table, [ir.Constant(ir.IntType(64), i)]))
    number.set_metadata("invariant.load", builder.module.add_metadata([]))
    return number


def _make_array(context: Any, builder: Any, kind: Any, table: Any) -> Any:
    array = context.make_array(kind)(context, builder)
    shape = [_load(builder, table, 1 + i) for i in range(kind.ndim)]
    itemsize = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    strides = [ir.Constant(ir.IntType(64), itemsize)]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], length, flags=["nsw"]))
    data = builder.inttoptr(_load(builder, table, 0), array.data.type)
    populate_array(array, data, shape, strides, itemsize, meminfo=None)
    return array._getvalue()


def opener(example: Any) -> Any:
    """A function that sees a table of tuples like the example as such a tuple, in compiled code."""
    kind = _Reference(example)

    @intrinsic
    def opened(_typing: Any, table: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return context.make_array(table)(context, builder, args[0]).data

        return kind(table), codegen

    return opened
