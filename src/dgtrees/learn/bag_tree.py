"""Bag trees: one tree that scores rows, from a linear function to several leaves beside it.

A tree is grown in a few rounds: rows of positive bags count by their share in the score of their
bag, so that each round separates better the rows that make bags positive. Gradient descent then
turns its axis-parallel splits, and in the end leaves and slopes are fitted together to the splits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dgtrees.learn.bag_descent import descend
from dgtrees.learn.bag_score import BagTable, fit_scores, stages_of
from dgtrees.learn.grown import Grown, grow_tree
from dgtrees.learn.starts import Start
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["PENALTIES", "BagPlan", "fit_path", "fit_plan"]

PENALTIES = (1.0, 0.3, 0.1, 0.03, 0.01)
"""Tried for linear scores, each begun where the stronger one before it ended."""

_ROUNDS = 3
_LEAST_BAGS = 2.0
"""Bags, in parts of their weight, that a leaf needs."""

_LEAF_PENALTY = 1e-3
"""Of squared leaves, against the mean loss of a bag."""

_EPOCHS = 40

_ROWS = 1000
"""Rows that a tree is grown on, drawn by their weight where there are more."""


@dataclass(frozen=True)
class BagPlan:
    """What to train.

    Parameters
    ----------
    pooling : str
        How scores of rows make that of a bag (`tables.bags`).
    penalty : float, optional
        Of the squared slopes that all leaves share, against the mean loss of a bag; None for
        constant leaves.
    max_leaves : int
        1 for no tree but the slopes.
    distances : bool
        Whether distances of columns from their medians stand beside the columns.
    """

    pooling: str
    penalty: float | None = None
    max_leaves: int = 1
    distances: bool = False

    @property
    def ridge(self) -> float | None:
        """Penalty of a slope: twice as much beside distances, which are as many columns again."""
        return None if self.penalty is None else self.penalty * (1 + self.distances)

    def __str__(self) -> str:
        slopes = "constant leaves" if self.penalty is None else f"slopes (penalty {self.penalty:g})"
        leaves = f"{self.max_leaves} leaves, {slopes}" if self.max_leaves > 1 else slopes
        return f"{self.pooling} of {leaves}" + (", with distances" if self.distances else "")


def fit_path(table: BagTable, plans: list[BagPlan]) -> list[ObliqueTree]:
    """Linear scores for the same rows and pooling, each begun where the last one ended."""
    w, trees = np.zeros(table.X.shape[1] + 1), []
    for number, plan in enumerate(plans):
        for place, stage in enumerate(stages_of(plan.pooling)):
            if number == 0 or place > 0 or plan.pooling != "max":
                w = _fit(table, _one_leaf(table), plan.ridge, stage, w)
        trees.append(_tree_of(_one_leaf(table), table, w, True))
    return trees


def fit_plan(table: BagTable, plan: BagPlan, seed: int = 0) -> ObliqueTree:
    """The tree of a plan on standardised rows; its outputs are 0 and the score of a row."""
    if plan.max_leaves <= 1:
        path = [replace(plan, penalty=p) for p in PENALTIES if p > (plan.penalty or 0.0)]
        return fit_path(table, [*path, plan])[-1]
    linear = plan.penalty is not None
    w, tree = np.zeros(table.X.shape[1] * linear + 1), _one_leaf(table)
    first, *rest = stages_of(plan.pooling)
    w = _fit(table, tree, plan.ridge, first, w)
    for _ in range(_ROUNDS):
        grown = _grow(table, _design(tree, table, linear) @ w, plan.max_leaves, seed)
        start = _start(grown, table)
        assert start.weights is not None and start.bias is not None
        tree = ObliqueTree(start.weights, start.bias, start.left, start.right, start.values)
        w = _refit(table, tree, plan, first, w, linear)
    d = table.X.shape[1] * linear
    offset = table.X @ w[:d] if linear else None
    start = replace(start, values=w[d:, None])
    tree = descend(start, table, first[0], _EPOCHS, seed, offset).prune(table.X)
    w = _refit(table, tree, plan, first, w, linear)
    for stage in rest:
        w = _fit(table, tree, plan.ridge, stage, w)
    return _tree_of(tree, table, w, linear)


def _one_leaf(table: BagTable) -> ObliqueTree:
    none = np.zeros(0, dtype=np.int32)
    return ObliqueTree(np.zeros((0, table.X.shape[1])), np.zeros(0), none, none, np.zeros((1, 1)))


def _design(tree: ObliqueTree, table: BagTable, linear: bool) -> np.ndarray:
    """Columns that scores are linear in: those of the rows, and one for every leaf."""
    member = np.eye(tree.n_leaves, dtype=np.float32)[tree.apply(table.X)]
    return np.hstack([table.X, member]) if linear else member


def _refit(
    table: BagTable,
    tree: ObliqueTree,
    plan: BagPlan,
    stage: tuple[str, float],
    w: np.ndarray,
    linear: bool,
) -> np.ndarray:
    """Slopes and leaves for other splits than those that `w` was fitted to."""
    d = table.X.shape[1] * linear
    start = np.concatenate([w[:d], np.full(tree.n_leaves, w[d:].mean())])
    return _fit(table, tree, plan.ridge, stage, start)


def _fit(
    table: BagTable,
    tree: ObliqueTree,
    penalty: float | None,
    stage: tuple[str, float],
    start: np.ndarray,
) -> np.ndarray:
    """Slopes and leaves that fit the splits of a tree; one leaf alone has no penalty."""
    linear = penalty is not None
    leaf = _LEAF_PENALTY if tree.n_leaves > 1 else 0.0
    penalties = np.full(table.X.shape[1] * linear + tree.n_leaves, leaf)
    if penalty is not None:
        penalties[: table.X.shape[1]] = penalty
    A = _design(tree, table, linear)
    return fit_scores(A, table.bags, table.label, penalties, stage, start)


def _grow(table: BagTable, scores: np.ndarray, max_leaves: int, seed: int) -> Grown:
    """A tree that tells rows that make bags positive from those of negative bags.

    All bags weigh the same. Rows of a negative bag are equally negative, those of a positive one
    share its weight as they share its score.
    """
    bags = table.bags
    positive = table.label[bags.number] == 1
    _, shares = bags.pool_and_shares(scores.astype(np.float64), "sum")
    weight = np.where(positive, shares, 1.0 / bags.sizes[bags.number])
    target = np.column_stack([~positive, positive]).astype(np.float64)
    X, least = table.X, _LEAST_BAGS
    if len(X) > _ROWS:
        drawn = np.random.default_rng([seed, 5]).choice(len(X), _ROWS, p=weight / weight.sum())
        X, target, least = X[drawn], target[drawn], least * _ROWS / weight.sum()
        weight = np.ones(_ROWS)
    return grow_tree(X, target, weight, max_leaves, least, True, seed)


def _start(grown: Grown, table: BagTable) -> Start:
    weight = 1.0 / table.bags.sizes[table.bags.number]
    return grown.start(table.X, weight, np.zeros((len(grown.left), 1)))


def _tree_of(tree: ObliqueTree, table: BagTable, w: np.ndarray, linear: bool) -> ObliqueTree:
    """The splits with these leaves; class 0 has a score of 0."""
    d = table.X.shape[1] * linear
    values = np.column_stack([np.zeros(tree.n_leaves), w[d:]])
    if not linear:
        return tree.with_leaves(values)
    slopes = np.zeros((tree.n_leaves, 2, d))
    slopes[:, 1] = w[:d]
    return tree.with_leaves(values, slopes)
