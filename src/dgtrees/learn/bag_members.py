"""Fit of a bag model: standardised rows, the choice of a plan, and one tree or several.

Numbers that are farther than five deviations from their mean are taken for that: there are few bags,
and one extreme row would decide what its bag looks like.

Several trees are trained by the plan that was chosen once, each on a random half of the columns and
all bags, of which there are few; a row's score is the mean of theirs.
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

__all__ = ["FittedBags", "fit_bags"]

_REACH = 5.0


@dataclass(frozen=True)
class FittedBags:
    """Trees on unscaled rows, importances and scales of the inputs, and how they were chosen.

    `rows` are those of training as the trees take them, and `reach` the lowest and highest number
    of every column that was given.
    """

    trees: tuple[ObliqueTree, ...]
    importance: np.ndarray
    scale: np.ndarray
    choice: BagChoice
    rows: np.ndarray
    reach: tuple[np.ndarray, np.ndarray]


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
        Those of plain numbers, whose distance from it may stand beside them; NaN for the others.
    """
    reach = _reach(X, medians)
    of_side = {False: np.clip(X, *reach)}
    if not np.isnan(medians).all():
        of_side[True] = _with_distances(of_side[False], medians)
    standards: dict[bool, Standard] = {}
    sides: Sides = {}
    in_order = Bags(bags.number[bags.order], bags.ids)
    with one_thread():
        for side, rows in of_side.items():
            given = Examples(rows, label[bags.number], np.ones(len(rows)))
            standards[side] = Standard(given, 2)
            sides[side] = BagTable(standards[side].inputs(rows)[bags.order], in_order, label)
        choice = choose_bag_plan(sides, poolings, leaf, max_leaves, seed)
        plan, table = choice.plan, sides[choice.plan.distances]
        standard = standards[plan.distances]
        trees = []
        for number in range(n_trees):
            own, own_plan = table, plan
            if n_trees > 1:
                seen = _draw_columns(medians, plan.distances, seed, number)
                own = replace(table, X=table.X * seen.astype(np.float32))
                if plan.penalty is not None:  # as if the others' share of the slopes were theirs
                    own_plan = replace(plan, penalty=plan.penalty * float(seen.mean()))
            trees.append(standard.without_constants(fit_plan(own, own_plan, seed + number)))
        importance = sum(_importance(tree, table) for tree in trees)
    return FittedBags(
        tuple(standard.unscale(tree) for tree in trees),
        refine.normalize(np.asarray(importance)),
        standard.scale,
        choice,
        of_side[plan.distances],
        reach,
    )


def _reach(X: np.ndarray, medians: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest number that training takes as it is, (d,) each."""
    center, spread = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
    plain = ~np.isnan(medians)
    low = np.where(plain, np.fmin(center - _REACH * spread, medians), -np.inf)
    high = np.where(plain, np.fmax(center + _REACH * spread, medians), np.inf)
    return low, high


def _with_distances(X: np.ndarray, medians: np.ndarray) -> np.ndarray:
    """Rows with every plain number's distance from its median behind it."""
    plain = np.flatnonzero(~np.isnan(medians))
    return np.insert(X, plain + 1, np.abs(X[:, plain] - medians[plain]), axis=1)


def _draw_columns(medians: np.ndarray, side: bool, seed: int, number: int) -> np.ndarray:
    """Which columns a tree sees: a random half, each with its distance if there is one, (d,)."""
    width = len(medians)
    drawn = np.random.default_rng([seed, 13, number]).permutation(width) < (width + 1) // 2
    return np.repeat(drawn, 1 + ~np.isnan(medians)) if side else drawn


def _importance(tree: ObliqueTree, table: BagTable) -> np.ndarray:
    """Every input's share in the variance of rows' scores, (d,)."""
    leaves = tree.apply(table.X)
    weight = 1.0 / table.bags.sizes[table.bags.number]
    levels = tree.leaf_values[leaves][:, 1:]
    gains = refine.input_gains(tree, table.X, levels, weight)
    if tree.leaf_weights is not None:  # columns have deviation 1, and leaves share their slopes
        gains = gains + weight.sum() * np.square(tree.leaf_weights[0, 1])
    return refine.normalize(gains)
