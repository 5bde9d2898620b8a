"""Gradient descent by bags: batches of whole bags, and their loss as the slope of every row.

A batch takes whole bags as long as their rows fit, and a bag that is larger than a batch is one
alone. The engine is that of rows (`learn.run`): a bag's slope is handed to its rows in the shares
that they have in its score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from dgtrees.learn.bag_score import BagTable, loss_of_bags
from dgtrees.learn.descent import Descent
from dgtrees.learn.recipe import Recipe
from dgtrees.learn.rows import Rows
from dgtrees.learn.starts import Start
from dgtrees.tables.bags import Bags
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["BagFeed", "descend"]

_BATCH = 1024
"""Rows of a batch, more where a bag has more."""

_RECIPE = Recipe(
    quantizer="margin",
    anneal_start=2.0,
    anneal_stop=8.0,
    local_after=0.5,
    learning_rate=1e-2,
    leaf_learning_rate=3e-2,
    min_batches=1,
    averaging=0.1,
    weight_decay=1e-3,
)


@dataclass
class BagFeed:
    """Whole bags as `learn.rows.Feed` hands out rows; `bags` are those of the batch under way."""

    table: BagTable
    offset: np.ndarray | None = None
    chosen: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    bags: Bags = field(default_factory=lambda: Bags.alone(0))

    def __len__(self) -> int:
        return len(self.table.X)

    @property
    def batch_rows(self) -> int:
        """Most rows of a batch."""
        return min(len(self), max(_BATCH, int(self.table.bags.sizes.max())))

    def n_batches(self, size: int) -> int:
        """Most batches there can be: two that follow each other have more rows than fit one."""
        return 1 if len(self) <= size else 2 * (len(self) // size) + 1

    def batches(self, size: int, seed: int, epoch: int, done: int) -> Iterator[tuple[Rows, float]]:
        """All bags in random batches, each with its number of rows."""
        order = np.random.default_rng([seed, epoch]).permutation(len(self.table.bags))
        ends, rows = [0], 0
        for i, bag_rows in enumerate(self.table.bags.sizes[order].tolist()):
            if rows + bag_rows > size:
                ends.append(i)
                rows = 0
            rows += bag_rows
        ends.append(len(order))
        for first, last in list(pairwise(ends))[done:]:
            self.chosen = order[first:last]
            taken, self.bags = self.table.bags.take(self.chosen)
            offset = None if self.offset is None else self.offset[taken][:, None]
            targets = np.zeros((len(taken), 1), dtype=np.float32)
            yield Rows(self.table.X[taken], targets, None, offset), float(len(taken))

    def scores(self, measure: Callable[[Rows], dict[str, float]]) -> dict[str, float]:
        """Bags are judged by whoever chooses a plan, not while a tree is trained."""
        raise NotImplementedError


def descend(
    start: Start,
    table: BagTable,
    pooling: str,
    epochs: int,
    seed: int,
    offset: np.ndarray | None = None,
) -> ObliqueTree:
    """The tree that descent makes of a start, whose one output is the score of a row.

    Parameters
    ----------
    offset : ndarray of shape (rows,), optional
        Scores that the tree's are added to.
    """
    feed = BagFeed(table, None if offset is None else offset.astype(np.float32))

    def loss(scores: np.ndarray, _targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        label, bags = table.label[feed.chosen], feed.bags
        losses, slopes = loss_of_bags(scores[:, 0].astype(np.float64), bags, label, pooling)
        # The engine takes means over rows; these are means over bags.
        weigh = len(scores) / len(label)
        told = losses[bags.number] / bags.sizes[bags.number] * weigh
        return told, (slopes * weigh)[:, None]

    recipe = replace(_RECIPE, loss=loss, batch_size=feed.batch_rows, epochs=epochs)
    descent = Descent(start, table.X.shape[1], "constant", recipe, False, seed)
    descent.begin(feed, recipe, epochs=epochs).advance().finish()
    return descent.tree()
