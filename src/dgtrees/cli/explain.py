"""`dgt explain`: why one row of a table gets its prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from dgtrees.cli import options as o
from dgtrees.cli.file_checks import check_files
from dgtrees.cli.output import load_fitted
from dgtrees.cli.predict import as_fitted, batches_for
from dgtrees.cli.terminal import json_text, say
from dgtrees.errors import Problems

if TYPE_CHECKING:
    from dgtrees.model.model import Model

__all__ = ["explain"]


def explain(
    model: Annotated[
        str, typer.Argument(help="Model file that dgt fit wrote; - reads standard input.")
    ],
    table: Annotated[str, typer.Argument(help="Table with the row; - reads standard input.")],
    row: Annotated[
        int, typer.Option(help="Which row, counted from 0; the first if not given.")
    ] = 0,
    features: Annotated[int, typer.Option(help="Columns to name of every decision.")] = 3,
    background: Annotated[
        str | None,
        typer.Option(help="Table to compare the row with, such as the training rows."),
    ] = None,
    format: o.Format = None,
    delimiter: o.Delimiter = None,
    header: o.Header = None,
    encoding: o.Encoding = "utf-8",
    decimal: o.Decimal = ".",
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Say why a row of a table gets its prediction.

    Prints the decisions on its path, how near each was, and the columns that made it; then what
    every column added to the prediction. Of a forest, which has many paths, it prints the last.
    """
    from dgtrees.model.explanation import explain as explain_row
    from dgtrees.model.model import model_of

    problems = Problems()
    check_files(problems, reads=(model, table, background))
    problems.require(row >= 0, f"--row must be at least 0, got {row}")
    problems.require(features >= 1, f"--features must be at least 1, got {features}")
    problems.require(
        not model == table == "-",
        "model and table cannot both come from standard input: give a file",
    )
    problems.settle()
    instead = "explain(model, x, background=X) looks at any model"
    fitted = load_fitted(model, "explain", instead)
    finished = model_of(fitted)
    reading = o.reading_options(format, delimiter, header, encoding, decimal)
    one = _row(fitted, table, row, reading)
    others = None if background is None else _all_rows(fitted, background, reading)
    trees = len(finished.forest)
    if trees > 1:
        prediction = finished.predict(one).tolist()[0]
        result = {"prediction": prediction, "n_trees": trees}
        text = f"prediction: {_said(prediction)}\nmean of {trees} trees"
    else:
        found = explain_row(finished, one, background=others)
        result, text = found.to_dict(), found.text(features)
    shares = _contributions(finished, one, others)
    if json:
        say(json_text(result | {"contributions": shares}))
    elif not quiet:
        say(text)
        if shares is not None:
            say(_sum(shares, features))


def _said(prediction: Any) -> str:
    values = prediction if isinstance(prediction, list) else [prediction]
    return ", ".join(f"{v:.6g}" if isinstance(v, float) else str(v) for v in values)


def _row(fitted: Any, table: str, row: int, reading: dict[str, Any]) -> Any:
    """One row as a table of its own."""
    seen = 0
    for part in batches_for(fitted, table, None, reading):
        if row < seen + len(part):
            return as_fitted(fitted, part.X.slice(row - seen, 1))
        seen += len(part)
    raise ValueError(f"--row must be below the {seen:,} rows of {table}, got {row}: count from 0")


def _all_rows(fitted: Any, table: str, reading: dict[str, Any]) -> Any:
    import pyarrow

    parts = batches_for(fitted, table, None, reading)
    return as_fitted(fitted, pyarrow.concat_tables(part.X for part in parts))


def _contributions(model: Model, one: Any, background: Any) -> dict[str, Any] | None:
    """What each column added to the prediction; None where the model cannot know."""
    from dgtrees.model.contributions import contributions

    if model.answer.numbered:  # the number of a cluster is no sum of columns
        return None
    if model.facts.leaf_rows is None and background is None:  # learnt by batches: nobody counted
        return None
    found = contributions(model, one, background=background)
    values, base, of = found.values[0], found.base_values[0], found.output
    if values.ndim == 2 and found.output_names is not None:
        likely = int(found.predictions[0].argmax())
        values, base, of = values[:, likely], base[likely], f"{of} of {found.output_names[likely]}"
    total = base + values.sum(axis=0)
    columns = dict(zip(found.feature_names, values.tolist(), strict=True))
    return {
        "of": of,
        "base": np.asarray(base).tolist(),
        "columns": columns,
        "sum": np.asarray(total).tolist(),
    }


def _sum(shares: dict[str, Any], features: int) -> str:
    """Base, contributions and their sum, for people."""
    columns = {name: np.atleast_1d(value) for name, value in shares["columns"].items()}
    order = sorted(columns, key=lambda name: -np.abs(columns[name]).max())

    def said(value: Any, sign: str = "") -> str:
        return ", ".join(f"{number:{sign}.3g}" for number in np.atleast_1d(value))

    lines = [f"{shares['of']}: {said(shares['base'])} on average, {said(shares['sum'])} here"]
    added = {name: columns[name] for name in order[:features]}
    if rest := order[features:]:
        added[f"({len(rest)} more)"] = np.sum([columns[name] for name in rest], axis=0)
    width = max(len(name) for name in added)
    lines += [f"    {name:<{width}}  {said(value, '+')}" for name, value in added.items()]
    return "\n".join(lines)
