"""How often targets of new rows fall into the prediction intervals of a default forest.

    python -m benchmarks.intervals              all tables of numbers, seeds 0 to 2, one thread

Rows are split as for the comparison of tables: three quarters to train, the rest to judge.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse

import numpy as np

from benchmarks.tables.protocol import Split
from benchmarks.tables.suites import data_folder, list_tables
from dgtrees import DGTForestRegressor

COVERAGES = (0.8, 0.9, 0.95)


def measure(split: Split) -> list[tuple[float, float]]:
    """For every coverage, the share of test targets inside, and the mean width over the spread."""
    forest = DGTForestRegressor(random_state=split.seed).fit(split.X, split.y)
    found = []
    for coverage in COVERAGES:
        low, high = forest.predict_interval(split.X_test, coverage).T
        inside = (low <= split.y_test) & (split.y_test <= high)
        found.append((float(inside.mean()), float((high - low).mean() / split.y_test.std())))
    return found


def main() -> None:
    """Print the table of docs/forests.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="", help="names of tables, with commas")
    given = parser.parse_args()
    names = [name for name in given.only.split(",") if name]
    print("| table | test rows | 80 % | 90 % | 95 % | width of 90 % |\n|---|---|---|---|---|---|")
    every = []
    for table in list_tables("tables", data_folder()):
        if table.task != "reg" or (names and table.name not in names):
            continue
        splits = [Split.of(table, seed) for seed in range(given.seeds)]
        found = np.mean([measure(split) for split in splits], axis=0)
        every.append(found)
        shares = " | ".join(f"{100 * share:.1f}" for share in found[:, 0])
        print(
            f"| {table.name} | {len(splits[0].X_test):,} | {shares} | {found[1, 1]:.2f} |",
            flush=True,
        )
    mean = " | ".join(f"{100 * share:.1f}" for share in np.mean(every, axis=0)[:, 0])
    print(f"| mean of {len(every)} | | {mean} | |")


if __name__ == "__main__":
    main()
