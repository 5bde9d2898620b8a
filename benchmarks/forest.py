"""DGT-Forest beside boosted trees and random forests, on the paper's data sets.

    python -m benchmarks.forest                        all five sets, seeds 0, 1, 2
    python -m benchmarks.forest --sets abalone --methods 'forest;xgboost' --jobs 2

Everything is trained on the training part. The rivals' settings are chosen on the validation part,
from the small grids below; the forest has its default settings and 30 trees of the paper's height.
The test part is looked at once. Runs are kept as lines of JSON and not repeated.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.data import data_folder
from dgtrees import DGTForestClassifier, DGTForestRegressor
from dgtrees.data.catalog import CATALOG, load

SETS = ("ailerons", "abalone", "compactiv", "pendigits", "letter")
GOALS = {"ailerons": 1.68, "abalone": 2.10, "compactiv": 2.65}
PAPER = {  # DGT-Forest, XGBoost, AdaBoost
    "ailerons": {"forest": 1.65, "xgboost": 1.72, "adaboost": 1.75},
    "abalone": {"forest": 2.08, "xgboost": 2.20, "adaboost": 2.15},
    "compactiv": {"forest": 2.63, "xgboost": 2.57, "adaboost": 2.56},
}


def forests(parts: Any, name: str, seed: int, jobs: int, **changes: Any) -> Iterator[Any]:
    """Our forest with its defaults: no grid."""
    kind = DGTForestRegressor if regression(name) else DGTForestClassifier
    depth = CATALOG[name].paper_height
    model = kind(30, depth, random_state=seed, n_jobs=jobs, **changes)
    yield {}, model.fit(parts.X_train, parts.y_train)


def xgboosts(parts: Any, name: str, seed: int, jobs: int) -> Iterator[Any]:
    """Up to 1000 rounds, stopped where validation stops improving."""
    from xgboost import XGBClassifier, XGBRegressor

    classes = np.unique(parts.y_train)
    encoded = parts.y_train if regression(name) else np.searchsorted(classes, parts.y_train)
    val = parts.y_val if regression(name) else np.searchsorted(classes, parts.y_val)
    for rate, depth in product((0.03, 0.1), (4, 8)):
        model = (XGBRegressor if regression(name) else XGBClassifier)(
            n_estimators=1000,
            learning_rate=rate,
            max_depth=depth,
            subsample=0.8,
            early_stopping_rounds=30,
            random_state=seed,
            n_jobs=jobs,
        ).fit(parts.X_train, encoded, eval_set=[(parts.X_val, val)], verbose=False)
        yield {"learning_rate": rate, "max_depth": depth}, _Labelled(model, classes, name)


def adaboosts(parts: Any, name: str, seed: int, jobs: int) -> Iterator[Any]:
    """1000 CART trees, unless AdaBoost itself stops earlier."""
    from sklearn.ensemble import AdaBoostRegressor
    from sklearn.tree import DecisionTreeRegressor

    for depth in (6, 12):
        tree = DecisionTreeRegressor(max_depth=depth)
        model = AdaBoostRegressor(tree, n_estimators=1000, random_state=seed)
        yield {"max_depth": depth}, model.fit(parts.X_train, parts.y_train)


def random_forests(parts: Any, name: str, seed: int, jobs: int) -> Iterator[Any]:
    """500 trees of full depth."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind = RandomForestRegressor if regression(name) else RandomForestClassifier
    for features in ("sqrt", 0.5):
        model = kind(500, max_features=features, random_state=seed, n_jobs=jobs)
        yield {"max_features": features}, model.fit(parts.X_train, parts.y_train)


def hard_votes(*arguments: Any) -> Iterator[Any]:
    """Our forest with one vote a tree, as in the paper."""
    yield from forests(*arguments, voting="hard")


def linear_leaves(*arguments: Any) -> Iterator[Any]:
    """Our forest with leaves that are linear in the features."""
    yield from forests(*arguments, leaf="linear")


