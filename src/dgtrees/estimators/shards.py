"""fit_shards: one tree from a table of many Parquet files, by one or several workers.

Here rows become encoded shares on the workers' disks, and a trained tree becomes an estimator.
Training itself is `learn`'s; starting workers on this machine is `launch`'s.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from dgtrees.data.encoder import columns_of
from dgtrees.data.rows import Examples
from dgtrees.data.scratch import ScratchRows
from dgtrees.data.shards import Shards, find_shards, row_draws
from dgtrees.data.summary import TableSummary, sampled_share
from dgtrees.data.tables import Columns, Table, named
from dgtrees.data.targets import TargetScan
from dgtrees.errors import DataError
from dgtrees.estimators import launch
from dgtrees.estimators.base import DGTEstimator
from dgtrees.estimators.checks import check_memory, checked_recipe, unchanged_on_error
from dgtrees.estimators.progress import EpochCallback, progress_bar
from dgtrees.estimators.storage import parameters_of
from dgtrees.learn.checkpoint import Checkpoints
from dgtrees.learn.recipe import Recipe
from dgtrees.learn.team import Team, join, launched
from dgtrees.learn.trainer import Trainer

__all__ = ["ShardJob", "fit_shards", "scan_target", "train"]

_CHECKPOINT_STEPS = 5_000


@dataclass(frozen=True)
class ShardJob:
    """Which rows to learn from, in values that JSON can hold."""

    shards: str | list[str]
    target: str | int
    val: str | list[str] | None = None
    weight: str | int | None = None
    drop: list[str] = field(default_factory=list)
    kinds: dict[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> Columns:
        """Parts that columns play."""
        return Columns(self.target, self.weight, self.drop, self.kinds)


def fit_shards(
    model: Any,
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
) -> Any:
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
        if workers > 1 and not launched():
            find_shards(job.shards)  # what is wrong with the files is said before anything starts
            with progress_bar(bool(model.verbose), type(model).__name__) as bars:
                task = {"job": asdict(job), "kind": type(model).__name__, **parameters_of(model)}
                fitted, report = launch.run(task, workers, max_restarts, checkpoint, bars)
            vars(model).update({n: v for n, v in vars(fitted).items() if n.endswith("_")})
            model._encoder = fitted._encoder
            model._target_from_file({**fitted._target_for_file()})
            model.shards_report_ = report
        else:
            with join() as team:
                show = bool(model.verbose) and team.rank == 0
                with progress_bar(show, type(model).__name__) as bars:
                    train(model, job, team, checkpoint, bars)
    return model


def train(
    model: Any,
    job: ShardJob,
    team: Team,
    checkpoint: str | Path | None = None,
    callbacks: tuple[EpochCallback, ...] = (),
) -> None:
    """One worker's part of the training; all workers end with the same fitted estimator."""
    recipe = checked_recipe(model, model._task)
    _check_recipe(model, recipe)
    model._check_patience(recipe, job.val is not None)
    shards = find_shards(job.shards)
    held_out = None if job.val is None else find_shards(job.val, like=shards)
    reader = _Reader(model, shards, job, team)
    rows, held = reader.encoded(shards, held_out)
    factors = reader.weigh_classes(rows)
    low_high = team.max(np.stack([-rows.y.min(axis=0), rows.y.max(axis=0)]).astype(np.float64))
    if not model._n_classes:
        model._target_range = -low_high[0], low_high[1]
    check_memory(model.max_depth, model.leaf, rows.X.shape[1], model._outputs_per_leaf, recipe)
    trainer = Trainer(
        rows,
        max_depth=int(model.max_depth),
        leaf=model.leaf,
        recipe=recipe,
        n_classes=model._n_classes,
        seed=reader.seed,
        team=team,
    )
    keeper = None
    if checkpoint is not None:
        Path(checkpoint).mkdir(parents=True, exist_ok=True)
        about = json.dumps([asdict(job), shards.rows, repr(model), repr(recipe), team.size])
        file = Path(checkpoint, "checkpoint.pt")
        keeper = Checkpoints(file, team, about, _CHECKPOINT_STEPS)
    watched = callbacks if team.rank == 0 else ()
    result = trainer.fit(rows, held, callbacks=watched, keeper=keeper)
    model._deliver(*trainer.finish(rows), trainer.scale)
    model.leaf_rows_ = _leaf_rows(model, rows, factors, team)
    model.history_, model.best_score_ = result.history, result.best_score
    model.n_iter_ = trainer.epochs
    model.shards_report_ = {
        "rows": len(shards),
        "workers": team.size,
        "restarts": launch.restarts(),
        **({} if held is None else _score(model, held, team)),
    }


