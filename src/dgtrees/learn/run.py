"""Run: one training under way, epoch by epoch.

Rows in memory with a loss known by name take a whole epoch in one compiled call; rows from disk,
other processes and losses of one's own go through the same compiled phases step by step.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from dgtrees.errors import StateError
from dgtrees.learn import _layers, _meeting, _step
from dgtrees.learn._space import Settings
from dgtrees.learn.layout import leaf_arrays, make_space
from dgtrees.learn.objective import HardTree, Objective, mean, rank_of
from dgtrees.learn.pace import Pace
from dgtrees.learn.processes import ALONE, Processes
from dgtrees.learn.recipe import Recipe
from dgtrees.learn.result import Callback, TrainingResult
from dgtrees.learn.rows import Feed, Rows
from dgtrees.learn.settings import settings_of
from dgtrees.learn.threads import one_thread
from dgtrees.tree.by_reference import Held

if TYPE_CHECKING:
    from dgtrees.learn.descent import Descent

__all__ = ["Run"]

_NO_CLASSES = np.empty(0, dtype=np.int64)
_NO_VALUES = np.empty((0, 1), dtype=np.float32)
_NO_WEIGHTS = np.empty(0, dtype=np.float32)

_POOL_SIZE = 1 << 21


@dataclass
class _Best:
    """The parameters that validated best; of equal ranks the later ones."""

    rank: tuple[float, ...] | None = None
    values: np.ndarray | None = None
    epoch: int = 0

    def offer(self, rank: tuple[float, ...], values: np.ndarray, epoch: int) -> None:
        if self.rank is None or rank >= self.rank:
            self.rank, self.values, self.epoch = rank, values.copy(), epoch


@lru_cache(maxsize=2)
def _noise_pool(size: int) -> np.ndarray:
    """Normal numbers that batches take their noise from, each at a random place.

    Drawing fresh ones would cost more than the step for wide rows.
    """
    return np.random.default_rng(0).standard_normal(size, dtype=np.float32)


@dataclass
class Run:
    """One training under way, epoch by epoch; all that changes is in it and in its `descent`.

    `step` counts within the epoch under way, and `loss_sum` is the loss of its rows so far.
    """

    descent: Descent
    train: Feed
    recipe: Recipe
    validation: Feed | None = None
    epochs: int | None = None
    callbacks: tuple[Callback, ...] = ()
    processes: Processes = ALONE
    n_threads: int = 1
    result: TrainingResult = field(default_factory=TrainingResult)
    best: _Best = field(default_factory=_Best)
    averaged: int = 0
    step: int = 0
    loss_sum: float = 0.0

    def __post_init__(self) -> None:
        recipe, descent = self.recipe, self.descent
        self.objective = Objective(recipe, descent.classification)
        rows = len(self.train)
        self.n_epochs = recipe.n_epochs(rows) if self.epochs is None else self.epochs
        self.batch_size = recipe.rows_a_step(rows)
        self.layout = descent.layout(self.batch_size)
        self.pace = self._pace(self.n_threads)
        self.gradient = np.zeros_like(descent.parameters.values)
        self.limits = np.ones(1)
        descent.parameters.average[:] = descent.parameters.values
        size = rows, descent.n_features
        self.rates = recipe.node_rate(*size), recipe.leaf_learning_rate
        self.noise = recipe.noise(*size)
        largest = self.batch_size * descent.n_features
        self.pool = (
            _noise_pool(1 << max(_POOL_SIZE, 2 * largest).bit_length() - 1)
            if recipe.noisy
            else np.zeros(largest + 1, dtype=np.float32)
        )
        self.space: Held | None = None
        self.processes.resume(self)

    def _pace(self, threads: int) -> Pace:
        return Pace(max(1, min(threads, self.layout.slices)) if _meeting.AVAILABLE else 1)

    # Epochs

    @property
    def ended(self) -> bool:
        """Whether all epochs are made, or a callback or the patience has ended it."""
        return self.result.stopped_early or self.result.n_epochs >= self.n_epochs

    def advance(self, until: int | None = None, n_threads: int | None = None) -> Run:
        """Train until so many epochs are made, or to the end."""
        if n_threads is not None and n_threads != self.n_threads:
            self.n_threads, self.space, self.pace = n_threads, None, self._pace(n_threads)
        until = self.n_epochs if until is None else min(until, self.n_epochs)
        with one_thread():
            while self.result.n_epochs < until and not self.result.stopped_early:
                self._epoch()
        return self

    def finish(self) -> TrainingResult:
        """Leave the best parameters in the descent, and tell what was done."""
        result, parameters = self.result, self.descent.parameters
        if self.best.values is None:
            parameters.values[:] = parameters.average
        else:
            parameters.values[:] = self.best.values
            result.best_rank = self.best.rank or ()
            result.best_score = abs(result.best_rank[0])
        result.best_epoch = self.best.epoch or result.n_epochs
        self.space = None
        return result

    def _epoch(self) -> None:
        result, descent, recipe = self.result, self.descent, self.recipe
        if self.space is None:
            self.space = make_space(self.layout, self.pace.most)
        epoch = result.n_epochs + 1
        whole = isinstance(self.train, Rows) and self.objective.name is not None
        total = self._whole_epoch(epoch) if whole else self._epoch_by_steps(epoch)
        descent.epochs += 1
        loss = float(self.processes.sum(np.array(total))) / len(self.train)
        if not math.isfinite(loss):
            raise StateError(
                f"the loss became {loss} in epoch {epoch}: lower learning_rate "
                "or leaf_learning_rate, or check the scale of the data and of a custom loss"
            )
        metrics = {"loss": loss}
        if self.validation is not None:
            metrics |= self._validate(self.validation, epoch)
        for name, value in metrics.items():
            result.history.setdefault(name, []).append(value)
        result.n_epochs = epoch
        for callback in self.callbacks:  # all of them, even if the first one asks to stop
            result.stopped_early |= bool(callback(epoch, self.n_epochs, metrics))
        if self.validation is not None and recipe.patience is not None:
            result.stopped_early |= epoch - self.best.epoch >= recipe.patience
        self.processes.after_epoch(self)

    def _validate(self, validation: Feed, epoch: int) -> dict[str, float]:
        assert self.space is not None
        P, layout = self.descent.parameters.average, self.layout
        products = np.empty(int(layout.products_at[-1]) + 1, dtype=np.float32)
        nodes = _layers.hard_nodes(P, self.space.table, products)
        nodes = nodes.reshape(len(layout.left), layout.n_features + 1)
        tree = HardTree(nodes, layout.left, layout.right, *leaf_arrays(layout, P))
        scores = validation.scores(lambda rows: tree.scores(rows, self.objective))
        metrics = {f"val_{name}": value for name, value in scores.items()}
        # Whoever sets a patience wants to stop as soon as it is exhausted.
        after = self.recipe.select_after * self.n_epochs if self.recipe.patience is None else 0
        if epoch > after:
            self.best.offer(rank_of(metrics, self.recipe, self.objective.classification), P, epoch)
        return metrics

    # Steps

    def _settings(self, epoch: int) -> Settings:
        done = (epoch - 1) / max(1, self.n_epochs - 1)
        return self.settings_at(done, epoch > self.recipe.local_after * self.n_epochs)

    def settings_at(self, done: float, local: bool | None = None) -> Settings:
        """What a step is told when `done` (0 to 1) of the training is made."""
        local = done >= self.recipe.local_after if local is None else local
        loss = self.objective.name or "squared"  # one's own is not asked for here
        shape = self.batch_size, self.layout.depth, self.noise
        return settings_of(self.recipe, loss, *shape, done, local)

    def _rates(self, epoch: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
        """Learning rates of nodes and leaves at every step of an epoch."""
        done = (epoch - 1 + np.arange(steps) / steps) / self.n_epochs
        factor = self.recipe.rate_factor(done)
        return self.rates[0] * factor, self.rates[1] * factor

    def _noise_places(self, epoch: int, steps: int) -> np.ndarray:
        span = len(self.pool) - self.batch_size * self.descent.n_features
        key = [self.descent.seed, epoch, self.processes.rank, 1]
        return np.random.default_rng(key).integers(span, size=steps)

    def _whole_epoch(self, epoch: int) -> float:
        """One pass over rows in memory, in compiled code, by all threads; the sum of losses."""
        train, parameters = self.train, self.descent.parameters
        assert isinstance(train, Rows)
        number = self.descent.epochs + 1
        order = train.order(self.descent.seed, number)
        steps = train.n_batches(self.batch_size)
        classes, values = train.y, _NO_VALUES
        if not self.objective.classification:
            classes, values = _NO_CLASSES, train.y
        weights = _NO_WEIGHTS if train.weight is None else train.weight
        offsets = _NO_VALUES if train.offset is None else train.offset
        rates, leaf_rates = self._rates(epoch, steps)
        places = self._noise_places(number, steps)
        told, counters = Held(self._settings(epoch)).table, _meeting.new_meeting()
        assert self.space is not None
        buffers, table = self.space.state.buffers, self.space.table
        buffers.losses[:] = 0

        def work(thread: int) -> None:
            _step.epoch(
                train.X,
                classes,
                values,
                weights,
                offsets,
                order,
                self.pool,
                places,
                parameters.values,
                self.gradient,
                parameters.first,
                parameters.second,
                parameters.average,
                table,
                told,
                rates,
                leaf_rates,
                self.descent.steps,
                self.averaged,
                self.limits,
                thread,
                threads,
                counters,
            )

        threads = self.pace.choose()
        began = perf_counter()
        if threads == 1:
            work(0)
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(work, range(threads)))
        self.pace.note(threads, perf_counter() - began)
        self.descent.steps += steps
        self.averaged += steps
        return float(buffers.losses.sum())

    def _epoch_by_steps(self, epoch: int) -> float:
        """One pass in which every step's loss, rows or sums may come from outside."""
        number = self.descent.epochs + 1
        steps = self.train.n_batches(self.batch_size)
        rates, leaf_rates = self._rates(epoch, steps)
        places = self._noise_places(number, steps)
        settings = self._settings(epoch)
        batches = self.train.batches(self.batch_size, self.descent.seed, number, self.step)
        for step, (batch, count) in enumerate(batches, start=self.step):
            loss = self.step_on(batch, places[step], settings, rates[step], leaf_rates[step])
            self.step, self.loss_sum = step + 1, self.loss_sum + loss * count
            if self.step < steps:
                self.processes.after_step(self)
        total = self.loss_sum
        self.step, self.loss_sum = 0, 0.0
        return total

    def step_on(
        self, batch: Rows, place: int, settings: Settings, rate: float, leaf_rate: float
    ) -> float:
        """A step on one batch, noise from that place of the pool; the mean of its losses."""
        assert self.space is not None
        (layout, buffers), space = self.space.state, self.space.table
        P, told = self.descent.parameters, Held(settings).table
        rows, d, K = len(batch), layout.n_features, layout.n_outputs
        if rows > layout.batch_rows:
            raise ValueError(f"a batch must have at most {layout.batch_rows} rows here, got {rows}")
        inputs = buffers.inputs[: rows * (d + 1)].reshape(rows, d + 1)
        inputs[:, :d], inputs[:, d] = self._blur(batch.X, place), 1.0
        alone = _meeting.new_meeting()
        _step.forward(P.values, space, told, rows, alone)
        outputs = buffers.outputs[: rows * K].reshape(rows, K)
        if batch.offset is not None:
            outputs += batch.offset
        losses, slopes = self.objective.gradient(outputs, batch.y)
        if batch.weight is not None:
            slopes = slopes * batch.weight[:, None]
        buffers.slopes[: rows * K].reshape(rows, K)[:] = slopes / rows
        _step.backward(P.values, self.gradient, space, told, rows, alone)
        self.processes.average(self.gradient)
        self.descent.steps += 1
        self.averaged += 1
        share = 1.0
        if settings.averaging > 0:
            share = 1.0 / (1.0 + settings.averaging * self.averaged)
        _step.update_all(
            P.values,
            self.gradient,
            P.first,
            P.second,
            P.average,
            space,
            told,
            rate,
            leaf_rate,
            self.descent.steps,
            share,
            self.limits,
        )
        return mean(losses, batch.weight)

    def _blur(self, X: np.ndarray, place: int) -> np.ndarray:
        """Rows with the noise of one step."""
        recipe = self.recipe
        if not recipe.noisy:
            return X
        noise = self.pool[place : place + X.size].reshape(X.shape)
        size: Any = np.float32(self.noise)
        if recipe.relative_noise:
            size = np.sqrt(size * size + np.square(np.float32(recipe.relative_noise) * X))
        return X + size * noise
