"""One thread for torch as well: batches are too small for a second one to pay."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from dgtrees.learn.threads import one_thread

__all__ = ["one_torch_thread"]

_lock = threading.Lock()
_before: list[int] = []
"""torch's number of threads when each training under way began."""


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Run torch and BLAS on one thread: the same sums, and so the same tree, on every machine.

    torch has one number for the process, and trainings in several threads begin and end in any
    order: the last one to end restores what the first one found.
    """
    here = torch.get_num_threads()  # before `one_thread`, which changes what torch would say
    with one_thread():
        with _lock:
            _before.append(here)
            torch.set_num_threads(1)
        try:
            yield
        finally:
            with _lock:
                # Those that end earlier leave the first number for the last one.
                first = _before[0]
                _before.pop()
                if not _before:
                    torch.set_num_threads(first)
