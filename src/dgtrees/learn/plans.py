"""Plans: what a tree may be, from a linear model to hundreds of leaves, and how each is made.

A plan is trained on standardised rows and ends in an `ObliqueTree` on them. It has up to three
parts: a linear function that all leaves share; a tree, grown best-first (and then, perhaps,
descended) or trained from random layers; and leaves that lean on their ancestors (`shrinkage`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import softmax

from dgtrees.learn import refine
from dgtrees.learn.descent import Descent
from dgtrees.learn.grown import Grown, grow_tree
from dgtrees.learn.linear import Linear, linear_models
from dgtrees.learn.recipe import RECIPES, Recipe
from dgtrees.learn.rows import Rows
from dgtrees.learn.shrinkage import levels_below, log_shares, node_values, sums_of_nodes
from dgtrees.learn.starts import Start, pair_start
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["DESCENT", "Plan", "Table", "fit_plan"]

DESCENT = Recipe(
    quantizer="margin",
    anneal_start=2.0,
    anneal_stop=6.0,
    local_after=0.0,
    learning_rate=1e-2,
    leaf_learning_rate=2e-2,
    batch_size=256,
    min_batches=12,
    epochs=30,
    averaging=0.1,
)
"""How a grown tree is descended: only the nodes that a row passes learn from it."""


@dataclass(frozen=True)
class Plan:
    """What to train.

    Parameters
    ----------
    penalty : float, optional
        Of the linear function that all leaves share; None for none.
    max_leaves, min_rows : int
        Size of a grown tree, and the rows that a leaf of it needs; 1 leaf for no such tree.
    epochs : int
        Of gradient descent, after growing or from random layers.
    start : float
        Pseudo-rows by which leaves lean on their ancestors when descent begins.
    max_depth, noise : int and float
        Height of a tree that is trained from random layers instead, and the noise on its rows; 0
        for no such tree.
    strength, learnt : float
        Pseudo-rows by which leaves lean on their ancestors; share of the leaf that descent has
        learnt in the final one.
    bent : bool
        Whether columns of long tails are bent (`tails`).
    """

    penalty: float | None = None
    max_leaves: int = 1
    min_rows: int = 1
    epochs: int = 0
    max_depth: int = 0
    noise: float = 0.0
    strength: float = 0.0
    learnt: float = 0.0
    start: float = 1.0
    bent: bool = False

    def same_tree(self, other: Plan) -> bool:
        """Whether both begin with the same tree, before descent and its leaves."""
        fields = ("penalty", "max_leaves", "min_rows", "max_depth", "noise", "start", "bent")
        return all(getattr(self, name) == getattr(other, name) for name in fields)

    def __str__(self) -> str:
        parts = []
        if self.penalty is not None:
            parts.append(f"linear (penalty {self.penalty:g})")
        if self.max_leaves > 1:
            grown = f"grown to {self.max_leaves} leaves of {self.min_rows}+ rows"
            parts.append(f"{grown}, {self.epochs} epochs" if self.epochs else grown)
        if self.max_depth:
            layers = f"layers of height {self.max_depth}, noise {self.noise:g}"
            parts.append(f"{layers}, {self.epochs} epochs")
        return (" + ".join(parts) or "constant") + (", long tails bent" if self.bent else "")


@dataclass(frozen=True)
class Table:
    """Standardised rows X (float32), targets (values, or classes one-hot) and weights.

    Where columns have long tails, `bent` has the rows with those columns bent.
    """

    X: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    classification: bool
    bent: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.X)

    def take(self, rows: np.ndarray) -> Table:
        """Some of the rows."""
        X = np.ascontiguousarray(self.X[rows])
        bent = None if self.bent is None else np.ascontiguousarray(self.bent[rows])
        return Table(X, self.target[rows], self.weight[rows], self.classification, bent)

    def side(self, bent: bool) -> Table:
        """The rows as a plan takes them: as they are, or bent."""
        return replace(self, X=self.bent) if bent and self.bent is not None else self

    @cached_property
    def labels(self) -> np.ndarray:
        """Class numbers, or the values themselves."""
        return self.target.argmax(axis=1) if self.classification else self.target

    def rows(self, offset: np.ndarray | None) -> Rows:
        """As descent takes them."""
        y = self.labels if self.classification else self.target.astype(np.float32)
        weight = (self.weight / self.weight.mean()).astype(np.float32)
        given = None if offset is None else offset.astype(np.float32)
        return Rows(self.X, y, weight, given).without_equal_weights()

    def losses(self, outputs: np.ndarray) -> np.ndarray:
        """Loss of every row: log-loss, or squared error."""
        if not self.classification:
            return np.square(outputs - self.target).mean(axis=1)
        top = outputs.max(axis=1, keepdims=True)
        norm = np.log(np.exp(outputs - top).sum(axis=1)) + top[:, 0]
        return norm - outputs[np.arange(len(outputs)), self.labels]

    def linear(self, penalties: tuple[float, ...]) -> list[Linear]:
        """Linear models of these rows."""
        return linear_models(self.X, self.target, self.weight, penalties, self.classification)


class Beside:
    """What a tree beside a linear function (or beside nothing) has to explain, for some rows."""

    def __init__(self, table: Table, linear: Linear | None) -> None:
        self.table, self.linear = table, linear
        self.shares = table.classification and linear is None
        self.offset = None if linear is None else linear.predict(table.X)
        weight = table.weight[:, None]
        if linear is None:
            self.residual = table.target
            self.sums, self.mass = weight * table.target, weight
        elif table.classification:
            p = softmax(self.offset, axis=1)
            self.residual = table.target - p
            # The loss's slope and curvature at the linear function: leaves are Newton steps.
            self.sums, self.mass = weight * self.residual, weight * p * (1.0 - p)
        else:
            self.residual = table.target - self.offset
            self.sums, self.mass = weight * self.residual, weight

    def grow(self, max_leaves: int, min_rows: int, seed: int) -> Grown:
        """A tree for the residual, or for the classes themselves."""
        table, residual = self.table, self.residual
        if not self.shares and table.classification and residual.shape[1] == 2:
            residual = residual[:, 1:]  # the first column is its mirror image
        return grow_tree(table.X, residual, table.weight, max_leaves, min_rows, self.shares, seed)

    def values(self, sums: np.ndarray, levels: list, strength: float) -> np.ndarray:
        """What nodes and leaves say, from sums of `stacked`."""
        k = self.sums.shape[1]
        if self.table.classification and not self.shares:
            strength = max(strength, 1.0)  # a Newton step without any penalty may run away
        values = node_values(levels, sums[:, :k], sums[:, k:], strength)
        return log_shares(values, float(self.table.weight.sum())) if self.shares else values

    @cached_property
    def stacked(self) -> np.ndarray:
        """Sums and mass of every row side by side."""
        return np.hstack([self.sums, self.mass])

    def grown_sums(self, grown: Grown, paths: np.ndarray) -> np.ndarray:
        """`stacked`, summed over the rows that pass every place of a grown tree."""
        stacked = self.stacked
        sums = np.zeros((len(grown.left), stacked.shape[1]))
        parent, leaf = grown.parent, paths[:, -1]
        for k in range(stacked.shape[1]):
            sums[:, k] = np.bincount(leaf, weights=stacked[:, k], minlength=len(sums))
        for place in range(len(parent) - 1, 0, -1):
            sums[parent[place]] += sums[place]
        return sums

    def mix(self, own: np.ndarray, learnt: np.ndarray, share: float) -> np.ndarray:
        """Leaves between what their rows say and what descent has learnt."""
        if share == 0.0:
            return own
        if not self.shares:
            return own + share * (learnt - own)
        p = (1.0 - share) * softmax(own, axis=1) + share * softmax(learnt, axis=1)
        return log_shares(p, float(self.table.weight.sum()))

    def leaves(
        self, tree: ObliqueTree, strengths: tuple[float, ...], learnt: tuple[float, ...]
    ) -> Iterator[tuple[float, float, np.ndarray]]:
        """Leaf values (leaves, outputs) of a trained tree, for all strengths and mixtures."""
        sums = sums_of_nodes(tree, tree.apply(self.table.X), self.stacked)
        levels = levels_below(tree.parent)
        for strength in strengths:
            own = self.values(sums, levels, strength)[tree.n_nodes :]
            for share in learnt:
                yield strength, share, self.mix(own, tree.leaf_values, share)

    def descent(self, start: Start, recipe: Recipe, seed: int) -> Descent:
        """A tree under training beside the linear function."""
        d = self.table.X.shape[1]
        return Descent(start, d, "constant", recipe, self.table.classification, seed)


def grown_descent(beside: Beside, plan: Plan, seed: int) -> Descent:
    """A grown tree that is ready to be descended."""
    grown = beside.grow(plan.max_leaves, plan.min_rows, seed)
    table = beside.table
    sums = beside.grown_sums(grown, grown.paths(table.X))
    values = beside.values(sums, levels_below(grown.parent), plan.start)
    return beside.descent(grown.start(table.X, table.weight, values), DESCENT, seed)


def layered_recipe(plan: Plan, classification: bool) -> Recipe:
    """The default recipe with the plan's noise."""
    task = "classification" if classification else "regression"
    return replace(RECIPES["default"][task], input_noise=plan.noise)


