"""From a table to the tree that suits it: choose a plan on held-out rows, train it on all rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from dgtrees.learn import refine
from dgtrees.learn.choice import Choice, choose
from dgtrees.learn.plans import Plan, Table, fit_plan
from dgtrees.learn.standard import Standard
from dgtrees.learn.threads import one_thread
from dgtrees.tables.examples import Examples
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["Automatic", "fit_automatically"]


@dataclass(frozen=True)
class Automatic:
    """A tree on unscaled rows, importances of the inputs, their scales, and how it was chosen."""

    tree: ObliqueTree
    importance: np.ndarray
    scale: np.ndarray
    choice: Choice


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
    """
    repeats = train.weight if repeats is None else repeats
    if not train.weight.all():  # a class that is not to count: as if its rows were absent
        some = train.weight > 0
        train = Examples(train.X[some], train.y[some], train.weight[some])
        repeats = repeats[some]
    standard = Standard(train, n_classes)
    # Weights that add up to less than one per row say nothing about a number of rows.
    unit = max(1.0, len(train.weight) / train.weight.sum())

    def table(rows: Examples) -> Table:
        X = np.ascontiguousarray(standard.inputs(rows.X))
        return Table(X, standard.targets(rows), rows.weight * unit, n_classes > 0)

    whole = table(train)
    held = None if validation is None else table(validation)
    with one_thread():
        choice = choose(whole, held, seed, leaf, max_leaves, n_threads, repeats)
        tree = standard.without_constants(fit_plan(whole, choice.plan, seed, n_threads))
    importance = _importance(tree, whole, choice.plan)
    return Automatic(standard.unscale(tree), importance, standard.scale, choice)


def _importance(tree: ObliqueTree, table: Table, plan: Plan) -> np.ndarray:
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
