"""Processes: the one place where training meets the possibility that others train with it.

Whatever a fit asks of rows and sums that may lie with several processes goes through here. `ALONE`
is the ordinary fit, where sums are what they are and all rows are in memory; `cluster.workers`
has the processes that train one tree together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from dgtrees.tables.examples import Examples

if TYPE_CHECKING:
    from dgtrees.learn.rows import Feed, Rows
    from dgtrees.learn.run import Run

__all__ = ["ALONE", "Processes"]

T = TypeVar("T")


class Processes:
    """This process alone, with all rows in memory."""

    rank = 0

    def sum(self, array: np.ndarray) -> np.ndarray:
        """Sum of one array over all processes."""
        return array

    def max(self, array: np.ndarray) -> np.ndarray:
        """Element-wise maximum of one array over all processes."""
        return array

    def parts(self, rows: Examples, prepare: Callable[[Examples], T]) -> Iterable[T]:
        """This process's rows, prepared, as often as they are asked for."""
        return [prepare(rows)]

    def feed(self, rows: Examples, prepare: Callable[[Examples], Rows]) -> Feed:
        """This process's rows as the training loop takes them; `prepare` standardises."""
        # Without weights, a loss of one's own may give one number for the whole batch.
        return prepare(rows).without_equal_weights()

    def average(self, gradient: np.ndarray) -> None:
        """Replace a gradient by its mean over all processes."""

    def resume(self, run: Run) -> None:
        """Bring a new run to where an earlier one was broken off."""

    def after_step(self, run: Run) -> None:
        """Called after every step but the last of an epoch."""

    def after_epoch(self, run: Run) -> None:
        """Called after every epoch."""


ALONE = Processes()
"""An ordinary fit."""