class _Reader:
    """Goes through this worker's rows: first to learn what they are, then to encode them."""

    def __init__(self, model: Any, shards: Shards, job: ShardJob, team: Team) -> None:
        self.model, self.team = model, team
        self.seed = np.random.RandomState(model.random_state).randint(2**31 - 1)
        share = shards.share(team.rank, team.size)
        self.task, self.classes = scan_target(shards, job, model._task, team)
        # The files' first rows settle what every column is, for all workers.
        _, first = next(shards.tables(range(len(shards)), job.columns, self.task, self.classes))
        self.columns = replace(job.columns, target=first.target, kinds=first.kinds)
        if self.classes is None:
            model._learn_target(first.y)
        else:
            model._learn_classes(self.classes)
        model._read_table(first.X, first=True)
        self.fraction = 0.0
        if job.val is None:
            self.fraction = model._held_out_share(len(shards)) or 0.0
        self._learn_encoding(shards, share, first.X.num_columns)

    def _tables(self, shards: Shards, rows: range) -> Iterator[tuple[int, Table, np.ndarray]]:
        for number, table in shards.tables(rows, self.columns, self.task, self.classes):
            weight = np.ones(len(table)) if table.weight is None else table.weight
            yield number, table, weight

    def _learn_encoding(self, shards: Shards, rows: range, columns: int) -> None:
        summary, share = TableSummary(), sampled_share(len(shards), columns)
        for number, table, weight in self._tables(shards, rows):
            # Another key than that of the rows held out.
            sampled = row_draws(self.seed + 2**32, number, len(table)) < share
            summary.add(columns_of(table.X), weight, sampled)
        whole = TableSummary()
        for part in self.team.gather(summary):
            whole.merge(part)
        self.model._encoder = whole.encoder()

    def encoded(self, shards: Shards, held_out: Shards | None) -> tuple[Examples, Examples | None]:
        """This worker's training rows and validation rows."""
        rank, size = self.team.rank, self.team.size
        with ScratchRows() as train, ScratchRows() as held:
            for number, table, weight in self._tables(shards, shards.share(rank, size)):
                rows = self._examples(table, weight)
                out = row_draws(self.seed, number, len(table)) < self.fraction
                train.append(_some(rows, ~out))
                held.append(_some(rows, out))
            if held_out is not None:
                for _, table, weight in self._tables(held_out, held_out.share(rank, size)):
                    held.append(_some(self._examples(table, weight), weight > 0))
            self._check_rows(train, "training")
            if held_out is None and not self.fraction:
                return train.examples(), None
            self._check_rows(held, "validation")
            return train.examples(), held.examples()

    def _examples(self, table: Table, weight: np.ndarray) -> Examples:
        model = self.model
        try:
            return Examples(
                model._expand(model._read_table(table.X, first=False)),
                model._read_target(table.y),
                weight,
            )
        except ValueError as error:
            raise DataError(f"{table.source}: {error}") from error

    def _check_rows(self, rows: ScratchRows, what: str) -> None:
        counts = self.team.gather(len(rows))
        if not min(counts):
            raise ValueError(
                f"every worker must have at least one {what} row, got {sum(counts)} rows for "
                f"{len(counts)} workers: use fewer workers, or give more rows"
            )

    def weigh_classes(self, rows: Examples) -> np.ndarray | None:
        """Bring class weights into the rows' weights; factors of the classes if there are any."""
        model = self.model
        if getattr(model, "class_weight", None) is None:
            return None
        mass = np.bincount(rows.y, weights=rows.weight, minlength=model._n_classes)
        mass = self.team.sum(mass)
        factors = model._class_factors(mass, mass.sum())
        rows.weight[:] *= factors[rows.y]
        return factors


