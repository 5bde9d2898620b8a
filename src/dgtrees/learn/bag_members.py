"""Fit of a bag model: standardised rows, the choice of a plan, and one tree or several.

Several trees are trained on bootstrap samples of the bags, all by the plan that was chosen once;
a row's score is the mean of theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dgtrees.learn import refine
from dgtrees.learn.bag_choice import BagChoice, Sides, choose_bag_plan
from dgtrees.learn.bag_score import BagTable
from dgtrees.learn.bag_tree import fit_plan
from dgtrees.learn.standard import Standard
from dgtrees.learn.threads import one_thread
from dgtrees.tables.bags import Bags
from dgtrees.tables.examples import Examples
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["FittedBags", "fit_bags", "with_distances"]


@dataclass(frozen=True)
class FittedBags:
    """Trees on unscaled rows, importances and scales of the inputs, and how they were chosen."""

    trees: tuple[ObliqueTree, ...]
    importance: np.ndarray
    scale: np.ndarray
    choice: BagChoice


def fit_bags(
    X: np.ndarray,
    bags: Bags,
    label: np.ndarray,
    medians: np.ndarray,
    *,
    n_trees: int = 1,
    poolings: tuple[str, ...] = ("sum", "max"),
    leaf: str = "auto",
    max_leaves: int | None = None,
    seed: int = 0,
) -> FittedBags:
    """Choose a plan on held-out bags, and train it on all bags or on samples of them.

    Parameters
    ----------
    X : ndarray of shape (rows, d)
    label : ndarray of shape (bags,)
        0 or 1.
    medians : ndarray of shape (d,)
        Those of columns whose distance from it may stand beside them, NaN for all others.
    """
    standards: dict[bool, Standard] = {}
    sides: Sides = {}
    in_order = Bags(bags.number[bags.order], bags.ids)
    with one_thread():
        for side in (False, True):
            rows = with_distances(X, medians) if side else X
            if side and rows is X:
                continue
            given = Examples(rows, label[bags.number], np.ones(len(rows)))
            standards[side] = Standard(given, 2)
            sides[side] = BagTable(standards[side].inputs(rows)[bags.order], in_order, label)
        choice = choose_bag_plan(sides, poolings, leaf, max_leaves, seed)
        plan, table = choice.plan, sides[choice.plan.distances]
        standard = standards[plan.distances]
        trees = []
        for number in range(n_trees):
            drawn = table if n_trees == 1 else table.take(_sample(label, seed, number))
            tree = standard.without_constants(fit_plan(drawn, plan, seed + number))
            trees.append(tree)
        importance = sum(_importance(tree, table) for tree in trees)
    return FittedBags(
        tuple(standard.unscale(tree) for tree in trees),
        refine.normalize(np.asarray(importance)),
        standard.scale,
        replace(choice),
    )


def with_distances(X: np.ndarray, medians: np.ndarray) -> np.ndarray:
    """Rows with every plain number's distance from its median behind it; X itself without any."""
    plain = np.flatnonzero(~np.isnan(medians))
    if not plain.size:
        return X
    return np.insert(X, plain + 1, np.abs(X[:, plain] - medians[plain]), axis=1)


def _sample(label: np.ndarray, seed: int, number: int) -> np.ndarray:
    """A bootstrap sample of the bags of either label, so that none is without a bag."""
    random = np.random.default_rng([seed, 13, number])
    sides = [np.flatnonzero(label == value) for value in (0, 1)]
    return np.sort(np.concatenate([random.choice(side, len(side)) for side in sides]))


def _importance(tree: ObliqueTree, table: BagTable) -> np.ndarray:
    """Every input's share in the variance of rows' scores, (d,)."""
    leaves = tree.apply(table.X)
    weight = 1.0 / table.bags.sizes[table.bags.number]
    levels = tree.leaf_values[leaves][:, 1:]
    gains = refine.input_gains(tree, table.X, levels, weight)
    if tree.leaf_weights is not None:  # columns have deviation 1, and leaves share their slopes
        gains = gains + weight.sum() * np.square(tree.leaf_weights[0, 1])
    return refine.normalize(gains)
