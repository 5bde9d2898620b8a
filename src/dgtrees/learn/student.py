"""Student: one hard tree for targets that all rows have, class shares or values.

The rows may be many and the targets a guess: noise on the rows (the recipe's) asks the tree to say
the same next to a row as on it. What its leaves hold, and how high it is, is chosen by how well it
says the targets of rows that it has not seen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import log_softmax, softmax

from dgtrees.learn import refine
from dgtrees.learn.descent import Descent
from dgtrees.learn.recipe import RECIPES, Recipe
from dgtrees.learn.rows import Rows
from dgtrees.learn.shrinkage import log_shares
from dgtrees.learn.starts import pair_start
from dgtrees.learn.threads import one_thread
from dgtrees.tree.oblique import ObliqueTree

__all__ = [
    "StudentPlan",
    "choose_student",
    "student_height",
    "student_importance",
    "student_plans",
    "student_recipe",
    "train_student",
]

_ROWS_PER_LEAF, _MOST_HEIGHT = 16, 8
_LOWER = 3
"""Levels that a tree of linear leaves does without."""

_HELD_OUT, _CHOICE_ROWS = 5, 5000
"""Every fifth row judges, of at most so many."""


@dataclass(frozen=True)
class StudentPlan:
    """Height of a complete tree, and what its leaves hold."""

    height: int
    leaf: str = "constant"

    def __str__(self) -> str:
        return f"{self.leaf} leaves, height {self.height}"


def student_plans(rows: int, max_depth: int | None, leaf: str) -> list[StudentPlan]:
    """What may be tried for so many rows.

    A given height is taken as it is, with constant leaves unless others are asked for.
    """
    if max_depth is not None:
        return [StudentPlan(max_depth, "linear" if leaf == "linear" else "constant")]
    height = student_height(rows)
    constant = StudentPlan(height)
    linear = [StudentPlan(low, "linear") for low in (0, max(1, height - _LOWER))]
    return {"constant": [constant], "linear": linear}.get(leaf, [constant, *linear])


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


def choose_student(
    X: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    classification: bool,
    plans: list[StudentPlan],
    recipe: Recipe,
    seed: int,
    n_threads: int = 1,
) -> dict[StudentPlan, float]:
    """Mean loss of every plan against the targets of rows held out, cross-entropy or squared error.

    Parameters are those of `train_student`.
    """
    some = np.random.default_rng([seed, 7]).permutation(len(X))[:_CHOICE_ROWS]
    learn, held = (np.sort(some[side]) for side in _fifth(len(some)))
    losses = {}
    for plan in plans:
        own = X[learn], target[learn], weight[learn]
        tree = train_student(*own, classification, plan, recipe, seed, n_threads)
        outputs = tree.predict(X[held])
        if classification:
            lost = -(target[held] * log_softmax(outputs, axis=1)).sum(axis=1)
        else:
            lost = np.square(target[held] - outputs).mean(axis=1)
        losses[plan] = float(np.average(lost, weights=weight[held]))
    return losses


def _fifth(rows: int) -> tuple[np.ndarray, np.ndarray]:
    held = np.arange(rows) % _HELD_OUT == 0
    return ~held, held


def train_student(
    X: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    classification: bool,
    plan: StudentPlan,
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
        start = pair_start(X, likely, weight, plan.height, classification, random)
        descent = Descent(start, X.shape[1], plan.leaf, recipe, False, seed)
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
        if plan.leaf == "linear":
            return tree
        sums = refine.leaf_sums(tree, tree.apply(X), target, weight)
        tree = refine.refit_from_sums(tree, sums, 1.0, classification)
    if classification:
        shares = np.exp(tree.leaf_values)
        tree = tree.with_leaves(log_shares(shares / shares.sum(axis=1, keepdims=True), len(X)))
    return tree


def student_importance(
    tree: ObliqueTree, X: np.ndarray, target: np.ndarray, weight: np.ndarray, classification: bool
) -> np.ndarray:
    """Every input's share in what the splits gain and in what linear leaves explain, (d,)."""
    gains = refine.input_gains(tree, X, target, weight)
    if tree.leaf_weights is not None:
        slopes = tree.leaf_weights
        if classification:  # of scores; those of shares are flatter
            p = softmax(tree.predict(X), axis=1)
            slopes = slopes * np.average(p * (1.0 - p), axis=0, weights=weight)[:, None]
        # Columns have deviation 1: a term's square is the variance that it makes.
        gains = gains + tree.visits(X, weight)[1] @ np.square(slopes).sum(axis=1)
    return refine.normalize(gains)
