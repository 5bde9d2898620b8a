"""`dgt predict`: a model and a table in, predictions out."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
import typer

from dgtrees.cli import options as o
from dgtrees.cli.file_checks import check_files
from dgtrees.cli.output import load_fitted, report, said, writing
from dgtrees.errors import Problems

__all__ = ["as_fitted", "batches_for", "predict"]


def predict(
    model: Annotated[
        str, typer.Argument(help="Model file that dgt fit wrote; - reads standard input.")
    ],
    table: Annotated[str, typer.Argument(help="Table to predict; - reads standard input.")],
    output: Annotated[
        str, typer.Option("--output", "-o", help="CSV file to write; - for standard output.")
    ] = "-",
    proba: Annotated[
        bool, typer.Option("--proba", help="Add the probability of every class.")
    ] = False,
    leaves: Annotated[
        bool, typer.Option("--leaves", help="Add the leaf of every row, in every tree.")
    ] = False,
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", help="Column with the true values, to report a score."),
    ] = None,
    format: o.Format = None,
    delimiter: o.Delimiter = None,
    header: o.Header = None,
    encoding: o.Encoding = "utf-8",
    decimal: o.Decimal = ".",
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Predict every row of a table, in its order.

    The table needs the columns the model was trained on, in any order; others are left alone.
    Files are read and written batch by batch, so they may be larger than memory.
    """
    problems = Problems()
    check_files(problems, reads=(model, table), writes=(output,))
    problems.require(
        not model == table == "-",
        "model and table cannot both come from standard input: give a file",
    )
    problems.settle()
    fitted = load_fitted(model, "predict", "load(file) has predict, or decide")
    classes = getattr(fitted, "classes_", None)
    if proba and classes is None:
        raise ValueError("--proba is for classification, and this model predicts values: drop it")
    reading = o.reading_options(format, delimiter, header, encoding, decimal)
    found = _Score(fitted)
    rows = 0
    with writing(output) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        for part in batches_for(fitted, table, target, reading):
            columns = _answers(fitted, part.X, proba, leaves)
            if not rows:
                writer.writerow(columns)
            writer.writerows(zip(*[c.tolist() for c in columns.values()], strict=True))
            rows += len(part)
            if target is not None:
                found.add(part.y, columns["prediction"])
    result: dict[str, Any] = {"rows": rows, "output": output, **found.result()}
    text = f"predicted {rows:,} rows: {output}"
    for name, value in found.result().items():
        text += f"\n{name}: {said(value)}"
    report(result, text, as_json=json, quiet=quiet, clear=output != "-")


def batches_for(
    fitted: Any, table: str, target: str | None, reading: dict[str, Any]
) -> Iterator[Any]:
    """A table batch by batch, with the columns the model was trained on."""
    from dgtrees.tables.formats import batches
    from dgtrees.tables.table import Columns, typed

    kinds = fitted.column_kinds_
    task = fitted._task
    columns = Columns(target, kinds=kinds, features=list(kinds))
    for batch in batches(table, **reading):
        yield typed(batch, columns, task, getattr(fitted, "classes_", None))


def as_fitted(fitted: Any, X: Any) -> Any:
    """A table as the model had it in fit: without names if that had none."""
    from dgtrees.tables.encoder import columns_of

    if hasattr(fitted, "feature_names_in_"):
        return X
    return np.column_stack([values for _, values in columns_of(X)])


def _answers(fitted: Any, X: Any, proba: bool, leaves: bool) -> dict[str, np.ndarray]:
    X = as_fitted(fitted, X)
    columns = {"prediction": fitted.predict(X)}
    if proba:
        shares = fitted.predict_proba(X)
        columns |= {f"p_{label}": shares[:, k] for k, label in enumerate(fitted.classes_.tolist())}
    if leaves:
        found = fitted.apply(X)
        if found.ndim == 1:
            columns["leaf"] = found
        else:  # a forest's
            columns |= {f"leaf_{tree}": found[:, tree] for tree in range(found.shape[1])}
    return columns


class _Score:
    """Accuracy or RMSE, added up over batches."""

    def __init__(self, fitted: Any) -> None:
        self.classes = fitted._task == "classification"
        self.labels = set(fitted.classes_.astype(str)) if self.classes else set()
        self.total, self.rows = 0.0, 0

    def add(self, truth: np.ndarray, predicted: np.ndarray) -> None:
        if self.classes:
            if not set(truth.astype(str)) & self.labels:
                raise ValueError(
                    f"--target must hold classes the model knows, got {str(truth[0])!r}: they are "
                    f"{', '.join(sorted(self.labels)[:8])}"
                )
            self.total += float((truth.astype(str) == predicted.astype(str)).sum())
        else:
            self.total += float(((truth - predicted) ** 2).sum())
        self.rows += len(truth)

    def result(self) -> dict[str, float]:
        if not self.rows:
            return {}
        mean = self.total / self.rows
        return {"accuracy": mean} if self.classes else {"rmse": mean**0.5}
