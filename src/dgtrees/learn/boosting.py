"""One sum of small trees, grown round by round on what the sum so far leaves to learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dgtrees.learn._leafwise import add_leaves, grow, route, sum_by_leaf
from dgtrees.learn.binning import BinnedRows
from dgtrees.learn.boosting_losses import Loss
from dgtrees.learn.directions import DIRECTION_BINS, Projections
from dgtrees.learn.linear import Linear

__all__ = ["BoostedTree", "Booster", "BoostingRows", "BoostingSettings"]

_DIRECTIONS = 8
_RENEW_EVERY = 5
"""Rounds that use the same directions."""

_EXACT_OUTPUTS, _SKETCH = 5, 4
"""Up to so many outputs choose splits together; more are mixed at random, into so many."""


@dataclass(frozen=True)
class BoostingSettings:
    """How a sum of trees is grown.

    Parameters
    ----------
    rounds : int
        Most trees.
    learning_rate : float
        Share of every step that is taken.
    max_leaves, least_rows : int
        Most leaves of a tree, and fewest rows of a leaf.
    ridge : float
        Added to the curvature of every leaf.
    row_share, column_share : float
        Share of the rows, and of the columns and directions, drawn for every tree.
    oblique : bool
        Whether nodes may be oblique.
    linear : bool
        Whether the sum starts from a linear model.
    patience : int or None
        Rounds without a lower held-out loss that end training; None never does.
    """

    rounds: int = 1000
    learning_rate: float = 0.1
    max_leaves: int = 31
    least_rows: int = 20
    ridge: float = 1.0
    row_share: float = 1.0
    column_share: float = 1.0
    oblique: bool = True
    linear: bool = False
    patience: int | None = 25


@dataclass(frozen=True, eq=False)
class BoostingRows:
    """All rows, training and held-out ones, as every sum of trees shares them.

    Parameters
    ----------
    X, standard : float64 ndarray of shape (rows, d)
        As trees get them; and standardised, without extreme values.
    center, scale : ndarray of shape (d,)
    binned : BinnedRows
    y : ndarray of shape (rows, outputs)
    weight : ndarray of shape (rows,)
    loss : Loss
    signs : int8 ndarray of shape (d,)
        1 or -1 for columns that outputs may only rise or fall with.
    """

    X: np.ndarray
    standard: np.ndarray
    center: np.ndarray
    scale: np.ndarray
    binned: BinnedRows
    y: np.ndarray
    weight: np.ndarray
    loss: Loss
    signs: np.ndarray

    def unclipped(self, which: np.ndarray | slice) -> np.ndarray:
        """Some rows, standardised."""
        return np.asarray((self.X[which] - self.center) / self.scale)

    @property
    def free(self) -> np.ndarray:
        """Columns that outputs may depend on in any way."""
        return np.flatnonzero(self.signs == 0)


@dataclass(frozen=True, eq=False)
class BoostedTree:
    """A tree of the sum, on rows as they are; `ObliqueTree` in its making."""

    weights: np.ndarray
    bias: np.ndarray
    children: np.ndarray
    values: np.ndarray
    rows: np.ndarray
    importance: np.ndarray


class Booster:
    """A sum of trees and the rows' scores so far.

    Parameters
    ----------
    rows : BoostingRows
    train, held : ndarray of int
        Rows to learn from, and rows that say when to stop; there may be none of these.
    settings : BoostingSettings
    line : Linear, optional
        Where the sum starts, on standardised rows; else from the best constant.
    seed : int
    """

    def __init__(
        self,
        rows: BoostingRows,
        train: np.ndarray,
        held: np.ndarray,
        settings: BoostingSettings,
        line: Linear | None,
        seed: int,
    ) -> None:
        self.rows, self.settings, self.line = rows, settings, line
        self.train, self.held = train.astype(np.int32), held
        self.start = rows.loss.start(rows.y[train], rows.weight[train])
        self.scores = np.tile(self.start, (len(rows.X), 1))
        if line is not None:
            self.scores[:] = line.predict(rows.unclipped(slice(None)))
        self.trees: list[BoostedTree] = []
        self.held_losses = self._held_losses()
        self.kept, self.losses = 0, [self._mean(self.held_losses)]
        self._rng = np.random.default_rng(seed)
        self._prepare()

    def _prepare(self) -> None:
        rows, settings = self.rows, self.settings
        d, outputs = rows.X.shape[1], rows.y.shape[1]
        oblique = settings.oblique and len(rows.free) > 1
        extra = _DIRECTIONS if oblique else 0
        self._bins = np.zeros((len(rows.X), d + extra), dtype=np.uint8)
        self._bins[:, :d] = rows.binned.bins
        self._n_bins = np.append(rows.binned.n_bins, [DIRECTION_BINS] * extra)
        self._signs = np.append(rows.signs, np.zeros(extra, dtype=np.int8)).astype(np.int8)
        self._projections = None
        if oblique:
            self._projections = Projections(
                rows.X, rows.standard, rows.scale, self.train, rows.free, self._bins
            )
        channels = outputs if outputs <= _EXACT_OUTPUTS else _SKETCH
        shape = (settings.max_leaves, d + extra, int(self._n_bins.max()) * (channels + 1))
        self._histograms = np.zeros(shape, dtype=np.float32)
        self._leaves = np.zeros(len(rows.X), dtype=np.int32)

    @property
    def best_loss(self) -> float:
        """Lowest mean loss of held-out rows."""
        return self.losses[self.kept]

    def run(self, rounds: int, after_round: Callable[[], None] | None = None) -> Booster:
        """Add trees, up to so many, until held-out rows get no better."""
        patience = self.settings.patience
        while len(self.trees) < rounds:
            if patience is not None and len(self.trees) - self.kept >= patience:
                break
            self._add_tree()
            losses = self._held_losses()
            self.losses.append(self._mean(losses))
            if not len(self.held) or self.losses[-1] < self.best_loss:
                self.kept, self.held_losses = len(self.trees), losses
            if after_round is not None:
                after_round()
        return self

    def _held_losses(self) -> np.ndarray:
        """Loss of every held-out row."""
        return self.rows.loss.values(self.scores[self.held], self.rows.y[self.held])

    def _mean(self, losses: np.ndarray) -> float:
        if not len(self.held):
            return 0.0
        return float(np.average(losses, weights=self.rows.weight[self.held]))

    # One round

    def _add_tree(self) -> None:
        rows, settings = self.rows, self.settings
        first, second = rows.loss.derivatives(self.scores, rows.y)
        first, second = first * rows.weight[:, None], second * rows.weight[:, None]
        if self._projections is not None and len(self.trees) % _RENEW_EVERY == 0:
            self._projections.renew(-first, self._rng)
        drawn = self._draw_rows()
        gradient, curvature = self._channels(first, second)
        splits, children, gains, bounds = grow(
            self._bins, drawn.copy(), gradient, curvature, self._draw_columns(), self._n_bins,
            self._signs, self._histograms, settings.max_leaves, settings.least_rows, settings.ridge,
        )  # fmt: skip
        route(self._bins, splits, children, self._leaves)
        values = self._leaf_values(first, second, drawn, bounds)
        add_leaves(self.scores, self._leaves, values)
        self.trees.append(self._finish(splits, children, gains, values))

    def _draw_rows(self) -> np.ndarray:
        if self.settings.row_share >= 1.0:
            return self.train
        kept = self._rng.random(len(self.train)) < self.settings.row_share
        return self.train[kept] if kept.any() else self.train

    def _draw_columns(self) -> np.ndarray:
        count = self._bins.shape[1]
        share = self.settings.column_share
        if share >= 1.0:
            return np.arange(count)
        drawn = self._rng.choice(count, max(1, int(np.ceil(share * count))), replace=False)
        return np.sort(drawn)

    def _channels(self, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What splits are chosen by: gradients, mixed where outputs are many, and curvature."""
        outputs = first.shape[1]
        if outputs == 1:
            return first.astype(np.float32), second[:, 0].astype(np.float32)
        if outputs > _EXACT_OUTPUTS:
            first = first @ self._rng.normal(size=(outputs, _SKETCH))
        total = second.sum(axis=1)
        total *= self.rows.weight.mean() / max(total.mean(), 1e-300)
        return first.astype(np.float32), total.astype(np.float32)

    def _leaf_values(
        self, first: np.ndarray, second: np.ndarray, drawn: np.ndarray, bounds: np.ndarray
    ) -> np.ndarray:
        """What every leaf adds, (leaves, outputs)."""
        sums = np.empty((2, len(bounds), first.shape[1]))
        sum_by_leaf(self._leaves, drawn, first, sums[0])
        sum_by_leaf(self._leaves, drawn, second, sums[1])
        values = -sums[0] / (sums[1] + self.settings.ridge)
        if self.rows.signs.any():
            values = np.clip(values, bounds[:, :1], bounds[:, 1:])
        elif self.rows.loss.renews:
            values = self._renewed(drawn, values)
        return np.asarray(self.settings.learning_rate * values)

    def _renewed(self, drawn: np.ndarray, values: np.ndarray) -> np.ndarray:
        rows = self.rows
        order = drawn[np.argsort(self._leaves[drawn], kind="stable")]
        ends = np.cumsum(np.bincount(self._leaves[drawn], minlength=len(values)))
        for leaf, part in enumerate(np.split(order, ends[:-1])):
            for k in range(values.shape[1] if len(part) else 0):
                left = rows.y[part, k] - self.scores[part, k]
                values[leaf, k] = rows.loss.step(left, rows.weight[part])
        return values

    def _finish(
        self, splits: np.ndarray, children: np.ndarray, gains: np.ndarray, values: np.ndarray
    ) -> BoostedTree:
        """The tree with thresholds instead of bins."""
        d = self.rows.X.shape[1]
        weights, bias = np.zeros((len(splits), d)), np.empty(len(splits))
        importance = np.zeros(d)
        for node, (column, last) in enumerate(splits.tolist()):
            if column < d:
                weights[node, column] = 1.0
                bias[node] = -self.rows.binned.edges[column][last]
                importance[column] += gains[node]
            else:
                assert self._projections is not None
                weights[node] = self._projections.directions[column - d]
                bias[node] = -self._projections.threshold(column - d, last)
                size = np.abs(weights[node]) * self.rows.scale
                importance += gains[node] * size / size.sum()
        counts = np.empty((len(values), 1))
        sum_by_leaf(self._leaves, _every(len(self._leaves)), self.rows.weight[:, None], counts)
        return BoostedTree(weights, bias, children, values, counts[:, 0], importance)


def _every(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.int32)
