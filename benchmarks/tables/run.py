"""Fit what has no record yet."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.tables import records
from benchmarks.tables.models import CONTESTANTS, YARDSTICK
from benchmarks.tables.protocol import Split, measure
from benchmarks.tables.suites import Table


class Runner:
    """Fits models and records them; knows what it has warmed up and timed in this process.

    Parameters
    ----------
    results : Path
        Folder of the records.
    again : bool
        Whether to run what has a record, too, and replace it.
    """

    def __init__(self, results: Path, again: bool = False) -> None:
        self.results = results
        self.again = again
        self.failures: list[str] = []
        self._warm: set[tuple[str, str]] = set()
        self._forest_seconds: dict[Table, float] = {}

    def run(self, tables: Sequence[Table], models: Sequence[str], seeds: Sequence[int]) -> int:
        """Run every model on every table with every seed, a whole seed before the next.

        Returns
        -------
        int
            How many records were made.
        """
        made = 0
        kept = {
            model: {} if self.again else records.recipes(self.results, model) for model in models
        }
        for seed in seeds:
            for table in tables:
                # The forest goes first: its seconds are a part of the others' records.
                due = sorted(
                    (m for m in models if self._is_due(kept[m], m, table, seed)),
                    key=lambda model: model != YARDSTICK,
                )
                split = Split.of(table, seed) if due else None
                made += sum(self._record(split, model) for model in due)
        return made

    def _is_due(self, kept: dict, model: str, table: Table, seed: int) -> bool:
        """Whether there is no record, or one of another recipe."""
        recipe = CONTESTANTS[model].recipe(table.task)
        return kept.get((table.suite, table.name, seed)) != recipe

    def _record(self, split: Split, model: str) -> bool:
        """Fit and record, or keep and print why not: one failure should not end a long run."""
        table, contestant = split.table, CONTESTANTS[model]
        start = time.perf_counter()
        try:
            found = self._measure(split, model)
            if model == YARDSTICK:
                self._forest_seconds[table] = found["cpu_seconds"]
            elif table not in self._forest_seconds:
                self._forest_seconds[table] = self._measure(split, YARDSTICK)["cpu_seconds"]
        except Exception as error:
            said = f"{table.name}, seed {split.seed}, {model}: {error!r}"
            self.failures.append(said)
            print(said, file=sys.stderr, flush=True)
            return False
        record = records.Record(
            suite=table.suite,
            table=table.name,
            seed=split.seed,
            model=model,
            task=table.task,
            rows=len(split.X),
            columns=split.X.shape[1],
            classes=split.y.nunique() if table.task == "clf" else 0,
            forest_seconds=self._forest_seconds[table],
            version=contestant.version(),
            recipe=contestant.recipe(table.task),
            **found,
        )
        records.add(self.results, record)
        took = time.perf_counter() - start
        said = f"{table.name}, seed {split.seed}, {model}: {record.score:.4f} in {took:.1f} s"
        print(said, flush=True)
        return True

    def _measure(self, split: Split, model: str) -> dict:
        """As `measure`, after a first fit: what is compiled or loaded then is no table's cost."""
        if (model, split.table.task) not in self._warm:
            measure(_tiny(split.table.task), model)
            self._warm.add((model, split.table.task))
        return measure(split, model)


def _tiny(task: str) -> Split:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 3)), columns=["a", "b", "c"])
    y = (X["a"] > 0).astype(int) if task == "clf" else X["a"]
    return Split(Table("", "", task, Path()), 0, X[:60], X[60:], y[:60], y[60:])
