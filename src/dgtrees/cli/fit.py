"""`dgt fit`: a table in, a model file out."""

from __future__ import annotations

import time
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from dgtrees.cli import options as o
from dgtrees.cli.comparison import FEWEST, comparison_text
from dgtrees.cli.file_checks import check_files
from dgtrees.cli.fit_job import fit_shards, fit_stream, fit_whole
from dgtrees.cli.job import Job, boosting_parameters, check_job
from dgtrees.cli.output import report, said, save_model
from dgtrees.errors import Problems

__all__ = ["fit"]


def fit(
    train: Annotated[
        str,
        typer.Argument(
            help="Table to learn from; - reads standard input; a folder holds Parquet files."
        ),
    ],
    target: o.Target = None,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Model file to write; - for standard output.")
    ] = "model.dgt",
    task: o.Task = "auto",
    val: Annotated[
        str | None,
        typer.Option(help="Table to validate with: the epoch that does best on it is kept."),
    ] = None,
    validation_fraction: Annotated[
        float | None, typer.Option(help="Share of the rows to validate with, without --val.")
    ] = None,
    max_depth: o.MaxDepth = None,
    max_leaves: Annotated[
        int | None, typer.Option(help="Most leaves of a tree that chooses its size.")
    ] = None,
    max_columns: Annotated[
        int | None,
        typer.Option(help="Most columns that a node weighs, for rules that are read at a glance."),
    ] = None,
    leaf: o.Leaf = "auto",
    recipe: o.RecipeName = "default",
    n_layers: Annotated[
        int | None, typer.Option(help="Linear layers while training (L in the paper).")
    ] = None,
    max_epochs: Annotated[int | None, typer.Option(help="Passes over the rows.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Rows a step.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Learning rate of nodes.")] = None,
    l1: Annotated[float | None, typer.Option(help="Penalty on absolute weights.")] = None,
    l2: Annotated[float | None, typer.Option(help="Penalty on squared weights.")] = None,
    loss: Annotated[
        str | None, typer.Option(help="Regression loss: squared, absolute or huber.")
    ] = None,
    class_weight: Annotated[
        str | None, typer.Option(help="balanced: classes weigh the same, however rare.")
    ] = None,
    trees: Annotated[
        int | None, typer.Option(help="Train a forest of so many trees, not one tree.")
    ] = None,
    forest: Annotated[
        bool, typer.Option("--forest", help="Train a forest, of 100 trees unless --trees says so.")
    ] = False,
    boost: Annotated[
        bool, typer.Option("--boost", help="Train a boosted sum of small trees, not one tree.")
    ] = False,
    tune: Annotated[
        bool | None,
        typer.Option(
            "--tune/--no-tune",
            help="Of --boost: tune boundaries as well as leaves of all trees together, which takes "
            "2 to 10 times as long; or nothing. If unset, leaves of up to 50,000 rows.",
        ),
    ] = None,
    jobs: o.Jobs = None,
    backend: o.Backend = "loky",
    weight: o.Weight = None,
    drop: o.Drop = None,
    drop_unusable: o.DropUnusable = False,
    strict: o.Strict = False,
    category: o.Category = None,
    number: o.Number = None,
    stream: Annotated[
        bool,
        typer.Option(
            "--stream", help="Learn batch by batch, for files that are larger than memory."
        ),
    ] = False,
    passes: Annotated[int, typer.Option(help="Passes over the file with --stream.")] = 1,
    workers: Annotated[
        int | None,
        typer.Option(help="Processes that share the Parquet files of a folder among them."),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            help="Folder for checkpoints with --workers: a run that was broken off goes on from it."
        ),
    ] = None,
    judge: Annotated[
        bool | None,
        typer.Option(
            "--judge/--no-judge",
            help="Compare with a linear model, CART and a constant, on --val or a held-out fifth "
            "(which takes a second fit). Without being asked for tables of 100 to 50,000 rows.",
        ),
    ] = None,
    seed: o.Seed = 0,
    format: o.Format = None,
    delimiter: o.Delimiter = None,
    header: o.Header = None,
    encoding: o.Encoding = "utf-8",
    decimal: o.Decimal = ".",
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Train a tree, a forest or a boosted sum of trees on a table and save it.

    Numbers and names are told apart column by column, missing values are welcome, and the task is
    found out from the target.
    """
    problems = Problems()
    reading = o.reading_options(format, delimiter, header, encoding, decimal)
    columns = o.column_options(drop, category, number, drop_unusable, strict, problems)
    parameters = {
        "leaf": leaf,
        "recipe": recipe,
        "n_layers": n_layers,
        "max_epochs": max_epochs,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "l1": l1,
        "l2": l2,
        "validation_fraction": validation_fraction,
        "random_state": seed,
        "verbose": int(o.on_terminal() and not quiet and not json and not stream),
    }
    if max_depth is not None:
        parameters["max_depth"] = max_depth
    sharded = workers is not None or checkpoint is not None or Path(train).is_dir()
    forest = forest or trees is not None
    problems.require(
        max_columns is None or not (boost or forest),
        "--max-columns is for one tree: leave it out, or leave out --boost, --forest and --trees",
    )
    problems.require(
        tune is None or boost,
        "--tune and --no-tune are for --boost: leave them out, or add --boost",
    )
    if boost:
        problems.require(not forest, "--boost is no forest: leave out --trees and --forest")
        problems.require(
            not (stream or sharded),
            "--boost needs all rows in memory: leave out --stream and --workers",
        )
        problems.require(backend == "loky", "--backend is for forests: leave it out with --boost")
        parameters = boosting_parameters(parameters, problems)
        parameters |= {"n_jobs": jobs, "tune": "auto" if tune is None else tune}
        if max_leaves is not None:
            parameters["max_leaves"] = max_leaves
    elif forest:
        problems.require(
            not (stream or sharded),
            f"{'--forest' if trees is None else '--trees'} needs all rows in memory: leave out "
            "--stream and --workers",
        )
        problems.require(trees is None or trees >= 1, f"--trees must be at least 1, got {trees}")
        problems.require(
            parameters.pop("validation_fraction") is None,
            "--validation-fraction is for one tree: leave it out, a forest is judged by the "
            "rows its trees have not drawn",
        )
        o.check_backend(backend, problems)
        count = "auto" if trees is None else trees
        parameters |= {"n_estimators": count, "n_jobs": jobs, "oob_score": True}
        parameters["max_leaves"] = max_leaves
    else:
        parameters |= {"max_leaves": max_leaves, "max_columns": max_columns, "n_jobs": jobs}
        problems.require(
            backend == "loky", "--backend is for forests: give --trees, or leave it out"
        )
    own = {"classification": {"class_weight": class_weight}, "regression": {"loss": loss}}
    started = time.perf_counter()
    silent = quiet or json
    kind = "Boosting" if boost else "Forest" if forest else ""
    job = Job(
        train,
        val,
        parameters,
        own,
        target,
        task,
        weight,
        columns,
        reading,
        passes,
        silent,
        kind,
        None if judge is None and not quiet else bool(judge),
    )
    check_files(problems, reads=(train, val), writes=(output,))
    one = not kind  # what --stream and folders need is beside the point of a forest
    check_job(job, stream and one, sharded and one, problems)
    problems.settle()
    if sharded:
        fitted = fit_shards(job, 1 if workers is None else workers, checkpoint)
        if fitted is None:
            return
        model, rows, held_out = fitted
    else:
        with o.cores_of(backend):
            model, rows, held_out = (fit_stream if stream else fit_whole)(job)
    beside = held_out.pop("beside", None)
    seconds = time.perf_counter() - started
    save_model(model, output)
    result = {
        "model": output,
        "task": model._task,
        "rows": rows,
        "features": model.n_features_in_,
        "classes": model._n_classes or None,
        **_size(model),
        **held_out,
        "seconds": round(seconds, 2),
        **({} if beside is None else {"beside": beside}),
    }
    report(result, _summary(result, model), as_json=json, quiet=quiet, clear=output != "-")


def _size(model: Any) -> dict[str, int]:
    if not model.model_.alone:
        forest = model.forest_
        rounds = {"rounds": model.n_iter_} if hasattr(model, "staged_predict") else {}
        return {"trees": len(forest), "leaves": forest.n_leaves, "depth": forest.depth, **rounds}
    return {
        "leaves": model.get_n_leaves(),
        "depth": model.get_depth(),
        "epochs": model.n_iter_,
    }


def _summary(result: dict[str, Any], model: Any) -> str:
    what = f"{result['classes']} classes" if result["classes"] else "regression"
    lines = [
        f"learnt from {result['rows']:,} rows, {result['features']} columns, {what}, in "
        f"{result['seconds']:.1f} s",
        *([f"chosen on {_judges(result)} rows: {result['chosen']}"] if "chosen" in result else []),
        f"{_shape(result, model)}: {result['model']}",
    ]
    names = ("accuracy", "rmse", "log-loss", "r2")
    for where, name in product(("validation", "out of bag", "held-out"), names):
        key = f"{where} {name}".replace(" ", "_").replace("-", "_")
        if key in result:
            lines.insert(-1, f"{where} {name}: {said(result[key])}")
    if "beside" in result:
        lines += comparison_text(result["beside"])
    elif result["rows"] < FEWEST:
        lines.append(f"note: not compared with other models, for less than {FEWEST} rows (--judge)")
    return "\n".join(lines)


def _judges(result: dict[str, Any]) -> str:
    return "out-of-bag" if "trees" in result else "held-out"


def _shape(result: dict[str, Any], model: Any) -> str:
    if "trees" not in result and result["leaves"] == 1:
        from dgtrees.model.summary import one_leaf

        return f"a tree of one leaf, which asks nothing: {one_leaf(model.model_)}"
    sum_of = "a boosted sum" if "rounds" in result else "a forest"
    kind = f"{sum_of} of {result['trees']} trees" if "trees" in result else "a tree"
    return f"{kind} of depth {result['depth']} with {result['leaves']:,} leaves"
