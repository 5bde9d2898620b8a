"""Boosted sums beside XGBoost and LightGBM: prediction at one thread, and fits of many rows.

    python -m benchmarks.boosting prediction
    python -m benchmarks.boosting rows --most 1000000

Prediction is of 100 trees, all trained on the same 10,000 rows; blocks of calls take turns, and
ratios are of the same round. Times are those of the calling thread. Fits are timed once each, one
after the other, by the CPU they take and by the clock.
"""

from __future__ import annotations

import os

# Before anything loads a library that starts threads; fits on two threads are ours, by n_jobs.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import lightgbm
import numpy as np
import xgboost
from rich.console import Console
from rich.table import Table

from benchmarks.speed.timing import alternate
from dgtrees import DGTBoostingRegressor

ROWS, TREES = 10_000, 100
COLUMNS = 30


def made_rows(rows: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A smooth function of a few columns and of a sum of several, and noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, d))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.tanh(X[:, : d // 2].sum(axis=1))
    return X, y + 0.3 * rng.normal(size=rows)


def prediction(widths: Sequence[int], rounds: int) -> Table:
    """Milliseconds for all rows, and for a row alone, ours and others'."""
    table = Table("columns, nodes", "ours", "XGBoost", "LightGBM", "one row, us: ours", "XGBoost")
    for d in widths:
        X, y = made_rows(ROWS, d)
        narrow = X.astype(np.float32)
        one, other = X[0].copy(), narrow[:1].copy()
        xgb = xgboost.XGBRegressor(n_estimators=TREES, n_jobs=1).fit(X, y).get_booster()
        lgb = lightgbm.LGBMRegressor(n_estimators=TREES, n_jobs=1, verbose=-1).fit(X, y).booster_
        for oblique in (False, True):
            model = DGTBoostingRegressor(
                TREES, oblique=oblique, linear=False, n_folds=None, random_state=0
            )
            forest = model.fit(X, y).forest_
            works: dict[str, Callable[[], Any]] = {
                "ours": lambda forest=forest, X=X: forest.predict(X, n_threads=1),
                "xgb": lambda xgb=xgb, narrow=narrow: xgb.inplace_predict(narrow),
                "lgb": lambda lgb=lgb, X=X: lgb.predict(X, num_threads=1),
            }
            times = alternate(works, rounds, clock=time.thread_time)
            alone: dict[str, Callable[[], Any]] = {
                "ours": lambda forest=forest, x=one: forest.predict_row(x),
                "xgb": lambda xgb=xgb, x=other: xgb.inplace_predict(x),
            }
            single = alternate(alone, rounds, clock=time.thread_time)
            share = np.mean([np.count_nonzero(t.weights, axis=1) > 1 for t in forest.trees[:9]])
            table.add_row(
                f"{d}, {100 * share:.0f} % oblique",
                f"{1e3 * times.median('ours'):.1f} ms",
                *(
                    f"{1e3 * times.median(name):.1f} ({times.ratio(name, 'ours'):.2f}x)"
                    for name in ("xgb", "lgb")
                ),
                f"{1e6 * single.median('ours'):.1f}",
                f"{1e6 * single.median('xgb'):.0f} ({single.ratio('xgb', 'ours'):.0f}x)",
            )
    return table


def fits(sizes: Sequence[int], threads: int) -> Table:
    """Seconds of default fits against rows, by one thread and by several, and XGBoost's."""
    table = Table("rows", "CPU s", "wall s", f"{threads} threads", "trees", "XGBoost CPU s", "MB")
    for rows in sizes:
        X, y = made_rows(rows, COLUMNS)
        cpu, wall, model = _timed(lambda X=X, y=y: DGTBoostingRegressor(random_state=0).fit(X, y))
        _, shared, _ = _timed(
            lambda X=X, y=y: DGTBoostingRegressor(random_state=0, n_jobs=threads).fit(X, y)
        )
        rival, _, _ = _timed(lambda X=X, y=y: xgboost.XGBRegressor(n_jobs=1).fit(X, y))
        table.add_row(
            f"{rows:,}",
            f"{cpu:.2f}",
            f"{wall:.2f}",
            f"{shared:.2f}",
            f"{len(model.forest_):,}",
            f"{rival:.2f}",
            f"{X.nbytes / 2**20:.0f}",
        )
    return table


def _timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    cpu, wall = time.process_time(), time.perf_counter()
    made = work()
    return time.process_time() - cpu, time.perf_counter() - wall, made


def main(arguments: Sequence[str] | None = None) -> None:
    """What `python -m benchmarks.boosting` does."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.boosting", description=__doc__)
    parser.add_argument("what", choices=("prediction", "rows"))
    parser.add_argument("--columns", type=int, nargs="+", default=[10, 40, 100])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--most", type=int, default=300_000, help="rows of the largest fit")
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args(arguments)
    console = Console(width=120)
    if given.what == "prediction":
        console.print(prediction(given.columns, given.rounds))
        return
    X, y = made_rows(500, COLUMNS)
    DGTBoostingRegressor(2, random_state=0).fit(X, y)  # loads what is compiled
    sizes = [n for n in (10_000, 30_000, 100_000, 300_000, 1_000_000) if n <= given.most]
    console.print(fits(sizes, given.threads))


if __name__ == "__main__":
    main()
