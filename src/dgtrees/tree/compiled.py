"""Numba's `njit` for this package, and where what it compiles is kept between processes.

Numba refuses to make a cached function where no folder can be written, and reads no folder that it
could not also write. Here code is loaded from every folder that has it and saved in the first one
that can be written; where there is none (a container without a home, a full disk), everything works
and is compiled anew in every process. Folders are Numba's, in its order: NUMBA_CACHE_DIR, the
`__pycache__` beside the source, the user's cache directory.

Code is stale as soon as any source file of `tree`, or of a compiled module elsewhere, has changed:
functions are compiled together with those that they call, wherever these are.
"""

from __future__ import annotations

import gc
import hashlib
import logging
import multiprocessing
import os
import pickle
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache

from dgtrees.tree.apart import needed, set_apart

__all__ = ["COUNTS", "FUNCTIONS", "folder", "njit"]

FUNCTIONS: list[Any] = []
"""All functions whose compiled code is kept."""

COUNTS = {"found": 0, "compiled": 0, "kept": 0}
"""What became of the calls with new types in this process."""

_LOG = logging.getLogger("dgtrees")

_OUTDATED = (ImportError, AttributeError)
"""What reading ends in where a type that code was compiled for has another name by now."""

_UNUSABLE = (OSError, EOFError, pickle.UnpicklingError, *_OUTDATED)
"""What reading and writing a folder may end in; a file is cut short by a full disk, for example."""


def njit(*, cache: bool = False, apart: bool = False, **options: Any) -> Callable[[Callable], Any]:
    """`numba.njit`, with a cache that may be read-only or absent.

    A function is compiled once for numbers of a type, not again for each constant that is written
    where it is called, and without Numba's wrapper for C. Callers share the code of one that is
    `apart`.
    """

    def compiled(function: Callable) -> Any:
        options["no_cfunc_wrapper"] = True
        dispatcher = numba.njit(**options)(function)
        if hasattr(dispatcher, "get_call_template"):  # a plain function with NUMBA_DISABLE_JIT
            for_types = dispatcher.get_call_template
            dispatcher.get_call_template = lambda args, kws: for_types(
                tuple(_any_number(kind) for kind in args),
                {name: _any_number(kind) for name, kind in kws.items()},
            )
            compile_for = dispatcher.compile
            dispatcher.compile = lambda argtypes: _without_collector(compile_for, argtypes)
            if cache:
                dispatcher._cache = _Kept(function)
                FUNCTIONS.append(dispatcher)
            if apart:
                set_apart(dispatcher)
        return dispatcher

    return compiled


def _without_collector(compile_for: Callable, argtypes: Any) -> Any:
    """Compile while Python looks for no cycles: that took a tenth of the time, and found none.

    Compiling makes objects by the million, nearly all of which are kept until it is done.
    """
    if not gc.isenabled():
        return compile_for(argtypes)
    gc.disable()
    try:
        return compile_for(argtypes)
    finally:
        gc.enable()


def _any_number(kind: Any) -> Any:
    """The type of a constant without its value, also in tuples."""
    if isinstance(kind, (types.Tuple, types.UniTuple)):
        return types.BaseTuple.from_types([_any_number(part) for part in kind.types])
    if isinstance(kind, types.Literal) and isinstance(kind.literal_value, (bool, int)):
        return types.unliteral(kind)
    return kind


def folder() -> str | None:
    """Where compiled code is saved, if it is."""
    return FUNCTIONS[0].stats.cache_path if FUNCTIONS else None


class _Kept:
    """A function's compiled code on disk, as Numba's dispatcher asks for it."""

    def __init__(self, function: Callable) -> None:
        self._read: list[Any] = []
        self._write: Any = None
        for kind in CompileResultCacheImpl._locator_classes:
            for writes in (True, False):
                found = _cache_at(kind, function, writes)
                if found is not None:
                    self._read.append(found)
                    self._write = found if writes else None
                    break
            if self._write is not None:
                break

    @property
    def cache_path(self) -> str | None:
        return None if self._write is None else self._write.cache_path

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Code that was kept, or None: Numba then compiles."""
        for place in self._read:
            found = None
            with suppress(*_UNUSABLE):
                found = place.load_overload(signature, context)
            if found is not None:
                COUNTS["found"] += 1
                return found
        COUNTS["compiled"] += 1
        if self._write is None:
            _say(_UNKEPT)
        elif _on_terminal():
            _say(_COMPILING)
        return None

    def save_overload(self, signature: Any, code: Any) -> None:
        """Keep code for the next process, if there is a folder and room in it."""
        if self._write is None:
            return
        code.reload_init.extend(needed(code))
        try:
            try:
                self._write.save_overload(signature, code)
            except _OUTDATED:  # the list of what is kept cannot be read: begin a new one
                self._write.flush()
                self._write.save_overload(signature, code)
            COUNTS["kept"] += 1
        except _UNUSABLE:  # a full disk, a folder that was taken away
            _say(_UNKEPT)

    def flush(self) -> None:
        """Forget what is kept."""
        if self._write is not None:
            self._write.flush()

    def enable(self) -> None:
        """Nothing to do: it is on."""

    def disable(self) -> None:
        """Do not use the folders any more."""
        self._read, self._write = [], None


def _cache_at(kind: type, function: Callable, writes: bool) -> Any:
    """Numba's cache in one kind of place, or None if it cannot be read (or written) there."""
    places = {"_locator_classes": [_locator(kind, writes)]}
    implementation = type("_At", (CompileResultCacheImpl,), places)
    try:
        return type("_CacheAt", (FunctionCache,), {"_impl_class": implementation})(function)
    except RuntimeError:  # no such place
        return None


@cache
def _locator(kind: Any, writes: bool) -> Any:
    class Locator(kind):
        def ensure_cache_path(self) -> None:
            path = self.get_cache_path()
            if not (_writable(path) if writes else os.path.isdir(path)):
                raise PermissionError(path)

        def get_source_stamp(self) -> Any:
            return super().get_source_stamp(), _sources()

    return Locator


@cache
def _writable(path: str) -> bool:
    """Whether files can be made in a folder, which is made if need be; found out once."""
    try:
        os.makedirs(path, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    except OSError:
        return False
    return True


@cache
def _sources() -> str:
    """A hash of all that may be compiled together."""
    whole = hashlib.sha256()
    package = Path(__file__).parents[1]
    for path in sorted([*package.glob("tree/*.py"), *package.glob("**/_[!_]*.py")]):
        whole.update(path.read_bytes())
    return whole.hexdigest()


_COMPILING = "dgtrees is compiling code for this machine, which takes some seconds, this once"
_UNKEPT = (
    "dgtrees is compiling code, which takes some seconds in every process as there is no folder to "
    "keep it in: set NUMBA_CACHE_DIR to one that can be written, or run 'dgt warmup' where dgtrees "
    "is installed, for example when an image is built"
)


@cache
def _say(message: str) -> None:
    """Once a process, and not by those that a pool of processes has started."""
    if multiprocessing.current_process().name == "MainProcess":
        _LOG.warning(message)


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()
