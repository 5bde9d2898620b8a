"""Fine-tuning of all trees of a boosted model together by the tree gradient, once they are grown.

Boosting grows trees one by one, each for what those before it have left, and never comes back to
one. Here leaves and boundaries of all trees of a sum move a little at the same time, by batches of
the rows that they were grown on. Held-out rows say after how many epochs to stop, all sums alike,
and whether what was tuned is kept at all.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from dgtrees.learn._updates import ADAMW, update
from dgtrees.learn.boosted_sum import BoostedSum
from dgtrees.learn.boosted_tree import TunedTree
from dgtrees.learn.boosting import Booster
from dgtrees.learn.flat_sum import FlatSum

__all__ = ["TuningSettings", "tuned_sum"]

_EPSILON = 1e-12
"""Added to the size of a gradient where steps are divided by it."""

_Report = Callable[[int, int, dict[str, float]], object]


@dataclass(frozen=True)
class TuningSettings:
    """How trees are fine-tuned.

    Parameters
    ----------
    epochs : int
        Most passes over the rows; steps shorten evenly, to 0 at the end of the last.
    patience : int
        Epochs without a lower held-out loss that end it.
    batch_rows : int
        Rows of a step.
    node_rate : float
        Length of the first steps of a node's weights, which have length 1 on standardised rows.
    leaf_rate : float
        The same for numbers of leaves, in units of their root mean square.
    window : float
        Nodes learn from rows no further from their boundary, in standard deviations.
    """

    epochs: int = 10
    patience: int = 3
    batch_rows: int = 256
    node_rate: float = 1e-3
    leaf_rate: float = 1e-2
    window: float = 1.0


def tuned_sum(
    made: BoostedSum,
    seed: int,
    n_threads: int = 1,
    report: _Report | None = None,
    settings: TuningSettings | None = None,
) -> BoostedSum:
    """The same sums with trees that were tuned together, or `made` itself where none gained by it.

    `made` stays as it is, and may grow on. Its sums must have held-out rows, and no column with a
    sign: bounds of leaves do not bind steps of the gradient.
    """
    settings = settings or TuningSettings()
    X = made.rows.unclipped(slice(None))
    descents = [
        _Descent(booster, X, settings, seed + number)
        for number, booster in enumerate(made.boosters)
        if booster.kept
    ]
    losses, best = [made.held_loss() or 0.0], 0
    with ThreadPoolExecutor(max(1, n_threads)) as pool:
        for epoch in range(1, settings.epochs + 1 if descents else 1):
            list(pool.map(_Descent.run_epoch, descents))
            tuned = sum(descent.held_loss for descent in descents)
            plain = sum(booster.best_loss for booster in made.boosters if not booster.kept)
            losses.append(float(tuned + plain) / len(made.boosters))
            if losses[epoch] < losses[best]:
                best = epoch
                for descent in descents:
                    descent.keep()
            if report is not None:
                report(epoch, settings.epochs, {"held-out loss": losses[best]})
            if epoch - best >= settings.patience:
                break
    if not best:
        return made
    kept = iter(descents)
    boosters = [next(kept).tuned() if booster.kept else booster for booster in made.boosters]
    tried = {**made.tried, "tuned": losses[best]}
    return BoostedSum(made.rows, boosters, made.settings, tried)


class _Descent:
    """The kept trees of one sum while they are tuned.

    Parameters
    ----------
    booster : Booster
    X : ndarray of shape (rows, d)
        All rows, standardised.
    settings : TuningSettings
    seed : int
        Of the order of the rows.
    """

    def __init__(
        self, booster: Booster, X: np.ndarray, settings: TuningSettings, seed: int
    ) -> None:
        rows = booster.rows
        eye = np.eye(rows.y.shape[1])
        trees = [tree.finished(eye) for tree in booster.trees[: booster.kept]]
        self._flat = FlatSum(trees, rows.center, rows.scale)
        self._booster, self._X, self._settings = booster, X, settings
        self._start = booster.start_scores(X)
        self._rng, self._steps = np.random.default_rng(seed), 0
        P = self._flat.parameters
        self._kept, self._moments = P.copy(), (np.zeros_like(P), np.zeros_like(P))
        of_leaves = self._flat.parts[1::2]
        sizes = [
            float(np.sqrt(np.mean(P[part] ** 2))) if P[part].size else 0.0 for part in of_leaves
        ]
        leaf, node = settings.leaf_rate, settings.node_rate
        self._rates = node, leaf * sizes[0], node, leaf * sizes[1]
        self.held_loss = booster.best_loss

    def run_epoch(self) -> None:
        """One pass over the rows in a new order, and the loss of held-out rows after it."""
        train, size = self._booster.train, self._settings.batch_rows
        order = self._rng.permutation(train)
        most = self._settings.epochs * -(-len(train) // size)
        for first in range(0, len(train), size):
            gradient = self._gradient(order[first : first + size])
            self._step(gradient, 1.0 - self._steps / most)
        self.held_loss = self._booster.mean_held_loss(self._scores(self._booster.held)[0])

    def _scores(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._flat.scores(self._X, rows, self._start[rows])

    def _gradient(self, rows: np.ndarray) -> np.ndarray:
        """Of the mean loss of some rows."""
        data = self._booster.rows
        scores, leaves = self._scores(rows)
        slopes = data.loss.derivatives(scores, data.y[rows])[0]
        slopes = slopes * (data.weight[rows] / len(rows))[:, None]
        return self._flat.gradient(self._X, rows, leaves, slopes, self._settings.window)

    def _step(self, gradient: np.ndarray, share: float) -> None:
        """A share of a whole step, by Adam: nodes and leaves each at a rate of their own."""
        self._steps += 1
        P = self._flat.parameters
        for part, rate in zip(self._flat.parts, self._rates, strict=True):
            update(
                P, gradient, *self._moments, P, part.start, part.stop, ADAMW, 0.0, _EPSILON, 1.0,
                share * rate, 0.0, self._steps, 0.0,
            )  # fmt: skip

    def keep(self) -> None:
        """Remember the present parameters as the best so far."""
        self._kept[:] = self._flat.parameters

    def tuned(self) -> Booster:
        """The booster with trees of the best parameters."""
        booster, rows = self._booster, self._booster.rows
        self._flat.parameters[:] = self._kept
        order = np.concatenate([booster.train, booster.held])
        scores, leaves = self._scores(order)
        trees = [
            TunedTree(
                tree,
                np.bincount(reached, weights=rows.weight[order], minlength=tree.n_leaves),
                grown.importance,
            )
            for tree, reached, grown in zip(
                self._flat.trees(), self._flat.own_leaves(leaves), booster.trees, strict=False
            )
        ]
        return booster.with_trees(trees, scores)
