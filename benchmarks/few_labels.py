"""Few labels: one tree from labelled and unlabelled rows, beside other methods.

    python -m benchmarks.few_labels ssl --labels 100 [--sets digit1,coil] [--splits 12]
    python -m benchmarks.few_labels mnist | compactiv [--seeds 3]
    python -m benchmarks.few_labels summary

One line per data set, split and method is added to results/few_labels.csv, and what is there is
not run again; "summary" prints means and deviations. `error` is a share of rows, or RMSE: of the
unlabelled rows for ssl_book (which all methods have seen without their labels), of the test rows
for MNIST and Comp-Activ. `transduced` is the error of the targets that the tree has learnt, on
unlabelled rows.

ssl_book: the sets of Chapelle, Schoelkopf and Zien (2006) with their 12 published splits of 10 and
of 100 labelled rows. Everything is chosen on the labels of a split.
"""

from __future__ import annotations

import argparse
import csv
import io
import lzma
import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import loadmat
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.tree import DecisionTreeClassifier

from dgtrees import (
    DGTClassifier,
    DGTRegressor,
    DGTSelfTrainingClassifier,
    DGTSelfTrainingRegressor,
)
from dgtrees.paper import catalog

RESULTS = Path(__file__).parent / "results" / "few_labels.csv"
FIELDS = ("data", "labels", "split", "method", "error", "transduced", "cpu_seconds")
SETS = {"digit1": 1, "usps": 2, "bci": 4, "g241c": 5, "coil": 6, "g241n": 7}
TUNED_NEIGHBOURS = (3, 7, 15, 30)
SHARE_OF_LABELS = 0.03
PER_DIGIT = 60

Row = dict[str, Any]


