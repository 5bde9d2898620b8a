"""One thread for BLAS while trees are trained: threads of our own share the work of a step."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import threadpoolctl
from threadpoolctl import ThreadpoolController

__all__ = ["one_thread"]


class _OneThread:
    """Counted, because trainings in several threads of a process begin and end in any order."""

    lock = threading.Lock()
    running = 0
    limits: Any = None


@cache
def _controller() -> ThreadpoolController:
    # Finding the libraries takes milliseconds; those that training uses are loaded by now.
    return ThreadpoolController()


def _take_control() -> None:
    """Let this thread set limits: threadpoolctl 3.7 and later listen to the first that did so.

    Without it, trees that are trained outside the main thread would silently be trained on several
    BLAS threads, ten times as slowly.
    """
    controller: Any = getattr(threadpoolctl, "OpenBLASController", None)
    if hasattr(controller, "clear_controlling_thread"):
        controller.clear_controlling_thread(force=True)


@contextmanager
def one_thread() -> Iterator[None]:
    """Run BLAS on one thread: the same sums, and so the same tree, on every machine."""
    with _OneThread.lock:
        if _OneThread.running == 0:
            _take_control()
            _OneThread.limits = _controller().limit(limits=1, user_api="blas")
        _OneThread.running += 1
    try:
        yield
    finally:
        with _OneThread.lock:
            _OneThread.running -= 1
            if _OneThread.running == 0:
                _take_control()
                _OneThread.limits.restore_original_limits()
