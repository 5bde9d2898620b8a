"""fit_shards: one tree from a table of many Parquet files, by one or several workers.

Here it is decided who trains: this process, those that it starts (`launch`), or those that it was
started with. What each of them does is `shard_training`'s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from numbers import Integral
from pathlib import Path
from typing import TypeVar

from dgtrees.cluster import launch
from dgtrees.cluster.shard_files import find_shards
from dgtrees.cluster.shard_training import ShardJob, train
from dgtrees.cluster.workers import join, was_launched
from dgtrees.estimators.base import DGTEstimator
from dgtrees.estimators.callbacks import progress_bar
from dgtrees.estimators.parameters import checked_recipe, unchanged_on_error
from dgtrees.estimators.stored_parameters import parameters_of

__all__ = ["fit_shards"]

_Model = TypeVar("_Model", bound=DGTEstimator)


def fit_shards(
    model: _Model,
    shards: str | Path | Sequence[str | Path],
    target: str | int,
    *,
    val: str | Path | Sequence[str | Path] | None = None,
    workers: int = 1,
    weight: str | int | None = None,
    drop: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    checkpoint: str | Path | None = None,
    max_restarts: int = 3,
) -> _Model:
    """Fit an estimator to a table of many Parquet files, which no worker holds as a whole.

    In a process that torchrun or Ray Train has started, this process becomes one of the workers;
    otherwise `workers` of them are started on this machine. A worker that dies is replaced, and
    training goes on from the last checkpoint as if nothing had happened.

    Parameters
    ----------
    model : DGTClassifier or DGTRegressor
        With a number for `random_state`.
    shards : path or sequence of paths
        A folder of Parquet files, or the files, all of one schema.
    target, weight, drop, kinds
        As in `read_table`.
    val : path or sequence of paths, optional
        Rows to validate with; otherwise the estimator's validation_fraction is held out.
    workers : int, default 1
        Processes on this machine; ignored where torchrun or Ray Train has started them.
    checkpoint : path, optional
        Folder for checkpoints, which all machines see. A run that was broken off goes on from it.
        By default, a temporary folder for workers started here, and none for others.
    max_restarts : int, default 3
        How often workers started here are replaced before it is given up.

    Returns
    -------
    The same estimator, fitted, with a dict `shards_report_`: rows, workers, restarts, and the
    validation score of the finished tree.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from pyarrow import parquet
    >>> from dgtrees import DGTClassifier
    >>> x = np.linspace(-1, 1, 400)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for part in (0, 1):
    ...         table = pa.table({"x": x[part::2], "y": x[part::2] > 0.2})
    ...         parquet.write_table(table, f"{folder}/{part}.parquet")
    ...     model = DGTClassifier(1, max_epochs=20, random_state=0)
    ...     model = fit_shards(model, folder, "y")
    >>> model.predict(pa.table({"x": [-0.5, 0.9]})).tolist(), model.shards_report_["rows"]
    (['false', 'true'], 400)
    """
    job = ShardJob(
        _paths(shards),
        target,
        None if val is None else _paths(val),
        weight,
        list(drop),
        dict(kinds or {}),
    )
    _check(model, workers, max_restarts)
    with unchanged_on_error(model):
        model.__dict__.pop("_trainer_", None)  # of an earlier fit
        if workers > 1 and not was_launched():
            find_shards(job.shards)  # what is wrong with the files is said before anything starts
            with progress_bar(bool(model.verbose), type(model).__name__) as bars:
                task = {"job": asdict(job), "kind": type(model).__name__, **parameters_of(model)}
                fitted, report = launch.run(task, workers, max_restarts, checkpoint, bars)
            model.__dict__.update({n: v for n, v in vars(fitted).items() if n.endswith("_")})
            model._take(fitted.model_)
            model.shards_report_ = report
        else:
            with join() as group:
                show = bool(model.verbose) and group.rank == 0
                with progress_bar(show, type(model).__name__) as bars:
                    train(model, job, group, checkpoint, bars)
    return model


def _check(model: object, workers: int, max_restarts: int) -> None:
    if not isinstance(model, DGTEstimator):
        raise TypeError(
            f"model must be a DGTClassifier or a DGTRegressor, got {type(model).__name__}"
        )
    for name, value, least in (("workers", workers, 1), ("max_restarts", max_restarts, 0)):
        if not isinstance(value, int) or value < least:
            raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
    if not isinstance(model.random_state, Integral) or isinstance(model.random_state, bool):
        raise ValueError(
            "random_state must be a whole number, so that all workers, and those that replace "
            f"them, draw alike, got {model.random_state!r}: give one"
        )
    if workers > 1 and not was_launched() and callable(checked_recipe(model, model._task).loss):
        raise ValueError(
            "a loss of your own cannot be sent to workers that are started here: call fit_shards "
            "in a script, and start that with torchrun"
        )


def _paths(source: str | Path | Sequence[str | Path]) -> str | list[str]:
    """Paths as text, whole, because workers may run in another folder."""
    if isinstance(source, (str, Path)):
        return str(Path(source).resolve())
    return [str(Path(path).resolve()) for path in source]
