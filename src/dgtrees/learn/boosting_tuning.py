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
from functools import partial

import numpy as np

from dgtrees.learn._updates import ADAMW, update
from dgtrees.learn.boosted_sum import BoostedSum
from dgtrees.learn.boosted_tree import TunedTree
from dgtrees.learn.boosting import Booster
from dgtrees.learn.flat_sum import FlatSum
from dgtrees.learn.leaf_sum import LeafSum

__all__ = ["TUNE_LEAVES", "TUNE_NODES", "TuningSettings", "tuned_sum"]

_EPSILON = 1e-12
"""Added to the size of a gradient where steps are divided by it."""

_Report = Callable[[int, int, dict[str, float]], object]


@dataclass(frozen=True)
class TuningSettings:
    """How trees are fine-tuned.

    Parameters
    ----------
    nodes : bool
        Whether boundaries of nodes and slopes of leaves move, or values of leaves alone.
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

    nodes: bool = False
    epochs: int = 20
    patience: int = 3
    batch_rows: int = 256
    node_rate: float = 1e-3
    leaf_rate: float = 1e-2
    window: float = 1.0


TUNE_LEAVES = TuningSettings()
TUNE_NODES = TuningSettings(nodes=True, epochs=10)
"""Where rows have to find their leaves anew, an epoch takes ten times as long."""


def tuned_sum(
    made: BoostedSum,
    settings: TuningSettings,
    seed: int,
    n_threads: int = 1,
    report: _Report | None = None,
) -> BoostedSum:
    """The same sums with trees that were tuned together, or `made` itself where none gained by it.

    `made` stays as it is, and may grow on. Its sums must have held-out rows, and no column with a
    sign: bounds of leaves do not bind steps of the gradient.
    """
    descents = [
        _Descent(booster, settings, seed + number)
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
    settings : TuningSettings
    seed : int
        Of the order of the rows.
    """

    def __init__(self, booster: Booster, settings: TuningSettings, seed: int) -> None:
        rows = booster.rows
        trees = [tree.finished(np.eye(rows.y.shape[1])) for tree in booster.trees[: booster.kept]]
        Z = rows.unclipped(slice(None))
        start = booster.start_scores(Z)
        self._sum: FlatSum | LeafSum
        if settings.nodes:
            self._sum = FlatSum(trees, Z, start, rows.center, rows.scale, settings.window)
        else:
            self._sum = LeafSum(trees, rows.X, start)
        P = self._sum.parameters
        self._kept, self._moments = P.copy(), (np.zeros_like(P), np.zeros_like(P))
        self._rates = [
            settings.leaf_rate * _size(P[part]) if of_leaves else settings.node_rate
            for part, of_leaves in self._sum.parts
        ]
        self._booster, self._settings = booster, settings
        self._rng, self._steps = np.random.default_rng(seed), 0
        self.held_loss = booster.best_loss

    def run_epoch(self) -> None:
        """One pass over the rows in a new order, and the loss of held-out rows after it."""
        train, size = self._booster.train, self._settings.batch_rows
        order = self._rng.permutation(train)
        most = self._settings.epochs * -(-len(train) // size)
        for first in range(0, len(train), size):
            rows = order[first : first + size]
            gradient = self._sum.gradient(rows, partial(self._slopes, rows))
            self._step(gradient, 1.0 - self._steps / most)
        self.held_loss = self._booster.mean_held_loss(self._sum.scores(self._booster.held))

    def _slopes(self, rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Gradient of the rows' mean loss by their scores."""
        data = self._booster.rows
        slopes = data.loss.derivatives(scores, data.y[rows])[0]
        return np.asarray(slopes * (data.weight[rows] / len(rows))[:, None])

    def _step(self, gradient: np.ndarray, share: float) -> None:
        """A share of a whole step, by Adam, at a rate of its own for every part."""
        self._steps += 1
        P = self._sum.parameters
        for (part, _), rate in zip(self._sum.parts, self._rates, strict=True):
            update(
                P, gradient, *self._moments, P, part.start, part.stop, ADAMW, 0.0, _EPSILON, 1.0,
                share * rate, 0.0, self._steps, 0.0,
            )  # fmt: skip

    def keep(self) -> None:
        """Remember the present parameters as the best so far."""
        self._kept[:] = self._sum.parameters

    def tuned(self) -> Booster:
        """The booster with trees of the best parameters."""
        booster, rows = self._booster, self._booster.rows
        self._sum.parameters[:] = self._kept
        order = np.concatenate([booster.train, booster.held])
        trees = [
            TunedTree(
                tree,
                np.bincount(reached, weights=rows.weight[order], minlength=tree.n_leaves),
                grown.importance,
            )
            for tree, reached, grown in zip(
                self._sum.trees(), self._sum.reached(order), booster.trees, strict=False
            )
        ]
        return booster.with_trees(trees, self._sum.scores(order))


def _size(values: np.ndarray) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(values**2))) if values.size else 0.0