def read_set(name: str, labels: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, class numbers, and the labelled rows of every split, (splits, labels)."""
    folder = Path(os.environ["DGTREES_DATA"]) / "ssl_book"

    def read(stem: str) -> dict[str, np.ndarray]:
        return loadmat(io.BytesIO(lzma.decompress((folder / f"{stem}.mat.xz").read_bytes())))

    number = SETS[name]
    data, splits = read(f"data{number}"), read(f"splits{number}-labeled{labels}")
    y = np.unique(data["y"].ravel(), return_inverse=True)[1]
    return np.ascontiguousarray(data["X"], dtype=float), y, splits["idxLabs"].astype(int) - 1


def self_trained(base: Any) -> Callable[..., np.ndarray]:
    """scikit-learn's self-training around a classifier, at its defaults."""

    def fit(X: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
        return SelfTrainingClassifier(base(seed)).fit(X, y).predict(X)

    return fit


def spread(X: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    """Label spreading over nearest neighbours, at its defaults."""
    return LabelSpreading(kernel="knn").fit(X, y).transduction_


def spread_tuned(X: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    """The same, with the number of neighbours that is best for five folds of the labels."""
    known = np.flatnonzero(y >= 0)
    few = int(np.bincount(y[known])[np.unique(y[known])].min())
    folds = StratifiedKFold(max(2, min(5, few)), shuffle=True, random_state=seed)

    def right(k: int) -> int:
        total = 0
        for _, out in folds.split(known, y[known]):
            hidden = y.copy()
            hidden[known[out]] = -1
            model = LabelSpreading(kernel="knn", n_neighbors=k).fit(X, hidden)
            total += int((model.transduction_[known[out]] == y[known[out]]).sum())
        return total

    best = max(TUNED_NEIGHBOURS, key=right)
    return LabelSpreading(kernel="knn", n_neighbors=best).fit(X, y).transduction_


OTHERS: dict[str, Callable[..., np.ndarray]] = {
    "self-training, CART": self_trained(lambda seed: DecisionTreeClassifier(random_state=seed)),
    "self-training, logistic": self_trained(
        lambda seed: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    ),
    "label spreading": spread,
    "label spreading, tuned": spread_tuned,
}
DEAR: dict[str, Callable[..., np.ndarray]] = {
    "self-training, DGT": self_trained(lambda seed: DGTClassifier(random_state=seed)),
}
"""Only with --dear: every round fits a tree whose plan is chosen anew."""


def ssl_rows(sets: list[str], labels: int, splits: int, dear: bool, done: set) -> Iterator[Row]:
    """Errors on the unlabelled rows of ssl_book, split by split."""
    for split in range(splits):
        for name in sets:
            X, truth, parts = read_set(name, labels)
            y = np.full(len(truth), -1)
            y[parts[split]] = truth[parts[split]]
            hidden = y < 0
            key = name, str(labels), str(split)

            def error(said: np.ndarray, hidden=hidden, truth=truth) -> float:
                return float((said[hidden] != truth[hidden]).mean())

            told = dict(zip(("data", "labels", "split"), key, strict=True))
            if (*key, "self-training tree") not in done:
                began = time.process_time()
                ours = DGTSelfTrainingClassifier(random_state=split).fit(X, y)
                spent = time.process_time() - began
                assert ours.supervised_ is not None
                soft = error(ours.transduction_.argmax(axis=1))
                yield told | row("self-training tree", error(ours.predict(X)), spent, soft)
                yield told | row("supervised tree", error(ours.supervised_.predict(X)), 0.0)
            for method, fit in (DEAR if dear else OTHERS).items():
                if (*key, method) not in done:
                    began = time.process_time()
                    said = fit(X, y, split)
                    yield told | row(method, error(said), time.process_time() - began)


def row(method: str, error: float, spent: float, transduced: float | None = None) -> Row:
    """The fields that differ between methods."""
    soft = "" if transduced is None else round(transduced, 5)
    found = {"method": method, "error": round(error, 5), "transduced": soft}
    return found | {"cpu_seconds": round(spent, 2)}


def mnist_rows(seeds: int, done: set) -> Iterator[Row]:
    """48,000 rows with 60 labels per digit, errors on the 10,000 test rows; height 8."""
    data = catalog.load("mnist")
    X, truth = data.X_train.astype(np.float32), data.y_train.astype(int)
    test, answers = data.X_test.astype(np.float32), data.y_test.astype(int)
    for seed in range(seeds):
        told = {"data": "mnist", "labels": str(10 * PER_DIGIT), "split": str(seed)}
        if (*told.values(), "supervised tree") in done:
            continue
        random = np.random.RandomState(seed)
        own = [random.permutation(np.flatnonzero(truth == digit)) for digit in range(10)]
        some = np.concatenate([rows[:PER_DIGIT] for rows in own])
        y = np.full(len(truth), -1)
        y[some] = truth[some]
        began = time.process_time()
        ours = DGTSelfTrainingClassifier(max_depth=8, random_state=seed).fit(X, y)
        spent = time.process_time() - began
        hidden = y < 0
        soft = (ours.transduction_.argmax(axis=1) != truth)[hidden].mean()
        error = float((ours.predict(test) != answers).mean())
        yield told | row("self-training tree", error, spent, float(soft))
        alone = DGTClassifier(random_state=seed).fit(X[some], truth[some])
        yield told | row("supervised tree", float((alone.predict(test) != answers).mean()), 0.0)


def compactiv_rows(seeds: int, done: set) -> Iterator[Row]:
    """Training and validation rows of every shuffle, 3 % with their target; RMSE on test rows."""
    for seed in range(seeds):
        data = catalog.load("compactiv", seed)
        X = np.vstack([data.X_train, data.X_val])
        truth = np.concatenate([data.y_train.ravel(), data.y_val.ravel()]).astype(float)
        some = np.random.RandomState(seed).permutation(len(X))[: round(SHARE_OF_LABELS * len(X))]
        told = {"data": "compactiv", "labels": str(len(some)), "split": str(seed)}
        if (*told.values(), "supervised tree") in done:
            continue
        y = np.full(len(X), np.nan)
        y[some] = truth[some]

        def rmse(said: np.ndarray, wanted: np.ndarray) -> float:
            return float(np.sqrt(np.mean(np.square(said - wanted))))

        began = time.process_time()
        ours = DGTSelfTrainingRegressor(random_state=seed).fit(X, y)
        spent = time.process_time() - began
        soft = rmse(ours.transduction_[np.isnan(y)], truth[np.isnan(y)])
        answers = data.y_test.ravel().astype(float)
        yield told | row(
            "self-training tree", rmse(ours.predict(data.X_test), answers), spent, soft
        )
        alone = DGTRegressor(random_state=seed).fit(X[some], truth[some])
        yield told | row("supervised tree", rmse(alone.predict(data.X_test), answers), 0.0)


def read_results(path: Path = RESULTS) -> list[Row]:
    """What has been run so far."""
    if not path.exists():
        return []
    with path.open(newline="") as lines:
        return list(csv.DictReader(lines))


def add(path: Path, found: Row) -> None:
    """Write one line, so that a run that is stopped goes on from there."""
    new = not path.exists()
    with path.open("a", newline="") as lines:
        writer = csv.DictWriter(lines, FIELDS)
        if new:
            writer.writeheader()
        writer.writerow(found)


def summary(rows: list[Row]) -> Iterator[str]:
    """Mean and deviation over splits, and how many there are, a line per data set and method."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for one in rows:
        groups.setdefault((one["data"], one["labels"], one["method"]), []).append(one)
    for key, found in sorted(groups.items()):
        errors = np.array([float(one["error"]) for one in found])
        soft = [float(one["transduced"]) for one in found if one["transduced"]]
        spread = errors.std(ddof=1) if len(errors) > 1 else np.nan
        told = f"{errors.mean():.4f} +- {spread:.4f}, {len(errors)} splits"
        yield ", ".join((*key, told, *([f"targets {np.mean(soft):.4f}"] if soft else [])))


def main() -> None:
    """Run what is not in the results yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=("ssl", "mnist", "compactiv", "summary"))
    parser.add_argument("--labels", type=int, default=100, choices=(10, 100))
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--splits", type=int, default=12)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--dear", action="store_true")
    told = parser.parse_args()
    warnings.filterwarnings("ignore", module="sklearn")
    done = {(r["data"], r["labels"], r["split"], r["method"]) for r in read_results()}
    if told.what == "summary":
        print(*summary(read_results()), sep="\n")
        return
    if told.what == "ssl":
        found = ssl_rows(told.sets.split(","), told.labels, told.splits, told.dear, done)
    else:
        found = {"mnist": mnist_rows, "compactiv": compactiv_rows}[told.what](told.seeds, done)
    for one in found:
        add(RESULTS, one)
        print(*one.values(), flush=True)


if __name__ == "__main__":
    main()
