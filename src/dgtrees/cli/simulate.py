"""`dgt simulate`: a labelled table as a stream of queries, answered by a loss only."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from dgtrees.cli import options as o
from dgtrees.cli.file_checks import check_files
from dgtrees.cli.labelled import read_labelled, read_validation
from dgtrees.cli.output import report, save_model, save_picture
from dgtrees.errors import Problems

__all__ = ["simulate"]

_BASELINES = ("linear", "vw")


def simulate(
    train: Annotated[str, typer.Argument(help="Labelled table; - reads standard input.")],
    target: o.Target = None,
    queries: Annotated[
        int | None, typer.Option(help="Queries to answer; as many as there are rows if not given.")
    ] = None,
    test: Annotated[
        str | None, typer.Option(help="Table to measure on, which no policy learns from.")
    ] = None,
    test_fraction: Annotated[
        float, typer.Option(help="Share of the rows to measure on, without --test.")
    ] = 0.2,
    against: Annotated[
        str | None,
        typer.Option(help="Baselines to compare with, such as vw,linear (VW needs dgtrees[vw])."),
    ] = None,
    max_depth: o.MaxDepth = None,
    leaf: Annotated[
        str | None,
        typer.Option(
            help="For a tree alone, what a leaf holds: constant, or linear in the features "
            "(default for values, but with the paper's recipe)."
        ),
    ] = None,
    recipe: o.RecipeName = "default",
    feedback: Annotated[
        str | None,
        typer.Option(
            help="For values: one-point or two-point (default), the actions tried a query."
        ),
    ] = None,
    png: Annotated[
        str | None, typer.Option(help="Draw the curves into this picture (.png, .svg or .pdf).")
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Save the policy here, to go on later.")
    ] = None,
    task: o.Task = "auto",
    drop: o.Drop = None,
    drop_unusable: o.DropUnusable = False,
    strict: o.Strict = False,
    category: o.Category = None,
    number: o.Number = None,
    seed: o.Seed = 0,
    format: o.Format = None,
    delimiter: o.Delimiter = None,
    header: o.Header = None,
    encoding: o.Encoding = "utf-8",
    decimal: o.Decimal = ".",
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Let a policy answer the rows of a table and tell it nothing but the loss of its answers.

    Classes become actions with loss 0 if right and 1 if wrong; values are guessed with squared
    error as the loss. Each answer is given once; rows come again where there are more queries
    than rows. Shown are the share of right answers (or the mean loss) on rows held out, and in
    brackets that of all answers so far.
    """
    problems = Problems()
    check_files(problems, reads=(train, test), writes=(output,), pictures=(png,))
    baselines = _baselines(against, problems)
    problems.require(
        0 < test_fraction < 1, f"--test-fraction must be between 0 and 1, got {test_fraction}"
    )
    reading = o.reading_options(format, delimiter, header, encoding, decimal)
    columns = o.column_options(drop, category, number, drop_unusable, strict, problems)
    problems.settle()
    table = read_labelled(train, target, task=task, **columns, **reading)
    held = None if test is None else read_validation(test, table, None, reading)
    X, y, X_test, y_test, encoder = _parts(table, held, test_fraction, seed)
    given = {"max_depth": max_depth, "leaf": leaf}
    common = {name: value for name, value in given.items() if value is not None}
    common |= {"recipe": recipe, "encoder": encoder, "random_state": seed}
    policies = _policies(table, y, common, feedback, baselines)

    from dgtrees.bandit import simulate as run
    from dgtrees.tables.encoder import columns_of

    curves = {}
    show = o.on_terminal() and not (quiet or json)
    encoded, encoded_test = encoder.expand(columns_of(X)), encoder.expand(columns_of(X_test))
    views = {
        "dgt": (X, X_test),
        "linear": (encoded, encoded_test),
        # Vowpal Wabbit learns far better from features of one scale.
        "vw": _standardised(encoded, encoded_test),
    }
    for name, policy in policies.items():
        curves[name] = run(
            policy,
            views[name][0],
            y,
            X_test=views[name][1],
            y_test=y_test,
            queries=queries,
            random_state=seed,
            progress=show,
        )
    if png is not None:
        _draw(curves, png)
    if output is not None:
        save_model(policies["dgt"], output)
    classes = table.task == "classification"
    result = {
        "task": table.task,
        "actions": np.unique(y).tolist() if classes else None,
        "queries": next(iter(curves.values())).queries,
        "curves": {
            name: {"held_out": curve.held_out, "progressive": curve.progressive}
            for name, curve in curves.items()
        },
    }
    report(result, _text(curves), as_json=json, quiet=quiet, clear=output != "-")


