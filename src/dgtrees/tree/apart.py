"""Compiled functions that callers call, instead of taking a copy of their code.

Numba links a function's code into each of its callers, and into theirs, where LLVM compiles it
anew: what lies four calls deep is compiled five times. A function that is `apart` is compiled once.
Its callers name it by a symbol, which stands for its address in this process.

Code that was kept by an earlier process names the same symbols, so that they must stand for
something before it is loaded: see `needed`.
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import llvmlite.binding as llvm

__all__ = ["needed", "set_apart"]

_PREFIX = "dgtrees.apart."

_READY: dict[str, tuple[str, str, tuple]] = {}
"""Symbols that stand for an address, and for what: module, name, types of arguments."""


def set_apart(dispatcher: Any) -> None:
    """Let compiled callers call this function by its symbol."""
    dispatcher.get_overload = partial(_symbol, dispatcher)


def _symbol(dispatcher: Any, argtypes: tuple) -> str:
    """The name by which Numba finds the function for these types when it compiles a call."""
    function = dispatcher.py_func
    place = function.__module__, function.__qualname__, tuple(argtypes)
    name = f"{_PREFIX}{place[0]}.{place[1]}{place[2]}"
    if name not in _READY:
        dispatcher.compile(place[2])  # or loads what was kept
        code = dispatcher.overloads[place[2]]
        llvm.add_symbol(name, code.library.get_pointer_to_function(code.fndesc.llvm_func_name))
        called = copy.copy(code.fndesc)
        called.mangled_name = name
        dispatcher.targetctx.insert_user_function(name, called)
        _READY[name] = place
    return name


def needed(code: Any) -> list[Callable[[], None]]:
    """What has to be done in another process before this code is loaded there."""
    names = (function.name for function in code.library._final_module.functions)
    return [partial(_prepare, *_READY[name]) for name in names if name in _READY]


def _prepare(module: str, name: str, argtypes: tuple) -> None:
    _symbol(getattr(importlib.import_module(module), name), argtypes)
