"""How fast memory is, and how long prediction would take at that speed."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.speed.contestants import HEIGHT, Task

__all__ = ["copy_bandwidth", "floor_bytes", "touched_bytes"]

SIZE = 2**26
"""Bytes of the array that is copied, more than caches hold."""


def copy_bandwidth(rounds: int = 15) -> float:
    """Bytes a second, read and written, that one thread copying an array reaches at its best."""
    source, target = np.ones(SIZE // 8), np.empty(SIZE // 8)
    best = np.inf
    for _ in range(rounds):
        started = time.thread_time()
        np.copyto(target, source)
        best = min(best, time.thread_time() - started)
    return 2 * SIZE / best


def touched_bytes(task: Task, itemsize: int) -> float:
    """Bytes that one row of a batch reads: itself, and the weights on its way through all trees."""
    return task.d * itemsize + 8 * HEIGHT * task.n_trees * (task.d + 1)


def floor_bytes(task: Task, itemsize: int) -> float:
    """Bytes a row that no cache can spare: every row and every weight once, over all rows."""
    weights = 8 * sum(tree.weights.size for tree in task.trees)
    return task.d * itemsize + weights / len(task.X)
