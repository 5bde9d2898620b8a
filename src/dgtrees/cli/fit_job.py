"""Carrying out a `Job`: the fitted model, how many rows it has learnt from, and its scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgtrees.cli import options as o
from dgtrees.cli.comparison import compare, is_judged, judge_held_out
from dgtrees.cli.job import Job, new_estimator
from dgtrees.cli.labelled import read_labelled, read_validation, score
from dgtrees.errors import DataError

__all__ = ["fit_shards", "fit_stream", "fit_whole"]

_ENOUGH_ROWS = 20
"""Of a table whose classes should repeat."""


def fit_whole(job: Job) -> tuple[Any, int, dict[str, Any]]:
    """Learn from a table in memory."""
    table = read_labelled(
        job.train, job.target, task=job.task, weight=job.weight, **job.columns, **job.reading
    )
    _check_target(table)
    model = new_estimator(table.task, job.parameters, job.own, job.kind)
    rows, judged = len(table), is_judged(job.judge, len(table))
    if job.val is None:
        beside = {"beside": judge_held_out(model, table)} if judged else {}
        model.fit(table.X, table.y, sample_weight=table.weight)
        return model, rows, _own_validation(model, table) | beside
    held = read_validation(job.val, table, job.weight, job.reading)
    model.fit(
        table.X,
        table.y,
        sample_weight=table.weight,
        X_val=held.X,
        y_val=held.y,
        sample_weight_val=held.weight,
    )
    scores = score(model, held.X, held.y, held.weight)
    beside = {"beside": compare(model, table, held, "validation")} if judged else {}
    return model, rows, {f"validation_{name}": value for name, value in scores.items()} | beside


def _check_target(table: Any) -> None:
    """Refuse numbers that are all the same, and classes that hardly repeat.

    A single class is refused by the estimators.
    """
    place, rows = f"{table.source}, column {table.target!r}", len(table)
    if table.task == "regression" and rows > 1 and (table.y == table.y[0]).all():
        raise DataError(
            f"{place}: the target must differ between rows, got {table.y[0]:g} in all of them: "
            "check --target"
        )
    names = len(np.unique(table.y)) if table.task == "classification" else 0
    if rows >= _ENOUGH_ROWS and 2 * names > rows:
        raise DataError(
            f"{place}: classes must repeat, got {names:,} different ones in {rows:,} rows: check "
            "--target, or take numbers as numbers with --task regression"
        )


def _own_validation(model: Any, table: Any) -> dict[str, Any]:
    """The score on rows that the estimator itself held out, in the target's units."""
    if hasattr(model, "staged_predict"):
        return _held_out(model)
    if not model.model_.alone:
        chosen = {"chosen": str(model.chosen_.plan)} if hasattr(model, "chosen_") else {}
        if model._task == "classification":
            return {**chosen, "out_of_bag_accuracy": model.oob_score_}
        error = model.oob_prediction_ - table.y
        known = ~np.isnan(error)
        weight = None if table.weight is None else table.weight[known]
        rmse = float(np.sqrt(np.average(error[known] ** 2, weights=weight)))
        return {**chosen, "out_of_bag_rmse": rmse}
    if hasattr(model, "chosen_"):
        loss = model.chosen_.score(model.chosen_.plan)
        judged = {"held_out_log_loss": loss} if model._n_classes else {"held_out_r2": 1.0 - loss}
        return {"chosen": str(model.chosen_.plan), **judged}
    if model.best_score_ is None:
        return {}
    if model._task == "classification":
        return {"validation_accuracy": float(model.best_score_)}
    return {"validation_rmse": float(model.best_score_ * model._trainer_.standard.y_scale[0])}


def _held_out(model: Any) -> dict[str, Any]:
    """What the held-out rows of a boosted sum say, where its loss is one that is reported."""
    if model.best_score_ is None or (not model._n_classes and model.loss != "squared"):
        return {}
    if model._n_classes:
        return {"held_out_log_loss": model.best_score_}
    return {"held_out_r2": 1.0 - 2.0 * model.best_score_}  # half the error of standardised targets


def fit_shards(
    job: Job, workers: int, checkpoint: str | None
) -> tuple[Any, int, dict[str, float]] | None:
    """Train on a folder of Parquet files; None where another worker reports and saves."""
    import dgtrees
    from dgtrees.cluster.shard_files import find_shards
    from dgtrees.cluster.shard_training import ShardJob, scan_target
    from dgtrees.cluster.workers import rank, was_launched

    assert job.target is not None  # checked before
    task = job.task
    if task == "auto":
        task, _ = scan_target(find_shards(job.train), ShardJob(job.train, job.target), task)
    model = new_estimator(task, job.parameters, job.own)
    dgtrees.fit_shards(
        model,
        job.train,
        job.target,
        val=job.val,
        workers=workers,
        weight=job.weight,
        drop=job.columns["drop"],
        kinds=job.columns["kinds"],
        checkpoint=checkpoint,
    )
    if was_launched() and rank() > 0:
        return None
    found = model.shards_report_
    held_out = {name: value for name, value in found.items() if name.startswith("validation_")}
    return model, found["rows"], {"workers": found["workers"], **held_out}


def fit_stream(job: Job) -> tuple[Any, int, dict[str, float]]:
    """Learn batch by batch from a file that may be larger than memory."""
    from dgtrees.cli.progress import batches_bar
    from dgtrees.tables.table import TableStream

    source = TableStream(
        job.train, job.target, task=job.task, weight=job.weight, **job.columns, **job.reading
    )
    model = new_estimator(source.task or "regression", job.parameters, job.own)
    first_call = {} if source.classes is None else {"classes": source.classes}
    with batches_bar(source.n_rows * job.passes, o.on_terminal() and not job.silent) as advance:
        for _ in range(job.passes):
            for table in source:
                advance(len(table))
                if table.weight is not None and not table.weight.any():
                    continue  # rows of weight 0 are as good as not there
                model.partial_fit(table.X, table.y, sample_weight=table.weight, **first_call)
                first_call = {}
    if job.val is None:
        return model, source.n_rows, {}
    held = read_validation(job.val, table, job.weight, job.reading, source.classes)
    scores = score(model, held.X, held.y, held.weight)
    return model, source.n_rows, {f"validation_{name}": value for name, value in scores.items()}
