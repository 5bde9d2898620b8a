"""One sum of small trees, grown round by round on what the sum so far leaves to learn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy

import numpy as np

from dgtrees.learn._histograms import layout, pack
from dgtrees.learn._leafwise import add_by_leaf, grow, sum_by_leaf
from dgtrees.learn._scan import ONE, WIDTH
from dgtrees.learn.boosted_tree import BoostedTree, LinearTree, SumTree
from dgtrees.learn.boosting_rows import BoostingRows
from dgtrees.learn.boosting_settings import BoostingSettings
from dgtrees.learn.directions import DIRECTION_BINS, Projections
from dgtrees.learn.linear import Linear
from dgtrees.learn.linear_tree import LINEAR_ROWS, LINEAR_SHARE, grow_linear, growth_of
from dgtrees.tree.leaf import leaf_outputs

__all__ = ["Booster"]

_DIRECTIONS = 8
_RENEW_EVERY = 5
"""Rounds that use the same directions."""

_EXACT_OUTPUTS, _SKETCH = 5, 4
"""Up to so many outputs choose splits together; more are mixed at random, into so many."""


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

    Attributes
    ----------
    scores : ndarray of shape (train and held rows, outputs)
        Those of rows to learn from come first.
    held_losses, held_scores : ndarray of shape (held rows,) and (held rows, outputs)
        Of the round with the lowest mean loss.
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
        self.train, self.held = train, held
        order = np.concatenate([train, held]).astype(np.int64)
        self._y, self._weight = rows.y[order], rows.weight[order]
        self._weighs = bool((self._weight != 1.0).any())
        self.start = rows.loss.start(rows.y[train], rows.weight[train])
        self.scores = self.start_scores(rows.unclipped(order))
        self.trees: list[SumTree] = []
        self.held_losses = self._held_losses()
        self.held_scores = self.scores[len(train) :].copy()
        self.kept, self.losses = 0, [self._mean_held(self.held_losses)]
        self._rng, self._order = np.random.default_rng(seed), order
        self._prepare(order)

    def _prepare(self, order: np.ndarray) -> None:
        rows, settings, n = self.rows, self.settings, len(self.train)
        d, outputs = rows.X.shape[1], rows.y.shape[1]
        oblique = settings.oblique and len(rows.free) > 1
        extra = _DIRECTIONS if oblique else 0
        self._bins = np.zeros((len(order), d + extra), dtype=np.uint8)
        self._bins[:, :d] = rows.binned.bins[order]
        self._n_bins = np.append(rows.binned.n_bins, [DIRECTION_BINS] * extra).astype(np.int64)
        self._signs = np.append(rows.signs, np.zeros(extra, dtype=np.int8)).astype(np.int8)
        self._projections = Projections(
            rows.columns, rows.standard, rows.center, rows.scale, order, n, rows.free, self._bins
        )
        self._oblique = oblique
        channels = outputs if outputs <= _EXACT_OUTPUTS else _SKETCH
        words = 1 + channels // 2
        self._packed, self._units = np.zeros((n, words), dtype=np.int64), np.empty(2)
        self._base, self._groups, size = layout(self._n_bins, words)
        self._sums = np.empty(settings.max_leaves * size, dtype=np.int64)
        self._every = np.arange(len(order), dtype=np.int32)

    @property
    def best_loss(self) -> float:
        """Lowest mean loss of held-out rows."""
        return self.losses[self.kept]

    def start_scores(self, X: np.ndarray) -> np.ndarray:
        """Scores of standardised rows before the first tree, (rows, outputs)."""
        if self.line is None:
            return np.tile(self.start, (len(X), 1))
        return self.line.predict(X)

    def mean_held_loss(self, scores: np.ndarray) -> float:
        """Mean loss of held-out rows that had these scores."""
        return self._mean_held(self.rows.loss.values(scores, self.rows.y[self.held]))

    def with_trees(self, trees: Sequence[SumTree], scores: np.ndarray) -> Booster:
        """This sum with other trees and scores in place of those of its best round."""
        other = copy(self)
        other.trees, other.scores, other.kept = list(trees), scores, len(trees)
        other.held_losses = other._held_losses()
        other.held_scores = scores[len(self.train) :].copy()
        other.losses = [*self.losses[: self.kept], self._mean_held(other.held_losses)]
        return other

    def run(self, rounds: int, after_round: Callable[[], None] | None = None) -> Booster:
        """Add trees, up to so many, until held-out rows get no better."""
        patience = self.settings.patience
        while len(self.trees) < rounds:
            if patience is not None and len(self.trees) - self.kept >= patience:
                break
            self._add_tree()
            losses = self._held_losses()
            self.losses.append(self._mean_held(losses))
            if not len(self.held) or self.losses[-1] < self.best_loss:
                self.kept, self.held_losses = len(self.trees), losses
                self.held_scores[:] = self.scores[len(self.train) :]
            if after_round is not None:
                after_round()
        return self

    def _held_losses(self) -> np.ndarray:
        """Loss of every held-out row."""
        n = len(self.train)
        return self.rows.loss.values(self.scores[n:], self._y[n:])

    def _mean_held(self, losses: np.ndarray) -> float:
        if not len(self.held):
            return 0.0
        weight = self._weight[len(self.train) :]
        return float(losses @ weight / weight.sum())

    # One round

    def _add_tree(self) -> None:
        leaf = self.settings.leaf
        if leaf == "linear" or (leaf == "mixed" and len(self.trees) % 2 == 0):
            self._add_linear()
        else:
            self._add_constant()

    def _add_linear(self) -> None:
        """A tree with linear leaves, on what is left as it is, without curvature."""
        rows, settings, rng = self.rows, self.settings, self._rng
        n = len(self.train)
        shared = rng.random(n) < min(LINEAR_SHARE * settings.row_share, LINEAR_ROWS / n)
        drawn = np.flatnonzero(shared if shared.any() else ~shared)
        slopes = -rows.loss.derivatives(self.scores[drawn], self._y[drawn])[0]
        columns = rows.free
        if settings.column_share < 1.0:
            most = max(1, int(np.ceil(settings.column_share * len(columns))))
            columns = np.sort(rng.choice(columns, most, replace=False))
        shape = rows.loss.linear_shape
        growth = growth_of(settings.max_leaves, settings.least_rows, settings.ridge, shape, columns)
        X, scaling = rows.X[self._order[drawn]], (rows.center, rows.scale)
        tree = grow_linear(X, slopes, self._weight[drawn], growth, *scaling, rng)
        step = settings.learning_rate * rows.loss.linear_steps[settings.leaf == "linear"]
        tree = tree.on_scaled_outputs(np.zeros(tree.n_outputs), np.full(tree.n_outputs, step))
        leaves = tree.apply(rows.X, n_threads=1)
        self.scores += leaf_outputs(tree, rows.X, leaves, 1)[self._order]
        mass = np.bincount(leaves[self._order], weights=self._weight, minlength=tree.n_leaves)
        self.trees.append(LinearTree(tree, mass, rows.scale))

    def _add_constant(self) -> None:
        n = len(self.train)
        first, second = self.rows.loss.derivatives(self.scores[:n], self._y[:n])
        if self._weighs:
            weight = self._weight[:n, None]
            first, second = first * weight, second * weight
        if self._oblique and len(self.trees) % _RENEW_EVERY == 0:
            self._projections.renew(-first, self._rng, self._due())
        drawn, others = self._draw_rows()
        pack(drawn, *self._channels(first, second), self._packed, self._units)
        splits, children, gains, bounds, edges, totals = self._grow(drawn, others)
        values = self._leaf_values(first, second, drawn, edges, totals)
        if self.rows.signs.any():
            values = np.clip(values, bounds[:, :1], bounds[:, 1:])
        values *= self.settings.learning_rate
        add_by_leaf(self.scores, drawn, edges, 0, values)
        add_by_leaf(self.scores, others, edges, 2, values)
        made = self._projections
        self.trees.append(
            BoostedTree(
                splits, children, gains, values, self._mass(drawn, others, edges),
                self.rows.binned.edges, made.directions, made.edges, self.rows.scale,
            )
        )  # fmt: skip

    def _due(self) -> slice:
        """Directions to learn anew: all at first, then halves by turns."""
        half = _DIRECTIONS // 2
        if not self.trees:
            return slice(None)
        return slice(half) if len(self.trees) // _RENEW_EVERY % 2 else slice(half, None)

    def _draw_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows to grow the next tree on, and all others, in arrays of their own."""
        n = len(self.train)
        if self.settings.row_share < 1.0:
            kept = np.zeros(len(self._every), dtype=bool)
            kept[:n] = self._rng.random(n) < self.settings.row_share
            if kept.any():
                return self._every[kept], self._every[~kept]
        return self._every[:n].copy(), self._every[n:].copy()

    def _grow(self, drawn: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, ...]:
        """The next tree, on the columns that are drawn for it: as `grow` returns it."""
        settings, slope, curve = self.settings, *self._units
        bins, base, groups, n_bins, signs = (
            self._bins, self._base, self._groups, self._n_bins, self._signs
        )  # fmt: skip
        columns = None
        if settings.column_share < 1.0:
            count = bins.shape[1]
            most = max(1, int(np.ceil(settings.column_share * count)))
            columns = np.sort(self._rng.choice(count, most, replace=False))
            bins, n_bins, signs = bins[:, columns], n_bins[columns], signs[columns]
            base, groups, _ = layout(n_bins, self._packed.shape[1])
        size = int(groups[-1, 0] + groups[-1, 1] * WIDTH * self._packed.shape[1])
        sums = self._sums[: settings.max_leaves * size].reshape(settings.max_leaves, size)
        splits, children, gains, bounds, edges, totals = grow(
            bins, drawn, others, self._packed, base, groups, n_bins, signs, sums,
            settings.max_leaves, settings.least_rows, settings.ridge / curve,
        )  # fmt: skip
        if columns is not None:
            splits[:, 0] = columns[splits[:, 0]]
        gains *= slope * slope / curve
        bounds *= slope / curve
        return splits, children, gains, bounds, edges, totals

    def _channels(self, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What splits are chosen by: gradients, mixed where outputs are many, and curvature."""
        outputs = first.shape[1]
        if outputs == 1:
            return first, second[:, 0]
        if outputs > _EXACT_OUTPUTS:
            first = first @ self._rng.normal(size=(outputs, _SKETCH))
        total = second @ np.ones(outputs)
        total *= self._weight[: len(self.train)].mean() / max(total.mean(), 1e-300)
        return first, total

    def _leaf_values(
        self,
        first: np.ndarray,
        second: np.ndarray,
        drawn: np.ndarray,
        edges: np.ndarray,
        totals: np.ndarray,
    ) -> np.ndarray:
        """The step of every leaf, (leaves, outputs)."""
        if self.rows.loss.renews and not self.rows.signs.any():
            return self._renewed(drawn, edges)
        if first.shape[1] == 1:
            slope, curve = totals.T / ONE * self._units[:, None]
            return np.asarray(-slope / (curve + self.settings.ridge))[:, None]
        sums = np.zeros((2, len(edges), first.shape[1]))
        sum_by_leaf(drawn, edges, 0, first, sums[0])
        sum_by_leaf(drawn, edges, 0, second, sums[1])
        return np.asarray(-sums[0] / (sums[1] + self.settings.ridge))

    def _renewed(self, drawn: np.ndarray, edges: np.ndarray) -> np.ndarray:
        """The loss's own step."""
        values = np.empty((len(edges), self._y.shape[1]))
        for leaf, (start, stop) in enumerate(edges[:, :2].tolist()):
            part = drawn[start:stop]
            for k in range(values.shape[1]):
                left = self._y[part, k] - self.scores[part, k]
                values[leaf, k] = self.rows.loss.step(left, self._weight[part])
        return values

    def _mass(self, drawn: np.ndarray, others: np.ndarray, edges: np.ndarray) -> np.ndarray:
        """Weight of all rows of every leaf, (leaves,)."""
        if not self._weighs:
            return np.asarray(edges[:, 1] - edges[:, 0] + edges[:, 3] - edges[:, 2], dtype=float)
        mass = np.zeros((len(edges), 1))
        sum_by_leaf(drawn, edges, 0, self._weight[:, None], mass)
        sum_by_leaf(others, edges, 2, self._weight[:, None], mass)
        return mass[:, 0]
