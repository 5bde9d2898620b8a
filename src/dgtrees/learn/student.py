"""Student: one hard tree for targets that all rows have, class shares or values.

The rows may be many and the targets a guess: noise on the rows (the recipe's) asks the tree to say
the same next to a row as on it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dgtrees.learn import refine
from dgtrees.learn.descent import Descent
from dgtrees.learn.recipe import RECIPES, Recipe
from dgtrees.learn.rows import Rows
from dgtrees.learn.shrinkage import log_shares
from dgtrees.learn.starts import pair_start
from dgtrees.learn.threads import one_thread
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["student_height", "student_recipe", "train_student"]

_ROWS_PER_LEAF, _MOST_HEIGHT = 16, 8


def student_height(rows: int) -> int:
    """Height of a complete tree that has some rows for every leaf, at most 8.

    >>> student_height(400), student_height(1500), student_height(60_000)
    (4, 6, 8)
    """
    return int(np.clip(np.log2(max(rows, 2) / _ROWS_PER_LEAF), 1, _MOST_HEIGHT))


def student_recipe(classification: bool, max_epochs: int | None = None) -> Recipe:
    """The default recipe, for targets that need not be learnt by heart in as many passes."""
    task = "classification" if classification else "regression"
    recipe = RECIPES["default"][task]
    loss = "shares" if classification else "squared"
    return replace(
        recipe, loss=loss, label_smoothing=0.0, epochs=max_epochs, steps=6000, min_epochs=40
    )


def train_student(
    X: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    classification: bool,
    max_depth: int,
    recipe: Recipe,
    seed: int,
    n_threads: int = 1,
) -> ObliqueTree:
    """The tree, on standardised rows.

    Parameters
    ----------
    X : ndarray of shape (rows, d)
        Standardised, float32.
    target : ndarray of shape (rows, outputs)
        Class shares, or values of mean 0 and deviation 1.
    weight : ndarray of shape (rows,)
    """
    with one_thread():
        random = np.random.default_rng([seed, 1])
        likely = np.eye(target.shape[1])[target.argmax(axis=1)] if classification else target
        start = pair_start(X, likely, weight, max_depth, classification, random)
        descent = Descent(start, X.shape[1], "constant", recipe, False, seed)
        rows = Rows(
            np.ascontiguousarray(X),
            np.ascontiguousarray(target, np.float32),
            (weight / weight.mean()).astype(np.float32),
        )
        run = descent.begin(rows.without_equal_weights(), recipe, n_threads=n_threads)
        run.advance().finish()
        tree = descent.tree()
        noise = recipe.noise(*X.shape), recipe.relative_noise, np.random.default_rng(seed)
        tree = tree.keep_leaves(refine.noisy_visits(tree, X, weight, *noise) > 0)
        sums = refine.leaf_sums(tree, tree.apply(X), target, weight)
        tree = refine.refit_from_sums(tree, sums, 1.0, classification)
    if classification:
        shares = np.exp(tree.leaf_values)
        tree = tree.with_leaves(log_shares(shares / shares.sum(axis=1, keepdims=True), len(X)))
    return tree
