"""Averages of bag models: linear scores that are about as good, and a linear score beside trees.

The mean of linear scores is a linear score, and a tree with a linear score beside it is a tree
whose leaves share slopes: an average costs no more to predict than its parts. A mean of scores has
lower tops than each, so that bags would seem negative: averages are moved until bags score in the
mean what the parts give them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dgtrees.learn.bag_score import BagTable
from dgtrees.learn.bag_tree import PENALTIES, BagPlan, fit_path
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["beside", "fit_average", "missing_top", "moved"]


def fit_average(tables: dict[bool, BagTable], shares: dict[BagPlan, float]) -> ObliqueTree:
    """One leaf with the average of linear scores that pool alike.

    Parameters
    ----------
    tables : dict
        For plans without distances (False) and with them (True): the same bags, with as many
        columns, those that a plan must not see being 0.
    shares : dict of BagPlan
        What every plan counts, 1 together.
    """
    parts: list[ObliqueTree] = []
    counts: list[float] = []
    pooling = next(iter(shares)).pooling
    for side in sorted({plan.distances for plan in shares}):
        own = {
            plan.penalty: share
            for plan, share in shares.items()
            if plan.penalty is not None and plan.distances == side
        }
        path = [BagPlan(pooling, p, 1, side) for p in sorted({*PENALTIES, *own}, reverse=True)]
        path = path[: 1 + max(i for i, plan in enumerate(path) if plan.penalty in own)]
        for plan, tree in zip(path, fit_path(tables[side], path), strict=True):
            if plan.penalty is not None and plan.penalty in own:
                parts.append(tree)
                counts.append(own[plan.penalty])
    weigh = np.array(counts)
    slopes = np.tensordot(weigh, np.array([tree.leaf_weights for tree in parts]), axes=1)
    values = np.tensordot(weigh, np.array([tree.leaf_values for tree in parts]), axes=1)
    average = parts[0].with_leaves(values, slopes)
    return moved(average, missing_top(parts, counts, tables[True in tables], pooling))


def beside(line: ObliqueTree, trees: Sequence[ObliqueTree], table: BagTable, pooling: str) -> list:
    """Trees that are each half of a linear score and half of a tree of constant leaves."""
    counts = [0.5, *(0.5 / len(trees) for _ in trees)]
    top = missing_top([line, *trees], counts, table, pooling)
    assert line.leaf_weights is not None
    both = []
    for tree in trees:
        slopes = np.repeat(0.5 * line.leaf_weights, tree.n_leaves, axis=0)
        values = 0.5 * (tree.leaf_values + line.leaf_values)
        both.append(moved(tree.with_leaves(values, slopes), top))
    return both


def missing_top(
    parts: Sequence[ObliqueTree], counts: Sequence[float], table: BagTable, pooling: str
) -> float:
    """What bags score less, in the mean, by the average of the parts than in theirs."""
    scores = np.array([tree.predict(table.X)[:, 1] for tree in parts])
    own = [table.bags.pool(one, pooling).mean() for one in scores]
    pooled = table.bags.pool(np.tensordot(np.array(counts), scores, axes=1), pooling)
    return float(np.dot(counts, own) - pooled.mean())


def moved(tree: ObliqueTree, up: float) -> ObliqueTree:
    """The tree with so much more in every row's score."""
    return tree.with_leaves(tree.leaf_values + np.array([0.0, up]), tree.leaf_weights)
