"""A boosted model from rows: what it is, is chosen on held-out rows; several sums are averaged.

Rows are dealt into folds. Every fold says when to stop to a sum of trees that is grown on the
others, and the mean of these sums, which is one sum of trees again, is the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from dgtrees.learn.binning import bin_rows
from dgtrees.learn.boosted_tree import BoostedTree, LinearTree
from dgtrees.learn.boosting import Booster, BoostingRows, BoostingSettings
from dgtrees.learn.boosting_choice import choose_settings
from dgtrees.learn.boosting_losses import Loss, Quantile, weighted_quantile
from dgtrees.learn.linear import PENALTIES, Linear, linear_models
from dgtrees.learn.scaling import moments
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["BoostedSum", "deal_folds", "prepare_rows", "start_sum"]

_EXTREME = 5.0
"""Standardised values beyond are cut off where directions are learnt."""

_TRIAL_ROWS = 1000
"""Held-out rows that a choice should rest on, where there are so many."""


def prepare_rows(
    X: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    train: np.ndarray,
    loss: Loss,
    signs: np.ndarray,
) -> BoostingRows:
    """Rows as boosters share them; bins and scales are learnt from the rows `train`."""
    X = np.ascontiguousarray(X, dtype=np.float64)
    center, scale = moments(X[train], weight[train])
    scale = np.where(scale > 0, scale, 1.0)
    standard = np.clip((X - center) / scale, -_EXTREME, _EXTREME)
    binned = bin_rows(X, train)
    columns = np.ascontiguousarray(X.T)
    return BoostingRows(X, columns, standard, center, scale, binned, y, weight, loss, signs)


def deal_folds(y: np.ndarray, n_folds: int, by_class: bool, seed: int) -> np.ndarray:
    """Number of the fold of every row, (rows,); classes are dealt out evenly."""
    rng = np.random.default_rng(seed)
    key = rng.random(len(y))
    if by_class:
        label = y[:, 0] if y.shape[1] == 1 else y.argmax(axis=1)
        key += label
    fold = np.empty(len(y), dtype=np.int64)
    fold[np.argsort(key, kind="stable")] = np.arange(len(y)) % n_folds
    return fold


@dataclass(frozen=True, eq=False)
class _Part:
    """Rows that one sum learns from, and those that stop it."""

    train: np.ndarray
    held: np.ndarray


class BoostedSum:
    """Several boosters whose mean is the model.

    Parameters
    ----------
    rows : BoostingRows
    boosters : list of Booster
    tried : dict
        Held-out loss of what was tried, by name.
    """

    def __init__(
        self, rows: BoostingRows, boosters: list[Booster], tried: dict[str, float]
    ) -> None:
        self.rows, self.boosters, self.tried = rows, boosters, tried

    @property
    def settings(self) -> BoostingSettings:
        """As chosen."""
        return self.boosters[0].settings

    def run(
        self,
        rounds: int,
        n_threads: int = 1,
        report: Callable[[int, int, dict[str, float]], object] | None = None,
    ) -> BoostedSum:
        """Let every booster go on, up to so many rounds; `report` hears of every round."""

        def after_round() -> None:
            if report is not None:
                done = sum(len(booster.trees) for booster in self.boosters)
                report(done, rounds * len(self.boosters), {"held-out loss": self.held_loss() or 0})

        with ThreadPoolExecutor(max(1, n_threads)) as pool:
            list(pool.map(lambda booster: booster.run(rounds, after_round), self.boosters))
        return self

    @property
    def adds_columns(self) -> bool:
        """Whether leaves are linear, where one value that is far off would decide alone."""
        return self.settings.leaf != "constant"

    # As a model

    def stages(self) -> list[int]:
        """Trees of the model after every round."""
        rounds = max((booster.kept for booster in self.boosters), default=0)
        return [
            sum(min(booster.kept, last) for booster in self.boosters)
            for last in range(1, rounds + 1)
        ]

    def kept_trees(self) -> list[BoostedTree | LinearTree]:
        """Trees up to every booster's best round, round by round."""
        rounds = max((booster.kept for booster in self.boosters), default=0)
        return [b.trees[i] for i in range(rounds) for b in self.boosters if i < b.kept]

    def trees(self, expand: np.ndarray) -> list[ObliqueTree]:
        """The kept trees with leaf values times `expand` (outputs of the model, outputs here)."""
        share = expand / len(self.boosters)
        if not self.kept_trees():  # the base says it all, and a forest has a tree
            return [_leaf(self.rows.X.shape[1], np.zeros(len(expand)))]
        return [tree.finished(share) for tree in self.kept_trees()]

    def base(self, expand: np.ndarray, shift: np.ndarray) -> ObliqueTree:
        """What is added to the trees: a tree of one leaf, linear if the boosters start so."""
        d, share = self.rows.X.shape[1], expand / len(self.boosters)
        shift = shift + expand @ self._correction()
        if self.boosters[0].line is None:
            start = np.sum([booster.start for booster in self.boosters], axis=0)
            return _leaf(d, share @ start + shift)
        weights = np.sum([b.line.weights for b in self.boosters if b.line], axis=0)
        bias = np.sum([b.line.bias for b in self.boosters if b.line], axis=0)
        slopes = share @ weights / self.rows.scale
        values = share @ bias + shift - slopes @ self.rows.center
        return _leaf(d, values, slopes[None])

    def _correction(self) -> np.ndarray:
        """What makes a quantile of held-out rows that share of them, (outputs,).

        Steps end before leaves have reached the quantiles of their rows, which draws these to the
        middle. What rows say that a sum has not seen puts that right.
        """
        rows, loss = self.rows, self.rows.loss
        if not isinstance(loss, Quantile) or not len(self.boosters[0].held):
            return np.zeros(rows.y.shape[1])
        held = np.concatenate([booster.held for booster in self.boosters])
        left = rows.y[held] - np.concatenate([booster.held_scores for booster in self.boosters])
        found = [weighted_quantile(column, rows.weight[held], loss.level) for column in left.T]
        return np.array(found)

    def leaf_rows(self) -> list[np.ndarray]:
        """Rows of every leaf of every tree."""
        everything = [np.array([self.rows.weight.sum()])]
        return [tree.rows for tree in self.kept_trees()] or everything

    def held_loss(self) -> float | None:
        """Mean over the boosters of their lowest held-out loss."""
        if not len(self.boosters[0].held):
            return None
        return float(np.mean([booster.best_loss for booster in self.boosters]))

    def importance(self) -> np.ndarray:
        """Share of every column in what the kept trees gained, (d,)."""
        total = np.zeros(self.rows.X.shape[1])
        for tree in self.kept_trees():
            total += tree.importance
        if not total.any():
            total += sum(np.abs(b.line.weights).sum(axis=0) for b in self.boosters if b.line)
        return total / total.sum() if total.any() else total


