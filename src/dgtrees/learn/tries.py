"""Tries: several trees from different starts, of which the one that validates best is trained on.

All of them go half of the way, side by side in threads; the one with the lowest validation loss
there, averaged over its last epochs, goes to the end with all threads. The seed decides the result,
the number of threads does not.

Without validation rows the training loss decides, which is as good a judge of trees that have far
fewer weights than there are rows (`few_weights`). Just these need it: one cut at the wrong place is
half of such a tree.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dgtrees.learn.result import Callback, TrainingResult
from dgtrees.learn.run import Run
from dgtrees.learn.trainer import Trainer
from dgtrees.tables.examples import Examples

__all__ = ["best_of_tries", "few_weights"]

_ROWS_A_WEIGHT = 20
"""Training rows for every weight of a tree that has learnt no row by heart."""

_RECENT = 0.2
"""Share of the epochs so far whose mean validation loss decides which try goes on."""

_LEGS = 4
"""Parts of the way to half-time, so that three tries keep two threads busy to the end."""


def few_weights(rows: int, columns: int, height: int, values_a_leaf: int) -> bool:
    """Whether a complete tree is so small that its training loss tells how good it is.

    >>> few_weights(rows=600, columns=2, height=2, values_a_leaf=2)
    True
    >>> few_weights(rows=600, columns=30, height=2, values_a_leaf=2)
    False
    """
    weights = (2**height - 1) * (columns + 1) + 2**height * values_a_leaf
    return rows >= _ROWS_A_WEIGHT * weights


def best_of_tries(
    trainers: list[Trainer],
    train: Examples,
    validation: Examples | None,
    callbacks: tuple[Callback, ...] = (),
    n_threads: int = 1,
) -> tuple[Trainer, TrainingResult]:
    """Train as described above; the chosen trainer, and what it did."""
    n_epochs = trainers[0].recipe.n_epochs(len(train.X))
    half = n_epochs // 2 if len(trainers) > 1 else 0
    watch = _Watch(callbacks, len(trainers) * half + n_epochs - half)
    runs = [trainer.begin(train, validation, callbacks=(watch,)) for trainer in trainers]
    if half:
        _advance_all(runs, half, min(n_threads, len(runs)))
    losses = [_recent(run.result) for run in runs]
    chosen = int(np.argmin(losses))
    result = trainers[chosen].end(runs[chosen].advance(n_threads=n_threads))
    return trainers[chosen], result


def _advance_all(runs: list[Run], until: int, n_threads: int) -> None:
    """All runs go so far, in several legs: with as many as threads, the last one would be alone."""
    locks = [threading.Lock() for _ in runs]
    legs = [until * (leg + 1) // _LEGS for leg in range(_LEGS)]

    def advance(task: tuple[int, int]) -> None:
        leg, run = task
        with locks[run]:
            runs[run].advance(leg)

    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(advance, [(leg, run) for leg in legs for run in range(len(runs))]))


def _recent(result: TrainingResult) -> float:
    losses = result.history.get("val_loss") or result.history.get("loss", [0.0])
    return float(np.mean(losses[-max(1, round(_RECENT * len(losses))) :]))


class _Watch:
    """Callbacks that count the epochs of all tries, one at a time."""

    def __init__(self, callbacks: tuple[Callback, ...], total: int) -> None:
        self.callbacks, self.total = callbacks, total
        self.done, self.stopped = 0, False
        self.lock = threading.Lock()

    def __call__(self, epoch: int, n_epochs: int, metrics: dict[str, float]) -> bool:
        with self.lock:
            self.done += 1
            asked: list[Callable] = [] if self.stopped else list(self.callbacks)
            for callback in asked:  # all of them, even if the first one asks to stop
                self.stopped |= bool(callback(self.done, self.total, metrics))
            return self.stopped
