"""Two threads against one: wall-clock, which means something on a machine with two free cores only.

`Run` itself times both ways and takes the faster; here it is made to take what it is told.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from rich.table import Table

from benchmarks.speed.timing import Times
from benchmarks.speed.training_tables import TrainingTable
from dgtrees import DGTClassifier
from dgtrees.learn.descent import Descent
from dgtrees.learn.recipe import RECIPES
from dgtrees.learn.rows import Rows
from dgtrees.learn.run import Run
from dgtrees.learn.starts import random_start

__all__ = ["EPOCHS_OF", "TRIES_OF", "epochs", "table", "tries"]

EPOCHS_OF, TRIES_OF = ("letter", "covtype"), "segment"
GOALS = {"epoch": 1.6, "tries": 1.4}


@dataclass
class _Always:
    """A pace that stays."""

    most: int

    def choose(self) -> int:
        return self.most

    def note(self, threads: int, seconds: float) -> None:
        pass


def epochs(given: TrainingTable, rounds: int) -> dict:
    """Seconds of an epoch on one and on two threads, in turns; the first one warms up."""
    with np.load(given.path) as stored:
        X, y = stored["X_train"].astype(np.float64), stored["y_train"]
    scale = X.std(axis=0)
    X = ((X - X.mean(axis=0)) / np.where(scale > 0, scale, 1.0)).astype(np.float32)
    runs = {threads: _run(Rows(X, y), given, rounds + 1, threads) for threads in (1, 2)}
    times = Times({str(threads): np.empty(rounds + 1) for threads in runs})
    for i in range(rounds + 1):
        for threads, run in runs.items():
            began = perf_counter()
            run.advance(i + 1)
            times[str(threads)][i] = perf_counter() - began
    times = Times({name: seconds[1:] for name, seconds in times.items()})
    one, two = (run.descent.parameters.values for run in runs.values())
    shared = runs[2].layout.slices > 1
    what = f"{given.title}, an epoch" + ("" if shared else " (steps too small to share)")
    return _described(what, times, one.tobytes() == two.tobytes(), GOALS["epoch"])


def _run(rows: Rows, given: TrainingTable, n_epochs: int, threads: int) -> Run:
    recipe = RECIPES["default"]["classification"]
    start = random_start(given.height, given.classes, np.random.default_rng(0))
    descent = Descent(start, rows.X.shape[1], "constant", recipe, True, seed=0)
    run = descent.begin(rows, recipe, epochs=n_epochs, n_threads=threads)
    run.pace = _Always(threads)  # type: ignore[assignment]
    return run


def tries(given: TrainingTable, rounds: int) -> dict:
    """Seconds of a fit that tries several starts, with one and with two jobs."""
    with np.load(given.path) as stored:
        train = stored["X_train"], stored["y_train"]
        held = {name: stored[name] for name in ("X_val", "y_val")}
    count = RECIPES["default"]["classification"].n_tries(len(train[0]))
    times, trees = Times({name: np.empty(rounds) for name in "12"}), {}
    for i in range(-1, rounds):
        for name in "12":
            began = perf_counter()
            model = DGTClassifier(given.height, n_jobs=int(name), random_state=0)
            model.set_params(max_epochs=None if i >= 0 else 2)  # once to warm up
            model.fit(*train, **held)
            if i >= 0:
                times[name][i] = perf_counter() - began
                trees[name] = model.tree_
    one, two = ([tree.weights, tree.bias, tree.leaf_values] for tree in trees.values())
    same = all(a.tobytes() == b.tobytes() for a, b in zip(one, two, strict=True))
    return _described(f"{given.title}, a fit of {count} tries", times, same, GOALS["tries"])


def _described(what: str, times: Times, same: bool, goal: float) -> dict:
    return {
        "what": what,
        "one_seconds": times.median("1"),
        "two_seconds": times.median("2"),
        "ratio": times.ratio("1", "2"),
        "same_bits": same,
        "goal": goal,
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


def table(found: list[dict]) -> Table:
    """What `epochs` and `tries` have measured."""
    shown = Table(title="One thread and two, wall-clock (needs two free cores: see the load)")
    shown.add_column("")
    for column in ("1 thread", "2 threads", "faster by", "at least", "same bits", "load"):
        shown.add_column(column, justify="right")
    for row in found:
        shown.add_row(
            row["what"],
            *(f"{1e3 * row[side]:.0f} ms" for side in ("one_seconds", "two_seconds")),
            f"{row['ratio']:.2f}x",
            f"{row['goal']:g}x",
            "yes" if row["same_bits"] else "NO",
            "unknown" if row["load"] is None else f"{row['load']:.1f}",
        )
    return shown
