"""One thread for torch as well: batches are too small for a second one to pay."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from dgtrees.learn.threads import one_thread

__all__ = ["one_torch_thread"]


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Run torch and BLAS on one thread: the same sums, and so the same tree, on every machine.

    OpenMP's number belongs to the thread that sets it, so that trainings in several threads do not
    come into each other's way.
    """
    before = torch.get_num_threads()
    with one_thread():
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)