def layered_descent(beside: Beside, plan: Plan, seed: int) -> tuple[Descent, Recipe]:
    """A tree of random layers that is ready to be trained."""
    table = beside.table
    recipe = layered_recipe(plan, table.classification)
    random = np.random.default_rng([seed, 1])
    target = table.target if beside.shares else beside.residual
    start = pair_start(table.X, target, table.weight, plan.max_depth, beside.shares, random)
    return beside.descent(start, recipe, seed), recipe


def fit_plan(table: Table, plan: Plan, seed: int, n_threads: int = 1) -> ObliqueTree:
    """The plan's tree for all rows of a table."""
    table = table.side(plan.bent)
    linear = None if plan.penalty is None else table.linear((plan.penalty,))[0]
    beside = Beside(table, linear)
    if plan.max_depth:
        descent, recipe = layered_descent(beside, plan, seed)
        rows = table.rows(beside.offset)
        run = descent.begin(rows, recipe, epochs=plan.epochs, n_threads=n_threads)
        run.advance().finish()
        noise = recipe.noise(*table.X.shape), recipe.relative_noise, np.random.default_rng(seed)
        visits = refine.noisy_visits(descent.tree(), table.X, table.weight, *noise)
        tree = descent.tree().keep_leaves(visits > 0)
    elif plan.max_leaves > 1:
        descent = grown_descent(beside, plan, seed)
        run = descent.begin(table.rows(beside.offset), DESCENT, n_threads=n_threads)
        run.advance(plan.epochs).finish()
        tree = descent.tree().prune(table.X)
    else:
        tree = _one_leaf(table)
    ((_, _, values),) = beside.leaves(tree, (plan.strength,), (plan.learnt,))
    if linear is None:
        return tree.with_leaves(values)
    if plan.max_leaves <= 1 and not plan.max_depth:
        values = np.zeros_like(values)
    slopes = np.repeat(linear.weights[None], tree.n_leaves, axis=0)
    return tree.with_leaves(values + linear.bias, slopes)


def _one_leaf(table: Table) -> ObliqueTree:
    d, outputs = table.X.shape[1], table.target.shape[1]
    none = np.zeros(0, dtype=np.int32)
    return ObliqueTree(np.zeros((0, d)), np.zeros(0), none, none, np.zeros((1, outputs)))
