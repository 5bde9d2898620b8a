"""Rows: encoded, standardised rows as training takes them, and what a loop asks of any rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

__all__ = ["Feed", "Rows"]


@dataclass(frozen=True)
class Rows:
    """X (rows, d) as float32, classes (rows,) or values (rows, outputs), weights of mean 1.

    `offset` (rows, outputs) is added to what the tree answers, for a tree beside another model.
    """

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None = None
    offset: np.ndarray | None = None

    def __len__(self) -> int:
        return self.X.shape[0]

    def take(self, rows: np.ndarray) -> Rows:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        offset = None if self.offset is None else self.offset[rows]
        return Rows(self.X[rows], self.y[rows], weight, offset)

    def without_equal_weights(self) -> Rows:
        """The same rows, without weights where all of them are equal."""
        if self.weight is None or not (self.weight == self.weight[0]).all():
            return self
        return Rows(self.X, self.y, None, self.offset)

    def order(self, seed: int, epoch: int) -> np.ndarray:
        """The random order of an epoch: a function of seed and epoch alone."""
        return np.random.default_rng([seed, epoch]).permutation(len(self))

    def batches(self, size: int, seed: int, epoch: int, done: int) -> Iterator[tuple[Rows, float]]:
        """All rows in random batches, each with its share of the rows in the epoch's loss."""
        order = self.order(seed, epoch)
        for start in range(done * size, len(self), size):
            rows = order[start : start + size]
            yield self.take(rows), float(len(rows))

    def n_batches(self, size: int) -> int:
        """Number of batches of so many rows."""
        return -(-len(self) // size)

    def scores(self, measure: Callable[[Rows], dict[str, float]]) -> dict[str, float]:
        """What `measure` says of all rows."""
        return measure(self)


class Feed(Protocol):
    """Where the training loop takes rows from: `Rows` in memory, or what `Processes.feed` gives.

    Its length is the number of rows of all processes together.
    """

    def __len__(self) -> int: ...

    def n_batches(self, size: int) -> int:
        """Steps of an epoch, the same for all processes."""

    def batches(self, size: int, seed: int, epoch: int, done: int) -> Iterator[tuple[Rows, float]]:
        """Batches of an epoch without the first `done`, and how many rows each stands for."""

    def scores(self, measure: Callable[[Rows], dict[str, float]]) -> dict[str, float]:
        """What `measure` says of the rows of all processes."""
