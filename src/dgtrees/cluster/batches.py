"""DiskBatches: one worker's rows, on its disk, as the training loop takes them.

All workers make the same number of steps, and the batches of a step add up to the recipe's rows.
The order of rows is a function of seed, epoch and worker, and can be taken up at any step.

Rows that fit a window of memory are shuffled as a whole. Of more, blocks of neighbouring rows
are drawn at random, a window full of them at a time, and shuffled there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from dgtrees.learn.rows import Rows
from dgtrees.tables.examples import Examples

if TYPE_CHECKING:
    from dgtrees.cluster.workers import Workers

__all__ = ["DiskBatches"]

_WINDOW_VALUES = 1 << 26
_BLOCK_ROWS = 256


class DiskBatches:
    """See the module docstring.

    Parameters
    ----------
    rows : Examples
        This worker's rows.
    prepare : callable
        From such rows to standardised ones with weights.
    workers : Workers
    """

    def __init__(
        self, rows: Examples, prepare: Callable[[Examples], Rows], workers: Workers
    ) -> None:
        self.rows, self.prepare, self.workers = rows, prepare, workers
        self.counts = np.array(workers.gather(len(rows.X)))
        self.window = max(_BLOCK_ROWS, _WINDOW_VALUES // rows.X.shape[1])
        self.at_once = max(_BLOCK_ROWS, self.window // 16)
        own = int(self.counts[workers.rank])
        self.whole = self._read(np.arange(own)) if own <= self.window else None

    def __len__(self) -> int:
        return int(self.counts.sum())

    def n_batches(self, size: int) -> int:
        """Steps of an epoch: every worker has at least a row for each."""
        return min(-(-len(self) // size), int(self.counts.min()))

    def batches(self, size: int, seed: int, epoch: int, done: int) -> Iterator[tuple[Rows, float]]:
        """This worker's part of every batch, weighted so that the mean over workers is right."""
        steps, key = self.n_batches(size), [seed, epoch, self.workers.rank]
        for first, last, rows, order in self._windows(steps, key, done):
            begin = self._edges(first, steps)[self.workers.rank]
            for step in range(max(first, done), last):
                low, high = self._edges(step, steps), self._edges(step + 1, steps)
                own = order[low[self.workers.rank] - begin : high[self.workers.rank] - begin]
                here, mean_rows = rows.take(own), float((high - low).sum()) / self.workers.size
                assert here.weight is not None
                weight = here.weight * np.float32(len(here) / mean_rows)
                yield Rows(here.X, here.y, weight), mean_rows

    def _edges(self, step: int, steps: int) -> np.ndarray:
        """How many rows every worker has behind it before a step."""
        return step * self.counts // steps

    def scores(self, measure: Callable[[Rows], dict[str, float]]) -> dict[str, float]:
        """What `measure`, which gives means (or their square root, "rmse"), says of all rows."""
        total: dict[str, float] = {}
        for rows in self._in_order():
            for name, value in measure(rows).items():
                mean = value**2 if name == "rmse" else value
                total[name] = total.get(name, 0.0) + mean * len(rows)
        means = self.workers.sum(np.array(list(total.values()))) / len(self)
        found = dict(zip(total, means.tolist(), strict=True))
        return {name: v**0.5 if name == "rmse" else v for name, v in found.items()}

    def _in_order(self) -> Iterator[Rows]:
        if self.whole is not None:
            yield self.whole
            return
        for start in range(0, len(self.rows.X), self.window):
            yield self._read(np.arange(start, min(start + self.window, len(self.rows.X))))

    def _windows(
        self, steps: int, key: list[int], done: int
    ) -> Iterator[tuple[int, int, Rows, np.ndarray]]:
        """First step, last step (excluded), the rows of these steps, and their random order."""
        count = len(self.rows.X)
        if self.whole is not None:
            order = np.random.default_rng(key).permutation(count)
            yield 0, steps, self.whole, order
            return
        # The last block is short, or empty, and stays the last.
        blocks = np.random.default_rng(key).permutation(count // _BLOCK_ROWS)
        blocks = np.append(blocks, count // _BLOCK_ROWS)
        steps_per_window = max(1, steps * self.window // count)
        for first in range(0, steps, steps_per_window):
            last = min(first + steps_per_window, steps)
            if last <= done:
                continue
            begin, end = (self._edges(step, steps)[self.workers.rank] for step in (first, last))
            place = np.arange(begin, end)
            rows = blocks[place // _BLOCK_ROWS] * _BLOCK_ROWS + place % _BLOCK_ROWS
            order = np.random.default_rng([*key, first]).permutation(len(rows))
            yield first, last, self._read(np.sort(rows)), order

    def _read(self, rows: np.ndarray) -> Rows:
        """Rows of these numbers, prepared some at a time: float64 takes twice the space."""
        X, y, weight = self.rows.X, self.rows.y, self.rows.weight
        some = [
            self.prepare(Examples(X[part], y[part], weight[part]))
            for part in np.array_split(rows, -(-len(rows) // self.at_once))
        ]
        weights = [part.weight for part in some if part.weight is not None]
        return Rows(
            np.concatenate([part.X for part in some]),
            np.concatenate([part.y for part in some]),
            np.concatenate(weights),
        )