def scan_target(
    shards: Shards, job: ShardJob, task: str, team: Team | None = None
) -> tuple[str, np.ndarray | None]:
    """The task, and the classes of all files; only the target column is read."""
    team = team or Team(streams=True)
    _, first = next(shards.batches(range(1)))
    scan = TargetScan(named(first, job.target, "target"))
    for _, batch in shards.batches(shards.share(team.rank, team.size), [scan.name]):
        scan.add(batch)
    whole = TargetScan(scan.name)
    for part in team.gather(scan):
        whole.merge(part)
    return whole.judged(task)


def _some(rows: Examples, chosen: np.ndarray) -> Examples:
    chosen = chosen & (rows.weight > 0)  # a row of weight 0 is as good as not there
    return Examples(rows.X[chosen], rows.y[chosen], rows.weight[chosen])


def _leaf_rows(model: Any, rows: Examples, factors: np.ndarray | None, team: Team) -> np.ndarray:
    """Weight of the training rows in every leaf, before class weights."""

    def visits(part: Examples) -> np.ndarray:
        weight = part.weight if factors is None else part.weight / factors[part.y]
        return model.tree_.visits(part.X, weight)[1]

    return team.sum(sum(team.parts(rows, visits)))  # type: ignore[arg-type]


def _score(model: Any, held: Examples, team: Team) -> dict[str, float]:
    """Accuracy, or root mean squared error in the target's units, of the finished tree."""

    def totals(part: Examples) -> np.ndarray:
        outputs = model.tree_.predict(part.X)
        if model._n_classes:
            good = (outputs.argmax(axis=1) == part.y).astype(np.float64)
        else:
            good = np.square(np.clip(outputs, *model._target_range) - part.y).mean(axis=1)
        return np.array([good @ part.weight, part.weight.sum()])

    right, whole = team.sum(sum(team.parts(held, totals)))  # type: ignore[arg-type]
    if model._n_classes:
        return {"validation_accuracy": float(right / whole)}
    return {"validation_rmse": float(right / whole) ** 0.5}


def _check(model: Any, workers: int, max_restarts: int) -> None:
    if not isinstance(model, DGTEstimator):
        raise TypeError(
            f"model must be a DGTClassifier or a DGTRegressor, got {type(model).__name__}"
        )
    for name, value, least in (("workers", workers, 1), ("max_restarts", max_restarts, 0)):
        if not isinstance(value, int) or value < least:
            raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
    if isinstance(model.random_state, bool) or not isinstance(model.random_state, int):
        raise ValueError(
            "random_state must be a whole number, so that all workers, and those that replace "
            f"them, draw alike, got {model.random_state!r}: give one"
        )
    if workers > 1 and not launched() and callable(checked_recipe(model, model._task).loss):
        raise ValueError(
            "a loss of your own cannot be sent to workers that are started here: call fit_shards "
            "in a script, and start that with torchrun"
        )


def _check_recipe(model: Any, recipe: Recipe) -> None:
    """Refuse what needs all rows in one place."""
    if recipe.polish:
        raise ValueError(
            f"refine={model.refine!r} needs all rows in memory, which fit_shards never has: leave "
            "it out, or use fit"
        )
    if recipe.refit_strength is not None and model.leaf == "linear":
        raise ValueError(
            f"refit_strength={recipe.refit_strength} with linear leaves needs all rows in memory, "
            "which fit_shards never has: set it to None, or use fit"
        )


def _paths(source: Any) -> str | list[str]:
    """Paths as text, whole, because workers may run in another folder."""
    if isinstance(source, (str, Path)):
        return str(Path(source).resolve())
    return [str(Path(path).resolve()) for path in source]
