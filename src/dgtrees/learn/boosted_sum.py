"""A boosted model from rows: what it is, is chosen on held-out rows; several sums are averaged.

Rows are dealt into folds. Every fold says when to stop to a sum of trees that is grown on the
others, and the mean of these sums, which is one sum of trees again, is the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event

import numpy as np

from dgtrees.learn.boosted_tree import SumTree
from dgtrees.learn.boosting import Booster
from dgtrees.learn.boosting_choice import choose_settings
from dgtrees.learn.boosting_losses import Quantile, weighted_quantile
from dgtrees.learn.boosting_rows import BoostingRows
from dgtrees.learn.boosting_settings import BoostingSettings
from dgtrees.learn.linear import PENALTIES, Linear, linear_models
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["BoostedSum", "deal_folds", "start_sum"]

_TRIAL_ROWS = 1000
"""Held-out rows that a choice should rest on, where there are so many."""

_FEWEST_FOR_PAIRS = 3
"""Parts from which on choices are judged by the mean of two sums."""


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
    settings : BoostingSettings
        As chosen.
    tried : dict
        Held-out loss of what was tried, by name.
    """

    def __init__(
        self,
        rows: BoostingRows,
        boosters: list[Booster],
        settings: BoostingSettings,
        tried: dict[str, float],
    ) -> None:
        self.rows, self.boosters, self.settings, self.tried = rows, boosters, settings, tried

    def run(
        self,
        rounds: int,
        n_threads: int = 1,
        report: Callable[[int, int, dict[str, float]], object] | None = None,
    ) -> BoostedSum:
        """Let every booster go on, up to so many rounds; `report` hears of every round.

        Where one raises, or the user interrupts, all stop after the round that they are in.
        """
        stopped = Event()

        def after_round() -> None:
            if stopped.is_set():
                raise CancelledError
            if report is not None:
                done = sum(len(booster.trees) for booster in self.boosters)
                report(done, rounds * len(self.boosters), {"held-out loss": self.held_loss() or 0})

        with ThreadPoolExecutor(max(1, n_threads)) as pool:
            try:
                list(pool.map(lambda booster: booster.run(rounds, after_round), self.boosters))
            except BaseException:
                stopped.set()  # else the pool waits for them to come to their ends
                raise
        return self

    @property
    def adds_columns(self) -> bool:
        """Whether leaves are linear, where one value that is far off would decide alone."""
        return any(booster.settings.leaf != "constant" for booster in self.boosters)

    # As a model

    def stages(self) -> list[int]:
        """Trees of the model after every round."""
        rounds = max((booster.kept for booster in self.boosters), default=0)
        return [
            sum(min(booster.kept, last) for booster in self.boosters)
            for last in range(1, rounds + 1)
        ]

    def kept_trees(self) -> list[SumTree]:
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
        starts = [b.start if b.line is None else b.line.bias for b in self.boosters]
        values = share @ np.sum(starts, axis=0) + shift
        lines = [b.line.weights for b in self.boosters if b.line is not None]
        if not lines:
            return _leaf(d, values)
        slopes = share @ np.sum(lines, axis=0) / self.rows.scale
        return _leaf(d, values - slopes @ self.rows.center, slopes[None])

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
    judged = _judged_parts(dealt)
    lines = _Lines(rows, dealt[0], classification)

    def made(settings: BoostingSettings, part: _Part, number: int) -> Booster:
        own = settings.of_sum(number)
        line = lines.of(part) if own.linear else None
        return Booster(rows, part.train, part.held, own, line, seed + number)

    def trial(settings: BoostingSettings) -> list[list[Booster]]:
        return [
            [made(settings, part, 2 * k + j) for j, part in enumerate(parts)]
            for k, parts in enumerate(judged)
        ]

    tried: dict[str, float] = {}
    if any(choose.values()):
        settings = choose_settings(trial, settings, choose, tried)
    boosters = [made(settings, part, number) for number, part in enumerate(dealt)]
    return BoostedSum(rows, boosters, settings, tried)


def _judged_parts(dealt: list[_Part]) -> list[list[_Part]]:
    """What choices are judged by: parts of the same held-out rows, whose sums' mean is the model.

    The model is a mean of sums that have most of their rows in common. What makes one sum better
    may make all alike, and the mean worse. So two sums, each without the rows of another part,
    are judged by their mean.
    """
    trials = dealt[: -(-_TRIAL_ROWS // max(1, len(dealt[0].held)))]
    if len(dealt) < _FEWEST_FOR_PAIRS:
        return [[part] for part in trials]

    def without(k: int, other: int) -> _Part:
        train, left_out = dealt[k].train, dealt[(k + other) % len(dealt)].held
        return _Part(np.setdiff1d(train, left_out, assume_unique=True), dealt[k].held)

    return [[without(k, 1), without(k, 2)] for k in range(len(trials))]


class _Lines:
    """Lines that sums start from; the penalty is chosen on the first part's held-out rows."""

    def __init__(self, rows: BoostingRows, first: _Part, classification: bool) -> None:
        self._rows, self._first, self._classification = rows, first, classification
        self._made: dict[_Part, Linear] = {}
        self._penalty: float | None = None

    def of(self, part: _Part) -> Linear:
        """The line of a part."""
        if self._penalty is None:
            self._choose()
        if part not in self._made:
            self._made[part] = self._fitted(part, (self._penalty or PENALTIES[0],))[0]
        return self._made[part]

    def _choose(self) -> None:
        rows, part = self._rows, self._first
        held = part.held if len(part.held) else part.train

        def loss(line: Linear) -> float:
            values = rows.loss.values(line.predict(rows.unclipped(held)), rows.y[held])
            return float(np.average(values, weights=rows.weight[held]))

        lines = self._fitted(part, PENALTIES)
        losses = [loss(line) for line in lines]
        best = int(np.argmin(losses))
        self._penalty, self._made[part] = PENALTIES[best], lines[best]

    def _fitted(self, part: _Part, penalties: tuple[float, ...]) -> list[Linear]:
        rows, train = self._rows, part.train
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
