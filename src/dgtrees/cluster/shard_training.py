"""A worker's part in `fit_shards`: from Parquet rows to a fitted estimator.

Rows become an encoded share on the worker's disk, and a trained tree becomes an estimator.
Training itself is `learn`'s.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from sklearn.utils import check_random_state

from dgtrees.cluster.checkpoints import Checkpoints
from dgtrees.cluster.shard_files import Shards, find_shards, row_draws
from dgtrees.cluster.shard_identity import check_loss, identity
from dgtrees.cluster.spill import SpilledRows, on_disk
from dgtrees.cluster.summary import TableSummary, sampled_share
from dgtrees.cluster.workers import Workers, restarts
from dgtrees.errors import DataError, Problems
from dgtrees.estimators.base import DGTEstimator
from dgtrees.estimators.callbacks import EpochCallback
from dgtrees.estimators.parameters import check_size, checked_recipe
from dgtrees.estimators.target_types import ClassTarget
from dgtrees.learn.recipe import Recipe
from dgtrees.learn.trainer import Trainer
from dgtrees.model.answer import Values
from dgtrees.tables.encoder import columns_of
from dgtrees.tables.examples import Examples
from dgtrees.tables.table import Columns, Table, named
from dgtrees.tables.targets import TargetScan
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["ShardJob", "scan_target", "train"]

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


def train(
    model: DGTEstimator,
    job: ShardJob,
    workers: Workers,
    checkpoint: str | Path | None = None,
    callbacks: tuple[EpochCallback, ...] = (),
) -> None:
    """One worker's part of the training; all workers end with the same fitted estimator."""
    recipe = checked_recipe(model, model._task)
    _check_recipe(model, recipe)
    if checkpoint is not None:
        check_loss(recipe.loss)
    model._check_patience(recipe, job.val is not None)
    shards = find_shards(job.shards)
    held_out = None if job.val is None else find_shards(job.val, like=shards)
    reader = _Reader(model, shards, job, workers)
    rows, held = reader.encode(shards, held_out)
    weighed = reader.weigh_classes(rows)
    if isinstance(model._answer, Values):
        low, high = workers.max(np.stack([-rows.y.min(axis=0), rows.y.max(axis=0)]))
        model._answer = replace(model._answer, bounds=(-low, high))
    check_size(model._height, model._leaf, rows.X.shape[1], model._outputs_per_leaf)
    trainer = Trainer(
        weighed,
        max_depth=model._height,
        leaf=model._leaf,
        recipe=recipe,
        n_classes=model._n_classes,
        seed=reader.seed,
        processes=workers,
    )
    if checkpoint is not None:
        Path(checkpoint).mkdir(parents=True, exist_ok=True)
        about = identity(model, recipe, workers.gather(reader.digests))
        file = Path(checkpoint, "checkpoint.npz")
        workers.checkpoints = Checkpoints(file, about, _CHECKPOINT_STEPS)
    watched = callbacks if workers.rank == 0 else ()
    result = trainer.fit(weighed, held, callbacks=watched)
    tree, importance = trainer.finish(weighed)
    told = result.history, trainer.epochs, result.best_score
    model._deliver(tree, importance, trainer.scale, _leaf_rows(tree, rows, workers), *told)
    model.shards_report_ = {
        "rows": len(shards),
        "workers": workers.size,
        "restarts": restarts(),
        **({} if held is None else _score(model, held, workers)),
    }


def _refuse_dates(table: Table) -> None:
    problems = Problems()
    for name in [name for name, kind in table.kinds.items() if kind == "date"]:
        problems.found.append(
            DataError(
                f"{table.source}, column {name!r}: dates cannot be learnt from a folder of files "
                f"yet: turn it into numbers, or drop it (drop=[{name!r}] or --drop {name})"
            )
        )
    problems.settle()


