"""Rows on their way into compiled code: their shape and dtype, and the threads that share them."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["available_threads", "check_row", "check_rows", "split_rows"]

# Below this many multiply-adds a batch is nearly done before a second thread has started.
_THREADING_PAYS = 10_000_000

_FLOAT64 = np.dtype(np.float64)


def available_threads() -> int:
    """Cores this process may use; DGTREES_NUM_THREADS overrides."""
    if chosen := os.environ.get("DGTREES_NUM_THREADS"):
        try:
            return max(1, int(chosen))
        except ValueError:
            raise ValueError(
                f"DGTREES_NUM_THREADS must be a whole number, got {chosen!r}: set it to one or "
                "unset it"
            ) from None
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_rows(X: ArrayLike, n_features: int) -> np.ndarray:
    """X as the kernels take it: contiguous rows of float32 or float64."""
    X = np.asarray(X)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if X.ndim != 2 or X.shape[1] != n_features:
        raise ValueError(
            f"X must have shape (rows, {n_features}), got {X.shape}: "
            "give one row per example with the features the tree was trained on"
        )
    return np.ascontiguousarray(X)


def check_row(x: ArrayLike, n_features: int) -> np.ndarray:
    """One row as the kernels take it; None and pandas.NA are missing numbers, as NaN is."""
    if type(x) is not np.ndarray or x.dtype is not _FLOAT64 or not x.flags.c_contiguous:
        x = _as_floats(np.asarray(x))
    if x.shape != (n_features,):
        raise ValueError(
            f"x must be one row of {n_features} numbers, got shape {x.shape}: "
            "give the features the tree was trained on; several rows are the batch method's"
        )
    return x


def _as_floats(x: np.ndarray) -> np.ndarray:
    if x.dtype == object:  # pandas.NA, by name because pandas need not be there, is no float
        gaps = [type(cell).__name__ == "NAType" for cell in x.flat]
        x = np.where(np.array(gaps, dtype=bool).reshape(x.shape), np.nan, x)
    try:
        return x.astype(np.float32 if x.dtype == np.float32 else np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"x must hold numbers ({error}): encode text yourself, or give DataFrames to predict"
        ) from error


def split_rows(
    work: Callable[[int, int], None], rows: int, cost: int, n_threads: int | None
) -> None:
    """Run work(start, stop) over all rows, on several threads where that pays."""
    threads = available_threads() if n_threads is None else n_threads
    if threads <= 1 or rows < 2 or (n_threads is None and rows * cost < _THREADING_PAYS):
        work(0, rows)
        return
    edges = np.linspace(0, rows, threads + 1).astype(int)
    with ThreadPoolExecutor(threads - 1) as pool:
        others = pool.map(work, edges[1:-1], edges[2:])
        work(0, edges[1])  # a share for the thread that would else wait
        list(others)
