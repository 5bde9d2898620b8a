"""The paper's data sets with one recipe: test score by seed, mean and deviation.

    python -m benchmarks.accuracy                           all sets, 5 seeds, the default recipe
    python -m benchmarks.accuracy --sets ailerons --recipe paper --n-layers 3

Trains on the training part; the validation part chooses the epoch; the test part is looked at
once. For data sets that come without a test part, seed s also means shuffle s, as in the paper.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.data import data_folder
from dgtrees import DGTClassifier, DGTRegressor
from dgtrees.data.catalog import CATALOG, load

TARGETS = {
    "pendigits": 96.8,
    "letter": 90.0,
    "satimage": 87.8,
    "segment": 97.0,
    "mnist": 95.2,
    "connect4": 80.5,
    "ailerons": 1.75,
    "abalone": 2.20,
    "compactiv": 2.95,
}
PAPER = {
    "pendigits": 96.36,
    "letter": 86.13,
    "satimage": 86.64,
    "segment": 95.86,
    "mnist": 94.00,
    "connect4": 79.52,
    "ailerons": 1.72,
    "abalone": 2.15,
    "compactiv": 2.91,
}


def run(name: str, seed: int, options: dict) -> dict:
    """One fit: scores on all three parts, and how long it took."""
    data_set = CATALOG[name]
    parts = load(name, seed if data_set.shuffles > 1 else 0, data_folder())
    regression = data_set.task == "regression"
    kind = DGTRegressor if regression else DGTClassifier
    model = kind(max_depth=data_set.paper_height, random_state=seed, **options)
    started = time.perf_counter()
    model.fit(parts.X_train, parts.y_train, X_val=parts.X_val, y_val=parts.y_val)
    seconds = time.perf_counter() - started

    def score(X: np.ndarray, y: np.ndarray) -> float:
        guess = model.predict(X)
        if regression:
            return float(np.sqrt(np.mean((guess - y) ** 2)))
        return 100.0 * float(np.mean(guess == y))

    return {
        "set": name,
        "seed": seed,
        "train": score(parts.X_train, parts.y_train),
        "val": score(parts.X_val, parts.y_val),
        "test": score(parts.X_test, parts.y_test),
        "leaves": model.get_n_leaves(),
        "seconds": seconds,
        "epochs": model.n_iter_,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    known = [name for name, data_set in CATALOG.items() if data_set.metric != "auc"]
    parser.add_argument("--sets", nargs="*", default=list(TARGETS), choices=known)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--recipe", default="default")
    parser.add_argument("--n-layers", type=int)
    parser.add_argument("--max-epochs", type=int)
    parser.add_argument("--l1", type=float)
    parser.add_argument("--json", type=Path, help="append every run as a line of JSON")
    arguments = parser.parse_args()
    options = {"recipe": arguments.recipe}
    for name in ("n_layers", "max_epochs", "l1"):
        if getattr(arguments, name) is not None:
            options[name] = getattr(arguments, name)

    table = Table(title=f"Test accuracy % or RMSE, {options}, seeds 0..{arguments.seeds - 1}")
    for column in ("set", "mean", "sd", "val", "goal", "paper", "leaves", "s a fit", "max s"):
        table.add_column(column, justify="left" if column == "set" else "right")
    console = Console(stderr=True)
    for name in arguments.sets:
        seeds = range(arguments.seeds)
        results = []
        for seed in track(seeds, description=name, console=console, transient=True):
            results.append(run(name, seed, options))
            if arguments.json:
                with arguments.json.open("a") as stream:
                    stream.write(json.dumps(results[-1] | {"options": str(options)}) + "\n")
        column = lambda key, rows=results: np.array([row[key] for row in rows])  # noqa: E731
        digits = 3 if CATALOG[name].task == "regression" else 2
        table.add_row(
            name,
            f"{column('test').mean():.{digits}f}",
            f"{column('test').std(ddof=1) if len(results) > 1 else 0:.{digits}f}",
            f"{column('val').mean():.{digits}f}",
            str(TARGETS.get(name, "")),
            str(PAPER.get(name, "")),
            f"{column('leaves').mean():.0f}",
            f"{column('seconds').mean():.0f}",
            f"{column('seconds').max():.0f}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
