"""Accuracy over bags of five multi-instance sets, by repeated 10-fold cross-validation.

    python -m benchmarks.bags                         everything, adding to the records there are
    python -m benchmarks.bags --only tree,bagged --sets tiger --repeats 2 --first 100
    python -m benchmarks.bags --report                the tables of docs/bags.md, from the records

Repeat r cuts the bags by StratifiedKFold(10, shuffle=True, random_state=r), the same for all
methods; what a method chooses it chooses on nine folds. Methods were developed on repeats from 100
on, records are of repeats from 0 on.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import csv
import lzma
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.tables.suites import data_folder
from dgtrees import DGTBagClassifier
from dgtrees.learn.bag_choice import BagChoice, choose_bag_plan
from dgtrees.tables.bags import Bags

SETS = ("musk1", "musk2", "elephant", "fox", "tiger")
RECORDS = Path(__file__).parent / "results" / "bags.csv"
FIELDS = ("set", "method", "repeat", "accuracy", "auc", "cpu_seconds")

REPEATS = {
    "tree": 10,
    "bagged": 10,
    "mi-SVM": 3,
    "logistic of bag means": 10,
    "logistic of mean, min, max": 3,
    "random forest of mean, min, max": 3,
}
"""Methods, and how many of the ten repeats each is run for: some take minutes a repeat."""

_SVM_ROUNDS = 10

Scores = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, int], np.ndarray]
"""X, ids of bags and labels of bags to learn from, X and ids to judge by, seed: scores of bags."""


def read(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows bag by bag, the bag of every row, and the label of every bag."""
    with lzma.open(data_folder() / "mil" / f"{name}.csv.xz", "rt") as file:
        table = np.loadtxt(file, delimiter=",")
    bags = Bags.of(table[:, 1], len(table))
    rows = bags.order
    number = bags.number[rows]
    return table[rows, 2:], number, table[bags.order[bags.starts], 0].astype(np.int64)


def ours(**options: Any) -> Scores:
    """DGTBagClassifier; what is chosen on the same rows with the same seed is chosen once."""

    def scores(X: Any, ids: Any, y: Any, X_new: Any, ids_new: Any, seed: int) -> np.ndarray:
        with mock.patch("dgtrees.learn.bag_members.choose_bag_plan", _chosen_once):
            clf = DGTBagClassifier(random_state=seed, **options).fit(X, y, bags=ids)
        return clf.decision_function(X_new, bags=ids_new)

    return scores


_CHOSEN: dict[tuple, BagChoice] = {}


def _chosen_once(sides: Any, *given: Any) -> BagChoice:
    key = (sides[False].X.tobytes(), *given)
    if key not in _CHOSEN:
        _CHOSEN.clear()
        _CHOSEN[key] = choose_bag_plan(sides, *given)
    return _CHOSEN[key]


def mi_svm(X: Any, ids: Any, y: Any, X_new: Any, ids_new: Any, seed: int) -> np.ndarray:
    """Rows of positive bags relabelled by a support vector machine until nothing changes.

    Andrews et al. 2002, with a Gaussian kernel of scikit-learn's default width and C = 10.
    """
    scaler = StandardScaler().fit(X)
    rows, bags = scaler.transform(X), Bags.of(ids, len(X))
    positive = y[bags.number] == 1
    label = positive.copy()
    for _ in range(_SVM_ROUNDS):
        svm = SVC(C=10.0).fit(rows, label)
        found = svm.decision_function(rows)
        wanted = positive & (found > 0)
        wanted[bags.decisive(found)[y == 1]] = True
        if (wanted == label).all():
            break
        label = wanted
    found = svm.decision_function(scaler.transform(X_new))
    return Bags.of(ids_new, len(found)).pool(found, "max")


def of_statistics(model: Callable[[int], Any], names: tuple[str, ...]) -> Scores:
    """A classifier of the means, or other statistics, of the columns over the rows of a bag."""

    def table(X: np.ndarray, ids: np.ndarray) -> np.ndarray:
        bags = Bags.of(ids, len(X))
        parts = {
            "mean": np.add.reduceat(X[bags.order], bags.starts) / bags.sizes[:, None],
            "min": np.minimum.reduceat(X[bags.order], bags.starts),
            "max": np.maximum.reduceat(X[bags.order], bags.starts),
        }
        return np.hstack([parts[name] for name in names])

    def scores(X: Any, ids: Any, y: Any, X_new: Any, ids_new: Any, seed: int) -> np.ndarray:
        fitted = model(seed).fit(table(X, ids), y)
        return fitted.predict_proba(table(X_new, ids_new))[:, 1] - 0.5

    return scores


