"""Workers: the processes that train one tree together, each with rows of its own on disk.

They are `learn`'s `Processes`, with sums over all of them and rows that come into memory part by
part. `join` gives those that this process was started with: by torchrun or Ray Train, or by
`fit_shards`. Launching processes is not done here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from torch import distributed

from dgtrees.cluster.batches import DiskBatches
from dgtrees.cluster.checkpoints import Checkpoints
from dgtrees.learn.processes import Processes
from dgtrees.learn.rows import Rows
from dgtrees.learn.run import Run
from dgtrees.tables.examples import Examples

__all__ = ["Workers", "join", "rank", "restarts", "was_launched"]

T = TypeVar("T")

_PART_VALUES = 1 << 22
"""Values of rows on disk that are worked on at once."""


_PATIENCE = timedelta(hours=12)
"""How long workers wait for one that reads its share; a dead one is noticed by who started it."""


class Workers(Processes):
    """A worker alone; see the module docstring."""

    size = 1
    checkpoints: Checkpoints | None = None
    """Where the state of a run is kept, if anywhere."""

    def gather(self, value: T) -> list[T]:
        """One value of every worker, in the order of their ranks."""
        return [value]

    def parts(self, rows: Examples, prepare: Callable[[Examples], T]) -> Iterable[T]:
        """Slices of this worker's rows, prepared anew in every pass."""
        return _Parts(rows, prepare)

    def feed(self, rows: Examples, prepare: Callable[[Examples], Rows]) -> DiskBatches:
        """This worker's rows in batches, read from disk as they are needed."""
        return DiskBatches(rows, prepare, self)

    def resume(self, run: Run) -> None:
        """Bring a new run to where the last checkpoint was made, if there is one."""
        if self.checkpoints is None:
            return
        # The first worker reads for all: on a shared disk the others may see an older file.
        (state, *_) = self.gather(self.checkpoints.read() if self.rank == 0 else None)
        if state is not None:
            self.checkpoints.restore(run, state, self.rank)

    def after_step(self, run: Run) -> None:
        """Keep a state within an epoch, where it is time."""
        if self.checkpoints is not None and run.step % self.checkpoints.every == 0:
            self.after_epoch(run)

    def after_epoch(self, run: Run) -> None:
        """Keep the present state."""
        if self.checkpoints is None:
            return
        # What differs from worker to worker, in the order of their ranks.
        own = self.gather(run.loss_sum)
        if self.rank == 0:
            self.checkpoints.write(run, own)


class _Parts(Generic[T]):
    """Slices of rows on disk, prepared anew in every pass."""

    def __init__(self, rows: Examples, prepare: Callable[[Examples], T]) -> None:
        self.rows, self.prepare = rows, prepare

    def __iter__(self) -> Iterator[T]:
        X, y, weight = self.rows.X, self.rows.y, self.rows.weight
        size = max(1, _PART_VALUES // max(1, X.shape[1]))
        for start in range(0, len(X), size):
            some = slice(start, start + size)
            yield self.prepare(
                Examples(np.asarray(X[some]), np.asarray(y[some]), np.asarray(weight[some]))
            )


class _ProcessGroup(Workers):
    """The processes of torch's default process group."""

    def __init__(self) -> None:
        if distributed.get_backend() != "gloo":
            raise ValueError(
                "the process group's backend must be gloo, as trees are trained on the CPU, got "
                f"{distributed.get_backend()}: choose gloo where it is started"
            )
        self.rank, self.size = distributed.get_rank(), distributed.get_world_size()

    def sum(self, array: np.ndarray) -> np.ndarray:
        return self._reduce(array, distributed.ReduceOp.SUM)

    def max(self, array: np.ndarray) -> np.ndarray:
        return self._reduce(array, distributed.ReduceOp.MAX)

    def _reduce(self, array: np.ndarray, how: distributed.ReduceOp.RedOpType) -> np.ndarray:
        tensor = torch.from_numpy(np.array(array, dtype=np.float64))
        distributed.all_reduce(tensor, how)
        return tensor.numpy()

    def gather(self, value: T) -> list[T]:
        found: list[Any] = [None] * self.size
        distributed.all_gather_object(found, value)
        return found

    def average(self, gradient: np.ndarray) -> None:
        # One reduction of the flat vector, in place: the array and the tensor share their memory.
        distributed.all_reduce(torch.from_numpy(gradient))
        gradient /= self.size


def was_launched() -> bool:
    """Whether this process was started as one of several, by torchrun or Ray Train."""
    return distributed.is_initialized() or {"RANK", "WORLD_SIZE", "MASTER_ADDR"} <= set(os.environ)


def rank() -> int:
    """Number of this process among those that were started with it."""
    return distributed.get_rank() if distributed.is_initialized() else int(os.environ["RANK"])


def restarts() -> int:
    """How often the workers this process is one of have been replaced."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0))


@contextmanager
def join(meeting: Path | None = None) -> Iterator[Workers]:
    """The workers this process is one of; a process group made for it is given up afterwards.

    With `meeting`, a file that is new and on this machine, processes find each other there;
    otherwise by the addresses that torchrun has given them.
    """
    if meeting is None and not was_launched():
        yield Workers()
        return
    own = not distributed.is_initialized()
    if own:
        _start_group(meeting)
    try:
        yield _ProcessGroup()
    finally:
        if own:
            distributed.destroy_process_group()


def _start_group(meeting: Path | None) -> None:
    if meeting is None:
        distributed.init_process_group("gloo", timeout=_PATIENCE)
        return
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    store = distributed.FileStore(str(meeting), size)
    store.set_timeout(_PATIENCE)
    distributed.init_process_group(
        "gloo", timeout=_PATIENCE, store=store, rank=rank, world_size=size
    )
