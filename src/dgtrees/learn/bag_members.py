"""Fit of a bag model: standardised rows, the choice of a plan, and one tree or several.

Numbers that are farther than five deviations from their mean are taken for that: there are few
bags, and one extreme row would decide what its bag looks like.

Several trees are trained each by a plan drawn by what held-out bags said of it: where columns are
many, on all bags and a random half of the columns, and else on a bootstrap sample of the bags. A
row's score is the mean of theirs, moved so that bags score in the mean what single trees give them:
a mean has lower tops.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dgtrees.learn import refine
from dgtrees.learn.bag_choice import BagChoice, Sides, choose_bag_plan
from dgtrees.learn.bag_score import BagTable
from dgtrees.learn.bag_tree import BagPlan, fit_plan
from dgtrees.learn.standard import Standard
from dgtrees.learn.threads import one_thread
from dgtrees.tables.bags import Bags
from dgtrees.tables.examples import Examples
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["FittedBags", "fit_bags"]

_REACH = 5.0
_WIDE = 64
"""Columns from which on trees see half of them each; of fewer, one may be all that matters."""


@dataclass(frozen=True)
class FittedBags:
    """Trees on unscaled rows, importances and scales of the inputs, and how they were chosen.

    `rows` are those of training as the trees take them, `reach` the lowest and highest number of
    every column that was given, and `center` what distances beside them are from, if there are any.
    """

    trees: tuple[ObliqueTree, ...]
    importance: np.ndarray
    scale: np.ndarray
    choice: BagChoice
    rows: np.ndarray
    reach: tuple[np.ndarray, np.ndarray]
    center: np.ndarray | None


def fit_bags(
    X: np.ndarray,
    bags: Bags,
    label: np.ndarray,
    plain: np.ndarray,
    *,
    n_trees: int = 1,
    poolings: tuple[str, ...] = ("sum", "max"),
    leaf: str = "auto",
    max_leaves: int | None = None,
    seed: int = 0,
) -> FittedBags:
    """Choose a plan on held-out bags, and train it on all bags, once or several times.

    Parameters
    ----------
    X : ndarray of shape (rows, d)
    label : ndarray of shape (bags,)
        0 or 1.
    plain : ndarray of shape (d,)
        Which columns are plain numbers, beside which their distance from the mean may stand.
    """
    reach = _reach(X, plain)
    of_side = {False: np.clip(X, *reach)}
    center = np.where(plain, of_side[False].mean(axis=0, dtype=np.float64), np.nan)
    if plain.any():
        of_side[True] = _with_distances(of_side[False], center)
    standards: dict[bool, Standard] = {}
    sides: Sides = {}
    in_order = Bags(bags.number[bags.order], bags.ids)
    with one_thread():
        for side, rows in of_side.items():
            given = Examples(rows, label[bags.number], np.ones(len(rows)))
            standards[side] = Standard(given, 2)
            sides[side] = BagTable(standards[side].inputs(rows)[bags.order], in_order, label)
        choice = choose_bag_plan(sides, poolings, leaf, max_leaves, seed)
        plans = _plans(choice, len(label), n_trees, seed)
        far = any(plan.distances for plan in plans)
        trees = [
            fit_plan(sides[far], plan, seed)
            if n_trees == 1
            else _fit_member(sides[far], plan, plain, far, [seed, number])
            for number, plan in enumerate(plans)
        ]
        table = sides[far]
        trees = [standards[far].without_constants(tree) for tree in trees]
        trees = _level(trees, table, choice.plan.pooling)
        importance = np.sum([_importance(tree, table) for tree in trees], axis=0)
    return FittedBags(
        tuple(standards[far].unscale(tree) for tree in trees),
        refine.normalize(importance),
        standards[far].scale,
        choice,
        of_side[far],
        reach,
        center if far else None,
    )


def _reach(X: np.ndarray, plain: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest number that training takes as it is, (d,) each."""
    center, spread = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
    away = _REACH * spread + 1e-9 * np.abs(center)  # the mean of equal numbers is not always theirs
    low = np.where(plain, center - away, -np.inf)
    return low, np.where(plain, center + away, np.inf)


def _with_distances(X: np.ndarray, center: np.ndarray) -> np.ndarray:
    """Rows with every plain number's distance from its centre behind it."""
    plain = np.flatnonzero(~np.isnan(center))
    return np.insert(X, plain + 1, np.abs(X[:, plain] - center[plain]), axis=1)


# Several trees


def _plans(choice: BagChoice, bags: int, n_trees: int, seed: int) -> list[BagPlan]:
    """The plan of every tree: the best one of a single tree, others drawn by their shares."""
    if n_trees == 1 or not choice.losses:
        return [choice.plan] * n_trees
    shares = choice.shares(bags)
    random = np.random.default_rng([seed, 17])
    drawn = random.choice(len(shares), n_trees, p=list(shares.values()))
    return [list(shares)[i] for i in drawn]


def _fit_member(
    table: BagTable, plan: BagPlan, plain: np.ndarray, far: bool, key: list[int]
) -> ObliqueTree:
    """One of several trees; see the module docstring. Fewer slopes are penalised less."""
    random, width = np.random.default_rng([13, *key]), len(plain)
    drawn = np.ones(width, dtype=bool)
    if width >= _WIDE:
        drawn = random.permutation(width) < (width + 1) // 2
    else:  # as many bags of either label as there are, so that none is without one
        sides = [np.flatnonzero(table.label == value) for value in (0, 1)]
        bags = np.concatenate([random.choice(side, len(side)) for side in sides])
        table = table.take(np.sort(bags))
    seen = _seen(drawn, plain, plan.distances) if far else drawn
    if plan.penalty is not None:
        plan = replace(plan, penalty=plan.penalty * float(drawn.mean()))
    return fit_plan(replace(table, X=table.X * seen.astype(np.float32)), plan, sum(key))


def _seen(drawn: np.ndarray, plain: np.ndarray, distances: bool) -> np.ndarray:
    """Which columns a tree sees where distances stand beside them: if its plan has them, both."""
    own = np.cumsum(1 + plain) - 1 - plain
    seen = np.zeros(len(plain) + int(plain.sum()), dtype=bool)
    seen[own] = drawn
    seen[own[plain] + 1] = drawn[plain] & distances
    return seen


def _level(trees: list[ObliqueTree], table: BagTable, pooling: str) -> list[ObliqueTree]:
    """Trees with all leaves moved by one number; see the module docstring."""
    if len(trees) == 1:
        return trees
    scores = [tree.predict(table.X)[:, 1] for tree in trees]
    own = np.mean([table.bags.pool(one, pooling) for one in scores])
    moved = own - table.bags.pool(np.mean(scores, axis=0), pooling).mean()
    return [
        tree.with_leaves(tree.leaf_values + np.array([0.0, moved]), tree.leaf_weights)
        for tree in trees
    ]


def _importance(tree: ObliqueTree, table: BagTable) -> np.ndarray:
    """Every input's share in the variance of rows' scores, (d,)."""
    leaves = tree.apply(table.X)
    weight = 1.0 / table.bags.sizes[table.bags.number]
    levels = tree.leaf_values[leaves][:, 1:]
    gains = refine.input_gains(tree, table.X, levels, weight)
    if tree.leaf_weights is not None:  # columns have deviation 1, and leaves share their slopes
        gains = gains + weight.sum() * np.square(tree.leaf_weights[0, 1])
    return refine.normalize(gains)