def _baselines(against: str | None, problems: Problems) -> list[str]:
    names = [name.strip() for name in (against or "").split(",") if name.strip()]
    for name in names:
        problems.require(
            name in _BASELINES, f"--against must name some of {', '.join(_BASELINES)}, got {name!r}"
        )
    return names


def _parts(table: Any, held: Any, fraction: float, seed: int) -> tuple[Any, ...]:
    """Rows to learn from and to measure on, as read, and an encoder of the first."""
    from dgtrees.tables.encoder import Encoder, columns_of

    X, y = table.X, table.y
    if held is not None:
        return X, y, held.X, held.y, Encoder().fit(columns_of(X))
    order = np.random.default_rng(seed).permutation(len(y))
    count = max(1, round(fraction * len(y)))
    if count >= len(y):
        raise ValueError(f"{table.source}: {len(y)} rows are too few to hold some out: give more")
    test, train = np.split(order, [count])
    encoder = Encoder().fit(columns_of(X.take(train)))
    return X.take(train), y[train], X.take(test), y[test], encoder


def _standardised(*parts: np.ndarray) -> list[np.ndarray]:
    """Rows by mean and deviation of the first part, at most 5 deviations away."""
    scale = parts[0].std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    return [np.clip((part - parts[0].mean(axis=0)) / scale, -5.0, 5.0) for part in parts]


def _policies(
    table: Any, y: np.ndarray, common: dict[str, Any], feedback: str | None, baselines: list[str]
) -> dict[str, Any]:
    """The tree, and its baselines, by name."""
    from dgtrees import DGTBandit, DGTContinuousBandit

    values, seed = np.unique(y), common["random_state"]
    if len(values) < 2:
        raise ValueError(
            f"{table.source}: the target {table.target!r} must have at least 2 different values "
            f"among the rows to learn from, got {len(values)}: choose another"
        )
    if table.task == "classification":
        if feedback is not None:
            raise ValueError("--feedback is for values, and this target has classes: leave it out")
        from dgtrees.paper.baselines import EpsilonGreedyLinear, VWBandit

        found: dict[str, Any] = {"dgt": DGTBandit(len(values), **common)}
        makers: dict[str, Any] = {"linear": EpsilonGreedyLinear, "vw": VWBandit}
        return found | {name: makers[name](len(values), random_state=seed) for name in baselines}
    if "vw" in baselines:
        raise ValueError("--against vw is for classes, and this target is a value: leave it out")
    bounds: dict[str, Any] = {"low": float(values[0]), "high": float(values[-1])}
    bounds_and_way = {**bounds, "feedback": feedback or "two-point"}
    found = {"dgt": DGTContinuousBandit(**bounds_and_way, **common)}
    if "linear" in baselines:
        from dgtrees.paper.baselines import LinearContinuousBandit

        found["linear"] = LinearContinuousBandit(**bounds_and_way, random_state=seed)
    return found


def _text(curves: dict[str, Any]) -> str:
    """A line a checkpoint: the greedy policy on new rows, and in brackets while learning."""
    first = next(iter(curves.values()))
    what = "share of right answers" if first.accuracy else "mean squared error"
    lines = [f"{what} on rows held out (while learning), after so many queries", ""]
    lines.append(f"{'queries':>9}" + "".join(f"{name:>20}" for name in curves))
    for i, count in enumerate(first.queries):
        cells = [f"{c.held_out[i]:.4g} ({c.progressive[i]:.4g})" for c in curves.values()]
        lines.append(f"{count:>9,}" + "".join(f"{cell:>20}" for cell in cells))
    return "\n".join(lines)


def _draw(curves: dict[str, Any], path: str) -> None:
    axes = None
    for name, curve in curves.items():
        axes = curve.plot(axes, label=name)
    if axes is not None:
        save_picture(axes.figure, path, dpi=130)
