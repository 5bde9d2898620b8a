"""`dgt evaluate`: a model and a table with the truth in, scores out."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from dgtrees.cli import options as o
from dgtrees.cli.file_checks import check_files
from dgtrees.cli.output import load_fitted, report, said
from dgtrees.cli.predict import as_fitted, batches_for
from dgtrees.errors import DataError, Problems

__all__ = ["evaluate"]

_MOST_CLASSES = 12
"""Classes of a confusion matrix that a terminal still shows."""


def evaluate(
    model: Annotated[
        str, typer.Argument(help="Model file that dgt fit wrote; - reads standard input.")
    ],
    table: Annotated[
        str, typer.Argument(help="Table with the true values; - reads standard input.")
    ],
    target: Annotated[str, typer.Option("--target", "-t", help="Column with the true values.")],
    format: o.Format = None,
    delimiter: o.Delimiter = None,
    header: o.Header = None,
    encoding: o.Encoding = "utf-8",
    decimal: o.Decimal = ".",
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Score a model on rows it has not seen.

    Classes: accuracy, AUC, log-loss, calibration and the confusion matrix. Numbers: RMSE, mean
    absolute error, R2. Each stands beside what knowing nothing would give. The table is read batch
    by batch, so it may be larger than memory.
    """
    problems = Problems()
    check_files(problems, reads=(model, table))
    problems.require(
        not model == table == "-",
        "model and table cannot both come from standard input: give a file",
    )
    problems.settle()
    fitted = load_fitted(model, "evaluate", "load(file) has score, or evaluate takes a log")
    reading = o.reading_options(format, delimiter, header, encoding, decimal)
    classes = fitted._task == "classification"
    result = (_judge_classes if classes else _judge_values)(fitted, table, target, reading)
    text = _class_text(result) if classes else _value_text(result)
    report({"model": model, "table": table, **result}, text, as_json=json, quiet=quiet, clear=True)


def _judge_values(fitted: Any, table: str, target: str, reading: dict[str, Any]) -> dict[str, Any]:
    from dgtrees.estimators.judging import judge_values

    truth, predicted = [], []
    for part in batches_for(fitted, table, target, reading):
        truth.append(np.asarray(part.y, dtype=np.float64))
        predicted.append(fitted.predict(as_fitted(fitted, part.X)))
    if not truth or not sum(map(len, truth)):
        raise DataError(f"{table}: must have rows to evaluate, got none")
    return judge_values(np.concatenate(truth), np.concatenate(predicted))


def _judge_classes(fitted: Any, table: str, target: str, reading: dict[str, Any]) -> dict[str, Any]:
    from dgtrees.estimators.judging import judge_classes

    names = fitted.classes_.tolist()
    number = {str(name): k for k, name in enumerate(names)}
    truth, shares, predicted = [], [], []
    unknown: str | None = None
    for part in batches_for(fitted, table, target, reading):
        labels = part.y.astype(str)
        numbers = np.array([number.get(label, -1) for label in labels], dtype=np.int64)
        if unknown is None and (numbers < 0).any():
            unknown = str(labels[numbers < 0][0])
        X = as_fitted(fitted, part.X)
        truth.append(numbers)
        shares.append(fitted.predict_proba(X))
        predicted.append(np.array([number[str(label)] for label in fitted.predict(X).tolist()]))
    if not truth or not sum(map(len, truth)):
        raise DataError(f"{table}: must have rows to evaluate, got none")
    all_truth = np.concatenate(truth)
    if (all_truth < 0).all():
        raise ValueError(
            f"--target must hold classes the model knows, got {unknown!r}: they are "
            f"{', '.join(list(number)[:8])}"
        )
    return judge_classes(all_truth, np.concatenate(shares), np.concatenate(predicted), names)


def _value_text(result: dict[str, Any]) -> str:
    lines = [
        ("rows", f"{result['rows']:,}", ""),
        ("RMSE", said(result["rmse"]), f"predicting their mean: {said(result['mean_rmse'])}"),
        ("mean absolute error", said(result["mae"]), ""),
        ("R2", said(result["r2"]), ""),
        ("mean error", said(result["bias"]), "above 0: predictions are too high"),
    ]
    return _table(lines)


def _class_text(result: dict[str, Any]) -> str:
    shares = said(result["shares_log_loss"])
    majority = f"always {result['majority_class']}: {said(result['majority_accuracy'])}"
    lines = [
        ("rows", f"{result['rows']:,}", ""),
        ("accuracy", said(result["accuracy"]), majority),
        ("balanced accuracy", said(result["balanced_accuracy"]), "mean over classes"),
        ("AUC", said(result["auc"]), "0.5: no better than chance"),
        ("log-loss", said(result["log_loss"]), f"predicting class shares: {shares}"),
        ("calibration gap", said(result["calibration_gap"]), "predicted against observed"),
    ]
    if result["unknown_rows"]:
        note = "classes the model does not know: counted as wrong"
        lines.insert(1, ("of them", f"{result['unknown_rows']:,}", note))
    return _table(lines) + _confusion_text(result["classes"], result["confusion"])


def _table(lines: list[tuple[str, str, str]]) -> str:
    widths = [max(len(line[i]) for line in lines) for i in range(2)]
    return "\n".join(
        f"{name:<{widths[0]}}  {value:>{widths[1]}}" + (f"  ({note})" if note else "")
        for name, value, note in lines
    )


def _confusion_text(classes: list[Any], confusion: list[list[int]]) -> str:
    if len(classes) > _MOST_CLASSES:
        return f"\nconfusion of {len(classes)} classes: --json has it"
    names = [str(name)[:12] for name in classes]
    left = max(map(len, names))
    cells = [[f"{count:,}" for count in row] for row in confusion]
    wide = [max(len(name), *(len(row[k]) for row in cells)) for k, name in enumerate(names)]
    head = " " * left + "".join(f"  {name:>{w}}" for name, w in zip(names, wide, strict=True))
    lines = ["", "confusion: a row per true class, a column per prediction", head]
    for name, row in zip(names, cells, strict=True):
        shown = "".join(f"  {cell:>{w}}" for cell, w in zip(row, wide, strict=True))
        lines.append(f"{name:<{left}}{shown}")
    return "\n".join(lines)
