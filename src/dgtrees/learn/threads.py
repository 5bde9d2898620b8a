"""One thread for training: batches are too small for a second one to pay, and the result is then
the same on every machine and under every thread setting.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from threadpoolctl import threadpool_limits

__all__ = ["one_thread"]


class _OneThread:
    """One thread while any training runs; the caller's settings again after the last.

    Counted, because trainings in several threads of a process begin and end in any order. That is
    for what a process has once (BLAS); OpenMP's number belongs to the thread that asks for it.
    """

    lock = threading.Lock()
    running = 0
    before = 1
    limits: threadpool_limits | None = None


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch and BLAS on one thread: the same sums, and so the same tree, on every machine."""
    with _OneThread.lock:
        # Asking has torch set a new thread up, which changes numbers of the whole process: it must
        # be over before a training begins.
        here = torch.get_num_threads()
        mine = threadpool_limits(limits=1, user_api="openmp")
        if _OneThread.running == 0:
            _OneThread.before = here
            _OneThread.limits = threadpool_limits(limits=1, user_api="blas")
        torch.set_num_threads(1)
        _OneThread.running += 1
    try:
        yield
    finally:
        with _OneThread.lock:
            _OneThread.running -= 1
            if _OneThread.running == 0 and _OneThread.limits is not None:
                _OneThread.limits.restore_original_limits()
                torch.set_num_threads(_OneThread.before)
        mine.restore_original_limits()
