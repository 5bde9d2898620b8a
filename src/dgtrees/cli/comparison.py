"""How good a model is on rows it has not seen, beside models that anybody would try first."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from dgtrees.cli.output import said
from dgtrees.errors import ColumnWarning

__all__ = ["compare", "comparison_text", "is_judged", "judge_held_out", "split_rows"]

FEWEST, MOST = 100, 50_000
"""Rows of tables that are judged without being asked for it."""
_HELD_OUT, _MOST_HELD_OUT = 0.2, 20_000
_RARE = 0.05
_FEW_ROWS = 10
"""Rows per class, below which the target may be no class at all."""
_SCORES = {
    "classification": {"accuracy": "accuracy", "auc": "AUC", "log_loss": "log-loss"},
    "regression": {"rmse": "RMSE", "r2": "R2"},
}


def is_judged(asked: bool | None, rows: int) -> bool:
    """Whether a table of so many rows is judged; `asked` is what the user says, if anything."""
    return FEWEST <= rows <= MOST if asked is None else asked


def judge_held_out(model: Any, table: Any) -> dict[str, Any]:
    """`compare` on a fifth of the rows, with a model like `model` that has not learnt from them."""
    from sklearn.base import clone

    classify = table.task == "classification"
    learnt, held = (
        replace(
            table,
            X=table.X.take(rows),
            y=table.y[rows],
            weight=None if table.weight is None else table.weight[rows],
        )
        for rows in split_rows(table.y, classify, seed=0)
    )
    trial = clone(model).set_params(verbose=0)
    with warnings.catch_warnings():  # the fit to all rows says the same
        warnings.simplefilter("ignore", ColumnWarning)
        trial.fit(learnt.X, learnt.y, sample_weight=learnt.weight)
    return compare(trial, learnt, held, "held-out")


def split_rows(target: np.ndarray, classify: bool, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the rows to learn from and of those held out, classes in proportion."""
    from sklearn.model_selection import train_test_split

    held_out = min(max(int(_HELD_OUT * len(target)), 1), _MOST_HELD_OUT)
    counts = np.unique(target, return_counts=True)[1] if classify else np.array([])
    even = classify and counts.min() >= 2 and len(counts) <= min(held_out, len(target) - held_out)
    learnt, held = train_test_split(
        np.arange(len(target)),
        test_size=held_out,
        stratify=target if even else None,
        random_state=seed,
    )
    return np.sort(learnt), np.sort(held)


def compare(model: Any, table: Any, held: Any, which: str) -> dict[str, Any]:
    """Scores of a fitted model and of simple ones on the rows of `held`, and what is suspicious.

    `table` is what the model has learnt from; `which` is a word for the rows of `held`.
    """
    from dgtrees.cli.predict import as_fitted
    from dgtrees.estimators.judging import judge_classes, judge_values
    from dgtrees.estimators.yardsticks import Yardsticks

    finished = model.model_
    X, X_held = as_fitted(model, table.X), as_fitted(model, held.X)
    rows, rows_held = finished.encode(X), finished.encode(X_held)
    if model._task == "classification":
        names = model.classes_.tolist()
        number = {name: k for k, name in enumerate(names)}
        y, y_held = (
            np.array([number.get(label, -1) for label in part.y.tolist()]) for part in (table, held)
        )
        guess = np.array([number[label] for label in model.predict(X_held).tolist()])
        own = judge_classes(y_held, model.predict_proba(X_held), guess, names)
        share = float(np.mean(y == np.bincount(y).argmin()))
    else:
        names, (y, y_held) = None, (table.y, held.y)
        own = judge_values(y_held, model.predict(X_held))
        share = 1.0
    simple = Yardsticks(rows, y, table.weight, names)
    every = {"this model": own, **simple.scores(rows_held, y_held)}
    shown = _SCORES[model._task]
    result: dict[str, Any] = {
        "which": which,
        "rows": len(held),
        "scores": {name: {key: s[key] for key in shown} for name, s in every.items()},
    }
    given = simple.giveaways(finished.source, rows_held, y_held)
    notes = [
        f"column {finished.names[column]!r} alone predicts the target "
        f"({f'{score:.1%} right' if names else f'R2 {score:.3f}'}): if it is not known before the "
        "target is, leave it out with --drop"
        for column, score in given
    ]
    if names and len(names) == 2 and share < _RARE:
        rare = names[int(np.bincount(y).argmin())]
        notes.append(
            f"only {share:.1%} of rows are {rare!r}: accuracy says little, look at AUC and "
            "log-loss; --class-weight balanced predicts the rare class more often"
        )
    if names and len(y) < _FEW_ROWS * len(names):
        notes.append(
            f"{len(names)} classes in {len(y):,} rows: too few rows per class to learn much; "
            "is the target an identifier, or a number (--task regression)?"
        )
    return {**result, "notes": notes} if notes else result


def comparison_text(found: dict[str, Any]) -> list[str]:
    """Lines of a table, a model a line, and notes."""
    columns = next(names for names in _SCORES.values() if set(names) == set(_first(found)))
    width = max(map(len, found["scores"])) + 2
    learnt = "learning from the others" if found["which"] == "held-out" else "learning"
    lines = [f"on {found['rows']:,} {found['which']} rows, after {learnt}:"]
    lines.append(" " * width + "".join(f"{title:>10}" for title in columns.values()))
    for name, scores in found["scores"].items():
        cells = "".join(f"{_shown(key, scores[key]):>10}" for key in columns)
        lines.append(f"  {name:<{width - 2}}{cells}")
    return [*lines, *(f"note: {note}" for note in found.get("notes", ()))]


def _shown(key: str, score: float | None) -> str:
    """Three decimals; errors, whose size is the target's, in three digits."""
    return said(score, 3) if key == "rmse" or score is None else f"{round(score, 3) + 0.0:.3f}"


def _first(found: dict[str, Any]) -> dict[str, Any]:
    return next(iter(found["scores"].values()))
