"""What `dgt fit` is asked to do, and what can be said against it before any row is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dgtrees.errors import Problems

__all__ = ["Job", "boosting_parameters", "check_job", "new_estimator"]

_OF_TREES = {
    "max_depth": None,
    "leaf": "auto",
    "recipe": "default",
    "n_layers": None,
    "max_epochs": None,
    "batch_size": None,
    "l1": None,
}
"""Options that boosting has no use for, and what they are if nobody gives them."""


@dataclass(frozen=True)
class Job:
    """What the command line asks for."""

    train: str
    val: str | None
    parameters: dict[str, Any]
    own: dict[str, dict[str, Any]]
    target: str | None
    task: str
    weight: str | None
    columns: dict[str, Any]
    reading: dict[str, Any]
    passes: int
    silent: bool
    kind: str = ""
    """ "Forest" or "Boosting" where it is not one tree."""
    judge: bool | None = None
    """Whether to compare with simple models; None where the number of rows decides."""


def check_job(job: Job, stream: bool, sharded: bool, problems: Problems) -> None:
    """Collect what is wrong with a job, whatever its rows will be."""
    from dgtrees.estimators.parameters import checked_recipe
    from dgtrees.tables.table import check_task

    with problems.collect():
        check_task(job.task)
    if sharded:
        problems.require(
            job.columns["on_unusable"] != "drop",
            "--drop-unusable is for one file: name the columns with --drop",
        )
        what = "a folder of Parquet files"
        problems.require(
            not stream, "--stream is for one file: leave it out, workers stream by themselves"
        )
    elif stream:
        what = "--stream"
        problems.require(
            job.train != "-",
            "--stream reads its file more than once, which standard input cannot: give a file",
        )
        problems.require(
            job.parameters["max_epochs"] is None,
            "--max-epochs is for tables in memory: use --passes with --stream",
        )
        problems.require(job.passes >= 1, f"--passes must be at least 1, got {job.passes}")
        problems.require(
            job.parameters.get("validation_fraction") is None,
            "--validation-fraction needs all rows at once: give --val a file instead",
        )
    if stream or sharded:
        problems.require(
            job.target is not None, f"{what} needs --target: say which column to learn"
        )
    if not stream:
        problems.require(
            job.passes == 1, "--passes goes with --stream: use --max-epochs for tables otherwise"
        )
    task = "regression" if job.task == "regression" else "classification"
    with problems.collect():
        model = new_estimator(task, job.parameters, {}, job.kind)
        if job.kind == "Boosting":
            model._check_parameters()
        else:
            checked_recipe(model, task)


def new_estimator(
    task: str, parameters: dict[str, Any], own: dict[str, dict[str, Any]], kind: str = ""
) -> Any:
    """The estimator for a task; options of the other task are refused."""
    import dgtrees

    other = "regression" if task == "classification" else "classification"
    for name, value in own.get(other, {}).items():
        if value is not None:
            option = "--" + name.replace("_", "-")
            raise ValueError(
                f"{option} is for {other}, and this is {task}: leave it out, or say --task {other}"
            )
    given = {name: value for name, value in own.get(task, {}).items() if value is not None}
    name = "Classifier" if task == "classification" else "Regressor"
    return getattr(dgtrees, f"DGT{kind}{name}")(**parameters, **given)


def boosting_parameters(parameters: dict[str, Any], problems: Problems) -> dict[str, Any]:
    """What boosting takes of the parameters; options that it has no use for are refused."""
    for name, unset in _OF_TREES.items():
        option = "--" + name.replace("_", "-")
        problems.require(
            parameters.get(name) == unset,
            f"{option} is for trees trained by gradient descent: leave it out with --boost",
        )
    kept = ("learning_rate", "l2", "validation_fraction", "random_state", "verbose")
    return {name: parameters[name] for name in kept if parameters[name] is not None}