def _logistic(seed: int) -> Any:
    folds = StratifiedKFold(3, shuffle=True, random_state=seed)
    return make_pipeline(
        StandardScaler(), LogisticRegressionCV(Cs=[1e-3, 1e-2, 1e-1, 1.0], cv=folds, max_iter=300)
    )


_ALL = ("mean", "min", "max")
METHODS: dict[str, Scores] = {
    "tree": ours(),
    "bagged": ours(n_estimators=20),
    "mi-SVM": mi_svm,
    "logistic of bag means": of_statistics(_logistic, ("mean",)),
    "logistic of mean, min, max": of_statistics(_logistic, _ALL),
    "random forest of mean, min, max": of_statistics(
        lambda seed: RandomForestClassifier(200, random_state=seed), _ALL
    ),
}


def measure(name: str, methods: list[str], repeat: int) -> Iterator[dict[str, Any]]:
    """A record per method: accuracy and AUC over all bags, each judged by the fold without it."""
    X, ids, y = read(name)
    pooled = {method: np.empty(len(y)) for method in methods}
    ranked = {method: np.empty(len(y)) for method in methods}
    seconds = dict.fromkeys(methods, 0.0)
    folds = StratifiedKFold(10, shuffle=True, random_state=repeat)
    for number, (learn, held) in enumerate(folds.split(y, y)):
        known = np.isin(ids, learn)
        for method in methods:
            began = time.process_time()
            given = X[known], ids[known], y[learn], X[~known], ids[~known]
            scores = METHODS[method](*given, 10 * repeat + number)
            seconds[method] += time.process_time() - began
            pooled[method][held] = scores
            ranked[method][held] = scores
    for method in methods:
        yield {
            "set": name,
            "method": method,
            "repeat": repeat,
            "accuracy": f"{np.mean((pooled[method] > 0) == (y == 1)):.4f}",
            "auc": f"{roc_auc_score(y, ranked[method]):.4f}",
            "cpu_seconds": f"{seconds[method]:.1f}",
        }


def records() -> list[dict[str, str]]:
    """What has been measured."""
    if not RECORDS.exists():
        return []
    with RECORDS.open() as file:
        return list(csv.DictReader(file))


def report() -> None:
    """Print means over repeats, with their deviation, in percent."""
    found = records()
    print("| | " + " | ".join(SETS) + " | repeats |")
    print("|---" * (len(SETS) + 2) + "|")
    for method in METHODS:
        cells, repeats = [], set()
        for name in SETS:
            own = [r for r in found if (r["set"], r["method"]) == (name, method)]
            values = [100 * float(r["accuracy"]) for r in own]
            repeats.add(len(values))
            cells.append(f"{np.mean(values):.1f} ± {np.std(values):.1f}" if values else "")
        told = " to ".join(str(count) for count in sorted({min(repeats), max(repeats)}))
        print(f"| {method} | " + " | ".join(cells) + f" | {told} |")


def main() -> None:
    """Measure what is missing, and add it to the records."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--only", default="", help="names of methods, with commas")
    parser.add_argument("--repeats", type=int, help="of every method, whatever it is run for")
    parser.add_argument("--first", type=int, default=0, help="number of the first repeat")
    parser.add_argument("--report", action="store_true")
    given = parser.parse_args()
    if given.report:
        report()
        return
    names = given.only.split("|") if "|" in given.only else given.only.split(",")
    methods = [method for method in METHODS if given.only == "" or method in names]
    done = {(r["set"], r["method"], int(r["repeat"])) for r in records()}
    for name in given.sets.split(","):
        for repeat in range(given.first, given.first + (given.repeats or max(REPEATS.values()))):
            missing = [
                method
                for method in methods
                if (name, method, repeat) not in done
                and repeat - given.first < (given.repeats or REPEATS[method])
            ]
            for record in measure(name, missing, repeat):
                print(*record.values(), flush=True)
                if repeat < 100:  # those from 100 on are for development
                    _append(record)


def _append(record: dict[str, Any]) -> None:
    new = not RECORDS.exists()
    with RECORDS.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if new:
            writer.writeheader()
        writer.writerow(record)


if __name__ == "__main__":
    main()