def _leaf(d: int, values: np.ndarray, slopes: np.ndarray | None = None) -> ObliqueTree:
    """A tree of d columns and one leaf."""
    nothing = np.empty(0)
    return ObliqueTree(np.empty((0, d)), nothing, nothing, nothing, values[None], slopes)


def start_sum(
    rows: BoostingRows,
    parts: Iterable[tuple[np.ndarray, np.ndarray]],
    settings: BoostingSettings,
    choose: dict[str, bool],
    classification: bool,
    seed: int,
) -> BoostedSum:
    """Boosters that have not run yet, of settings chosen on the first part's held-out rows.

    Parameters
    ----------
    parts : pairs of ndarray of int
        Rows to learn from, and held-out ones, of every booster.
    choose : dict
        Which of `boosting_choice.CHOICES` are to be chosen.
    """
    dealt = [_Part(*part) for part in parts]
    lines = _Lines(rows, dealt, classification)

    def made(settings: BoostingSettings, number: int) -> Booster:
        part = dealt[number]
        line = lines.of(number) if settings.linear else None
        return Booster(rows, part.train, part.held, settings, line, seed + number)

    tried: dict[str, float] = {}
    if any(choose.values()):
        trials = min(len(dealt), -(-_TRIAL_ROWS // len(dealt[0].held)))
        weight = np.concatenate([rows.weight[part.held] for part in dealt[:trials]])
        settings = choose_settings(made, trials, weight, settings, choose, tried)
    return BoostedSum(rows, [made(settings, number) for number in range(len(dealt))], tried)


class _Lines:
    """Lines that sums start from; the penalty is chosen on the first part's held-out rows."""

    def __init__(self, rows: BoostingRows, parts: list[_Part], classification: bool) -> None:
        self._rows, self._parts, self._classification = rows, parts, classification
        self._made: dict[int, Linear] = {}
        self._penalty: float | None = None

    def of(self, number: int) -> Linear:
        """The line of a part."""
        if self._penalty is None:
            self._choose()
        if number not in self._made:
            self._made[number] = self._fitted(number, (self._penalty or PENALTIES[0],))[0]
        return self._made[number]

    def _choose(self) -> None:
        rows, part = self._rows, self._parts[0]
        held = part.held if len(part.held) else part.train

        def loss(line: Linear) -> float:
            values = rows.loss.values(line.predict(rows.unclipped(held)), rows.y[held])
            return float(np.average(values, weights=rows.weight[held]))

        lines = self._fitted(0, PENALTIES)
        losses = [loss(line) for line in lines]
        best = int(np.argmin(losses))
        self._penalty, self._made[0] = PENALTIES[best], lines[best]

    def _fitted(self, number: int, penalties: tuple[float, ...]) -> list[Linear]:
        rows, train = self._rows, self._parts[number].train
        free, y = rows.free, rows.y[train]
        target = np.hstack([1.0 - y, y]) if self._classification and y.shape[1] == 1 else y
        X = rows.unclipped(train)[:, free]
        models = linear_models(X, target, rows.weight[train], penalties, self._classification)
        return [_on_all_columns(model, free, rows.X.shape[1], y.shape[1]) for model in models]


def _on_all_columns(model: Linear, free: np.ndarray, d: int, outputs: int) -> Linear:
    """With slopes of 0 for the columns left out; of two classes, the second's lead."""
    weights, bias = model.weights, model.bias
    if outputs == 1 and len(bias) == 2:
        weights, bias = weights[1:] - weights[:1], bias[1:] - bias[:1]
    full = np.zeros((outputs, d))
    full[:, free] = weights
    return Linear(full, bias)
