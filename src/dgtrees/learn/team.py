"""Team: the processes that train one tree together, and what they do as one.

`ALONE` is the team of an ordinary fit, where sums are what they are and rows are in memory as a
whole. `join` gives the team of a process that was started as one of several: by torchrun or Ray
Train, or by `fit_shards`. Launching processes is not done here.
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
from torch import distributed, nn

from dgtrees.data.rows import Examples

__all__ = ["ALONE", "Team", "join", "launched", "rank", "restarts"]

T = TypeVar("T")

_PART_VALUES = 1 << 22
"""Values of rows on disk that are worked on at once."""


_PATIENCE = timedelta(hours=12)
"""How long workers wait for one that reads its share; a dead one is noticed by who started it."""


class Team:
    """One process.

    Parameters
    ----------
    streams : bool
        Rows are on disk, and come into memory part by part.
    """

    rank, size = 0, 1

    def __init__(self, streams: bool) -> None:
        self.streams = streams

    def sum(self, array: np.ndarray) -> np.ndarray:
        """Sum of one array over all processes."""
        return array

    def max(self, array: np.ndarray) -> np.ndarray:
        """Element-wise maximum of one array over all processes."""
        return array

    def gather(self, value: T) -> list[T]:
        """One value of every process, in the order of their ranks."""
        return [value]

    def synchronised(self, module: nn.Module) -> nn.Module:
        """The module, with gradients that are averaged over all processes."""
        return module

    def parts(self, rows: Examples, prepare: Callable[[Examples], T]) -> Iterable[T]:
        """This process's rows, prepared, as often as they are asked for."""
        if not self.streams:
            return [prepare(rows)]
        return _Parts(rows, prepare)


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


class _ProcessGroup(Team):
    """The processes of torch's default process group."""

    def __init__(self) -> None:
        super().__init__(streams=True)
        if distributed.get_backend() != "gloo":
            raise ValueError(
                "the process group's backend must be gloo, as trees are trained on the CPU, got "
                f"{distributed.get_backend()}: choose gloo where it is started"
            )
        self.rank, self.size = distributed.get_rank(), distributed.get_world_size()

    def sum(self, array: np.ndarray) -> np.ndarray:
        return self._reduced(array, distributed.ReduceOp.SUM)

    def max(self, array: np.ndarray) -> np.ndarray:
        return self._reduced(array, distributed.ReduceOp.MAX)

    def _reduced(self, array: np.ndarray, how: Any) -> np.ndarray:
        tensor = torch.from_numpy(np.array(array, dtype=np.float64))
        distributed.all_reduce(tensor, how)
        return tensor.numpy()

    def gather(self, value: T) -> list[T]:
        found: list[Any] = [None] * self.size
        distributed.all_gather_object(found, value)
        return found

    def synchronised(self, module: nn.Module) -> nn.Module:
        return nn.parallel.DistributedDataParallel(module)


ALONE = Team(streams=False)
"""An ordinary fit."""


def launched() -> bool:
    """Whether this process was started as one of several, by torchrun or Ray Train."""
    return distributed.is_initialized() or {"RANK", "WORLD_SIZE", "MASTER_ADDR"} <= set(os.environ)


def rank() -> int:
    """Number of this process among those that were started with it."""
    return distributed.get_rank() if distributed.is_initialized() else int(os.environ["RANK"])


def restarts() -> int:
    """How often the workers this process is one of have been replaced."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0))


@contextmanager
def join(meeting: Path | None = None) -> Iterator[Team]:
    """The team this process belongs to; a process group made for it is given up afterwards.

    With `meeting`, a file that is new and on this machine, processes find each other there;
    otherwise by the addresses that torchrun has given them.
    """
    if meeting is None and not launched():
        yield Team(streams=True)
        return
    own = not distributed.is_initialized()
    if own:
        distributed.init_process_group("gloo", timeout=_PATIENCE, **_found_at(meeting))
    try:
        yield _ProcessGroup()
    finally:
        if own:
            distributed.destroy_process_group()


def _found_at(meeting: Path | None) -> dict[str, Any]:
    if meeting is None:
        return {}
    size = int(os.environ["WORLD_SIZE"])
    store = distributed.FileStore(str(meeting), size)
    store.set_timeout(_PATIENCE)
    return {"store": store, "rank": int(os.environ["RANK"]), "world_size": size}
