"""How a model is judged on a table: the split, what it is given, and what is measured."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from benchmarks.tables.encoding import encode
from benchmarks.tables.models import CONTESTANTS
from benchmarks.tables.suites import MOST_TRAINING_ROWS, Table

TEST_SHARE = 0.25
MOST_TEST_ROWS = 20_000
_LEAST_PROBABILITY = 1e-7


@dataclass(frozen=True)
class Split:
    """Training and test rows of a table; `seed` chooses them."""

    table: Table
    seed: int
    X: pd.DataFrame
    X_test: pd.DataFrame
    y: pd.Series
    y_test: pd.Series

    @classmethod
    def of(cls, table: Table, seed: int) -> Split:
        """Read a table and split it.

        Classes are in equal shares in both parts, unless one occurs once only. Parts that are too
        large are cut: their rows are in random order already.
        """
        X, y = table.read()
        even = table.task == "clf" and y.value_counts().min() > 1
        X, X_test, y, y_test = train_test_split(
            X, y, test_size=TEST_SHARE, random_state=seed, stratify=y if even else None
        )
        train, test = slice(MOST_TRAINING_ROWS), slice(MOST_TEST_ROWS)
        return cls(table, seed, X[train], X_test[test], y[train], y_test[test])

    @cached_property
    def encoded(self) -> tuple[np.ndarray, np.ndarray]:
        """The columns of both parts as numbers, for models of others."""
        return encode(self.X, self.X_test, self.table.dates, self.table.identifiers)

    @cached_property
    def codes(self) -> tuple[np.ndarray, np.ndarray]:
        """Classes as 0, 1, 2, ... for models of others; -1 for one that training rows have not."""
        if self.table.task == "reg":
            return self.y.to_numpy(), self.y_test.to_numpy()
        classes = pd.Index(sorted(self.y.unique()))
        return classes.get_indexer(self.y), classes.get_indexer(self.y_test)


def measure(split: Split, name: str) -> dict[str, Any]:
    """Fit a model to the training rows and judge it by the test rows.

    Parameters
    ----------
    split : Split
    name : str
        One of `models.CONTESTANTS`.

    Returns
    -------
    dict
        score, log_loss, auc and cpu_seconds of a `Record`. The seconds are those of `fit` alone:
        the encoding is a part of it for our models and not for others.
    """
    contestant = CONTESTANTS[name]
    if contestant.ours:
        X, X_test, y, y_test = split.X, split.X_test, split.y, split.y_test.to_numpy()
    else:
        (X, X_test), (y, y_test) = split.encoded, split.codes
    model = contestant.make(split.table.task, split.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of models that others maintain
        start = time.process_time()
        model.fit(X, y)
        seconds = time.process_time() - start
        found = _judge(model, X_test, y_test, split.table.task)
    if not np.isfinite(found["score"]):
        raise ValueError(f"score must be finite, got {found['score']}")
    return {**found, "cpu_seconds": seconds}


def _judge(model: Any, X: Any, y: np.ndarray, task: str) -> dict[str, float | None]:
    answer = np.asarray(model.predict(X)).reshape(len(y))  # CatBoost's classes are a column
    if task == "reg":
        error = float(np.sqrt(np.mean((answer - y) ** 2)) / np.std(y))
        return {"score": error, "log_loss": None, "auc": None}
    chances = np.asarray(model.predict_proba(X), dtype=float)
    place = pd.Index(model.classes_).get_indexer(y)
    known = np.flatnonzero(place >= 0)  # a class that training rows have not costs accuracy only
    of_truth = np.clip(chances[known, place[known]], _LEAST_PROBABILITY, 1.0)
    two = chances.shape[1] == 2 and len(np.unique(place[known])) == 2
    return {
        "score": float(np.mean(answer == y)),
        "log_loss": float(-np.mean(np.log(of_truth))),
        "auc": float(roc_auc_score(place[known], chances[known, 1])) if two else None,
    }
