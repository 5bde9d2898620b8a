"""From a table to the tree that suits it: choose a plan on held-out rows, train it on all rows.

A table with columns of long tails has two sides: as it is, but for columns that must be bent, and
with all such columns bent. A plan is for one of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import softmax

from dgtrees.learn import refine
from dgtrees.learn.choice import Choice, choose
from dgtrees.learn.plans import Table, fit_plan
from dgtrees.learn.standard import Standard
from dgtrees.learn.tails import Tails, find_tails
from dgtrees.learn.threads import one_thread
from dgtrees.tables.examples import Examples
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["Automatic", "fit_automatically"]


@dataclass(frozen=True)
class Automatic:
    """A tree on unscaled rows, importances of the inputs, their scales, and how it was chosen.

    The tree takes rows whose columns are bent as `tails` says.
    """

    tree: ObliqueTree
    importance: np.ndarray
    scale: np.ndarray
    choice: Choice
    tails: Tails


def fit_automatically(
    train: Examples,
    validation: Examples | None,
    n_classes: int,
    *,
    leaf: str = "auto",
    max_leaves: int | None = None,
    seed: int = 0,
    n_threads: int = 1,
    repeats: np.ndarray | None = None,
    medians: np.ndarray | None = None,
) -> Automatic:
    """Choose by `validation` rows, or by parts of the training rows, and train on the latter.

    Parameters
    ----------
    n_classes : int
        0 for regression.
    leaf, max_leaves
        What the tree may have: "auto", "constant" or "linear" leaves, and how many.
    repeats : ndarray of shape (rows,), optional
        How many rows every one stands for, where class weights make its weight another.
    medians : ndarray of shape (d,), optional
        Those of columns that may be bent, NaN for all others; without, none is.
    """
    repeats = train.weight if repeats is None else repeats
    if not train.weight.all():  # a class that is not to count: as if its rows were absent
        some = train.weight > 0
        train = Examples(train.X[some], train.y[some], train.weight[some])
        repeats = repeats[some]
    none = np.full(train.X.shape[1], np.nan)
    sides = [*find_tails(train.X, repeats, none if medians is None else medians)]
    if np.array_equal(sides[0].spread, sides[1].spread):
        sides = sides[:1]
    standards = [Standard(replace(train, X=side.bend(train.X)), n_classes) for side in sides]
    # Weights that add up to less than one per row say nothing about a number of rows.
    unit = max(1.0, len(train.weight) / train.weight.sum())

    def table(rows: Examples) -> Table:
        pairs = zip(standards, sides, strict=True)
        X, *bent = (np.ascontiguousarray(one.inputs(side.bend(rows.X))) for one, side in pairs)
        targets = standards[0].targets(rows)
        return Table(X, targets, rows.weight * unit, n_classes > 0, bent[0] if bent else None)

    whole = table(train)
    held = None if validation is None else table(validation)
    with one_thread():
        choice = choose(whole, held, seed, leaf, max_leaves, n_threads, repeats)
        which = int(choice.plan.bent and len(sides) > 1)
        standard = standards[which]
        tree = standard.without_constants(fit_plan(whole, choice.plan, seed, n_threads))
    importance = _importance(tree, whole.side(choice.plan.bent))
    return Automatic(standard.unscale(tree), importance, standard.scale, choice, sides[which])


def _importance(tree: ObliqueTree, table: Table) -> np.ndarray:
    """Every input's share: what its splits gain, and what its linear term explains, (d,)."""
    target, linear = table.target, np.zeros(table.X.shape[1])
    if tree.leaf_weights is not None:
        slope, outputs = tree.leaf_weights[0], tree.predict(table.X)
        bias = np.average(tree.leaf_values, axis=0)
        shared = table.X @ slope.T + bias
        if table.classification:
            p = softmax(shared, axis=1)
            target, slope = target - p, slope * (p * (1.0 - p)).mean(axis=0)[:, None]
        else:
            target = target - (outputs - tree.leaf_values[tree.apply(table.X)]) - bias
        # Columns have deviation 1: a term's square is the variance that it makes.
        linear = table.weight.sum() * np.square(slope).sum(axis=0)
    gains = refine.input_gains(tree, table.X, target, table.weight)
    return refine.normalize(gains + linear)