class _Reader:
    """Goes through this worker's rows: first to learn what they are, then to encode them."""

    def __init__(
        self, model: DGTEstimator, shards: Shards, job: ShardJob, workers: Workers
    ) -> None:
        self.model, self.workers = model, workers
        self.seed = check_random_state(model.random_state).randint(2**31 - 1)
        share = shards.share(workers.rank, workers.size)
        self.task, self.classes = scan_target(shards, job, model._task, workers)
        # The files' first rows settle what every column is, for all workers.
        _, first = next(shards.tables(range(len(shards)), job.columns, self.task, self.classes))
        _refuse_dates(first)
        self.columns = replace(job.columns, target=first.target, kinds=first.kinds)
        if self.classes is None:
            model._learn_target(first.y)
        else:
            assert isinstance(model, ClassTarget)
            model._learn_classes(self.classes)
        model._read_table(first.X, first=True)
        self.digests = "", ""
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
        weighty = 0
        for number, table, weight in self._tables(shards, rows):
            # Another key than that of the rows held out.
            sampled = row_draws(self.seed + 2**32, number, len(table)) < share
            summary.add(columns_of(table.X), weight, sampled)
            weighty += int(np.count_nonzero(weight > 0))
        _check_any(self.workers.gather(weighty), "training")
        whole = TableSummary()
        for part in self.workers.gather(summary):
            whole.merge(part)
        self.model._encoder = whole.encoder()

    def encode(self, shards: Shards, held_out: Shards | None) -> tuple[Examples, Examples | None]:
        """This worker's training rows and validation rows."""
        rank, size = self.workers.rank, self.workers.size
        with SpilledRows() as train, SpilledRows() as held:
            for number, table, weight in self._tables(shards, shards.share(rank, size)):
                rows = self._examples(table, weight)
                out = row_draws(self.seed, number, len(table)) < self.fraction
                train.append(_some(rows, ~out))
                held.append(_some(rows, out))
            if held_out is not None:
                for _, table, weight in self._tables(held_out, held_out.share(rank, size)):
                    held.append(_some(self._examples(table, weight), weight > 0))
            self._check_rows(train, "training")
            self.digests = train.digest(), held.digest()
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

    def _check_rows(self, rows: SpilledRows, what: str) -> None:
        counts = self.workers.gather(len(rows))
        _check_any(counts, what)
        if not min(counts):
            raise ValueError(
                f"every worker must have at least one {what} row, got {sum(counts)} rows for "
                f"{len(counts)} workers: use fewer workers, or give more rows"
            )

    def weigh_classes(self, rows: Examples) -> Examples:
        """The same rows with class weights in their weights, if there are any."""
        model = self.model
        if not isinstance(model, ClassTarget) or model.class_weight is None:
            return rows
        mass = np.bincount(rows.y, weights=rows.weight, minlength=model._n_classes)
        mass = self.workers.sum(mass)
        factors = model._class_factors(mass)
        model._learn_factors(factors)
        weights = self.workers.parts(rows, lambda part: part.weight * factors[part.y])
        return replace(rows, weight=on_disk(weights))


def scan_target(
    shards: Shards, job: ShardJob, task: str, workers: Workers | None = None
) -> tuple[str, np.ndarray | None]:
    """The task, and the classes of all files; only the target column is read."""
    workers = workers or Workers()
    _, first = next(shards.batches(range(1)))
    scan = TargetScan(named(first, job.target, "target"))
    for _, batch in shards.batches(shards.share(workers.rank, workers.size), [scan.name]):
        scan.add(batch)
    whole = TargetScan(scan.name)
    for part in workers.gather(scan):
        whole.merge(part)
    return whole.judged(task)


def _some(rows: Examples, chosen: np.ndarray) -> Examples:
    chosen = chosen & (rows.weight > 0)  # a row of weight 0 is as good as not there
    return Examples(rows.X[chosen], rows.y[chosen], rows.weight[chosen])


def _check_any(counts: list[int], what: str) -> None:
    if not sum(counts):
        raise ValueError(
            f"at least one {what} row must weigh more than 0, got none: check the weights and "
            "validation_fraction, or give more rows"
        )


def _leaf_rows(tree: ObliqueTree, rows: Examples, workers: Workers) -> np.ndarray:
    """Weight of the training rows in every leaf, before class weights."""

    def visits(part: Examples) -> np.ndarray:
        return tree.visits(part.X, part.weight)[1]

    return workers.sum(sum(workers.parts(rows, visits)))  # type: ignore[arg-type]


def _score(model: DGTEstimator, held: Examples, workers: Workers) -> dict[str, float]:
    """Accuracy, or root mean squared error in the target's units, of the finished tree."""

    def totals(part: Examples) -> np.ndarray:
        outputs = model.tree_.predict(part.X)
        bounds = model._answer.bounds
        if bounds is None:
            good = (outputs.argmax(axis=1) == part.y).astype(np.float64)
        else:
            good = np.square(np.clip(outputs, *bounds) - part.y).mean(axis=1)
        return np.array([good @ part.weight, part.weight.sum()])

    right, whole = workers.sum(sum(workers.parts(held, totals)))  # type: ignore[arg-type]
    if model._n_classes:
        return {"validation_accuracy": float(right / whole)}
    return {"validation_rmse": float(right / whole) ** 0.5}


def _check_recipe(model: DGTEstimator, recipe: Recipe) -> None:
    """Refuse what needs all rows in one place."""
    if recipe.polish or recipe.max_columns:
        what = "max_columns" if recipe.max_columns else "refine"
        raise ValueError(
            f"{what}={getattr(model, what)!r} needs all rows in memory, which fit_shards never "
            "has: leave it out, or use fit"
        )
    if recipe.refit_strength is not None and model._leaf == "linear":
        raise ValueError(
            f"refit_strength={recipe.refit_strength} with linear leaves needs all rows in memory, "
            "which fit_shards never has: set it to None, or use fit"
        )
