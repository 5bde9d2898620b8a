"""Fit of a bag model: standardised rows, the choice of a plan, and one tree or several.

Numbers that are farther than five deviations from their mean are taken for that: there are few
bags, and one extreme row would decide what its bag looks like.

One tree is the average of linear scores that held-out bags find about as good (`bag_average`), or a
tree of several leaves where they prefer that. Several trees are trained where columns are many on
all bags and a random half of the columns, and else on a bootstrap sample of the bags: trees of
constant leaves, each with the linear average as its other half, or trees of the plan that was
chosen. A row's score is the mean of theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dgtrees.learn import refine
from dgtrees.learn.bag_average import beside, fit_average, missing_top, moved
from dgtrees.learn.bag_choice import LEAVES, BagChoice, Sides, choose_bag_plan
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
        many = LEAVES if max_leaves is None else min(LEAVES, max_leaves)
        mixed = n_trees > 1 and leaf == "auto" and many > 1 and bool(choice.losses)
        members = _Members(sides, choice, plain, n_trees, many if mixed else 1, seed)
        far, table = members.far, members.table
        trees = [standards[far].without_constants(tree) for tree in members.fit()]
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


# Trees of a choice


class _Members:
    """The trees that a choice is for, on standardised rows.

    Parameters
    ----------
    leaves : int
        Of trees beside a linear average; 1 for linear scores alone.
    """

    def __init__(
        self,
        sides: Sides,
        choice: BagChoice,
        plain: np.ndarray,
        n_trees: int,
        leaves: int,
        seed: int,
    ) -> None:
        self.choice, self.plain, self.n_trees = choice, plain, n_trees
        self.leaves, self.seed = leaves, seed
        self.pooling, self.linear = choice.plan.pooling, choice.plan.max_leaves == 1
        several = self.linear or n_trees > 1
        self.shares = choice.shares(len(sides[False].label)) if several else {choice.plan: 1.0}
        trees_far = self.linear and leaves > 1 and True in sides
        self.far = trees_far or any(plan.distances for plan in self.shares)
        self.table = sides[self.far]

    def fit(self) -> list[ObliqueTree]:
        """One tree or several."""
        n_trees = self.n_trees
        if not self.linear and n_trees == 1:
            return [fit_plan(self.table, self.choice.plan, self.seed)]
        if not self.linear or (n_trees > 1 and self.leaves == 1):
            trees = [self._member(plan, i) for i, plan in enumerate(self._drawn())]
            counts = [1.0 / n_trees] * n_trees
            up = missing_top(trees, counts, self.table, self.pooling)
            return [moved(tree, up) for tree in trees]
        self.choice.averaged = len(self.shares)
        every = np.ones(len(self.plain), dtype=bool)
        tables = {plan.distances: self._seen_by(plan, every) for plan in self.shares}
        line = fit_average(tables, self.shares)
        if n_trees == 1:
            return [line]
        plan = BagPlan(self.pooling, None, self.leaves, self.far)
        trees = [self._member(plan, number) for number in range(n_trees)]
        return beside(line, trees, self.table, self.pooling)

    def _drawn(self) -> list[BagPlan]:
        """Plans drawn by their shares."""
        random = np.random.default_rng([self.seed, 17])
        drawn = random.choice(len(self.shares), self.n_trees, p=list(self.shares.values()))
        return [list(self.shares)[i] for i in drawn]

    def _member(self, plan: BagPlan, number: int) -> ObliqueTree:
        """One of several trees; see the module docstring. Fewer slopes are penalised less."""
        random, width = np.random.default_rng([13, self.seed, number]), len(self.plain)
        drawn = np.ones(width, dtype=bool)
        bags = np.arange(len(self.table.label))
        if width >= _WIDE:
            drawn = random.permutation(width) < (width + 1) // 2
        else:  # as many bags of either label as there are, so that none is without one
            by_label = [np.flatnonzero(self.table.label == value) for value in (0, 1)]
            bags = np.sort(np.concatenate([random.choice(own, len(own)) for own in by_label]))
        if plan.penalty is not None:
            plan = replace(plan, penalty=plan.penalty * float(drawn.mean()))
        return fit_plan(self._seen_by(plan, drawn).take(bags), plan, self.seed + number)

    def _seen_by(self, plan: BagPlan, drawn: np.ndarray) -> BagTable:
        """The table with 0 in columns that were not drawn, and in distances if it has none."""
        seen = _seen(drawn, self.plain, plan.distances) if self.far else drawn
        if seen.all():
            return self.table
        return replace(self.table, X=self.table.X * seen.astype(np.float32))


def _seen(drawn: np.ndarray, plain: np.ndarray, distances: bool) -> np.ndarray:
    """Which columns a tree sees where distances stand beside them: if its plan has them, both."""
    own = np.cumsum(1 + plain) - 1 - plain
    seen = np.zeros(len(plain) + int(plain.sum()), dtype=bool)
    seen[own] = drawn
    seen[own[plain] + 1] = drawn[plain] & distances
    return seen


def _importance(tree: ObliqueTree, table: BagTable) -> np.ndarray:
    """Every input's share in the variance of rows' scores, (d,)."""
    leaves = tree.apply(table.X)
    weight = 1.0 / table.bags.sizes[table.bags.number]
    levels = tree.leaf_values[leaves][:, 1:]
    gains = refine.input_gains(tree, table.X, levels, weight)
    if tree.leaf_weights is not None:  # columns have deviation 1, and leaves share their slopes
        gains = gains + weight.sum() * np.square(tree.leaf_weights[0, 1])
    return refine.normalize(gains)