METHODS: dict[str, Callable[..., Iterator[Any]]] = {
    "forest": forests,
    "forest, linear leaves": linear_leaves,
    "forest, hard votes": hard_votes,
    "xgboost": xgboosts,
    "adaboost": adaboosts,
    "random forest": random_forests,
}
ONLY = {
    "adaboost": "regression",
    "forest, linear leaves": "regression",
    "forest, hard votes": "classification",
}


class _Labelled:
    """XGBoost knows class numbers only."""

    def __init__(self, model: Any, classes: np.ndarray, name: str) -> None:
        self.model, self.classes, self.name = model, classes, name

    def predict(self, X: np.ndarray) -> np.ndarray:
        answer = self.model.predict(X)
        return answer if regression(self.name) else self.classes[answer]


def regression(name: str) -> bool:
    return CATALOG[name].task == "regression"


def score(name: str, model: Any, X: np.ndarray, y: np.ndarray) -> float:
    guess = model.predict(X)
    if regression(name):
        return float(np.sqrt(np.mean((guess - y) ** 2)))
    return 100.0 * float(np.mean(guess == y))


def run(name: str, method: str, seed: int, jobs: int) -> dict[str, Any]:
    """One method on one set with one seed, its settings chosen on validation rows."""
    parts = load(name, seed if CATALOG[name].shuffles > 1 else 0, data_folder())
    started = time.perf_counter()
    tried = [
        (score(name, model, parts.X_val, parts.y_val), settings, model)
        for settings, model in METHODS[method](parts, name, seed, jobs)
    ]
    choose = min if regression(name) else max
    val, settings, model = choose(tried, key=lambda each: each[0])
    return {
        "set": name,
        "method": method,
        "seed": seed,
        "settings": settings,
        "val": val,
        "test": score(name, model, parts.X_test, parts.y_test),
        "seconds": time.perf_counter() - started,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--methods", default=";".join(METHODS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--json", type=Path, default=Path("forest.jsonl"))
    arguments = parser.parse_args()
    kept = arguments.json.read_text().splitlines() if arguments.json.exists() else []
    done = {(r["set"], r["method"], r["seed"]): r for r in map(json.loads, kept)}
    todo = [
        (name, method, seed)
        for name in arguments.sets.split(",")
        for method in arguments.methods.split(";")
        if ONLY.get(method, CATALOG[name].task) == CATALOG[name].task
        for seed in range(arguments.seeds)
    ]
    missing = [cell for cell in todo if cell not in done]
    for cell in track(missing, description="fits", console=Console(stderr=True)):
        done[cell] = run(*cell, arguments.jobs)
        with arguments.json.open("a") as stream:
            stream.write(json.dumps(done[cell]) + "\n")
    Console().print(report({cell: done[cell] for cell in todo}, arguments.seeds))


def report(results: dict[Any, dict[str, Any]], seeds: int) -> Table:
    table = Table(title=f"Test RMSE or accuracy %, seeds 0..{seeds - 1}")
    for column in ("set", "method", "mean", "sd", "val", "goal", "paper", "s, with its grid"):
        table.add_column(column, justify="left" if column in ("set", "method") else "right")
    for name, method in dict.fromkeys(cell[:2] for cell in results):
        rows = [results[cell] for cell in results if cell[:2] == (name, method)]
        test = np.array([row["test"] for row in rows])
        digits = 3 if regression(name) else 2
        table.add_row(
            name,
            method,
            f"{test.mean():.{digits}f}",
            f"{test.std(ddof=1) if len(test) > 1 else 0:.{digits}f}",
            f"{np.mean([row['val'] for row in rows]):.{digits}f}",
            str(GOALS.get(name, "")) if method.startswith("forest") else "",
            str(PAPER.get(name, {}).get(method, "")),
            f"{np.mean([row['seconds'] for row in rows]):.0f}",
        )
    return table


if __name__ == "__main__":
    main()
