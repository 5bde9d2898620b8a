"""One hard tree that answers as something else does: to be read, drawn and exported instead of it.

NumPy and Numba only, so that policies, which know neither torch nor scikit-learn, can use it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dgtrees.learn import refine
from dgtrees.learn.descent import Descent
from dgtrees.learn.recipe import RECIPES
from dgtrees.learn.rows import Rows
from dgtrees.learn.scaling import moments
from dgtrees.learn.starts import random_start
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["distil_tree"]

_STEPS = 2000
_PSEUDO_ROWS = 5.0
"""Rows' worth of a leaf's learnt value when it is set to the mean of its rows."""


def distil_tree(
    X: np.ndarray,
    targets: np.ndarray,
    max_depth: int = 6,
    leaf: str = "constant",
    seed: int = 0,
    n_steps: int = _STEPS,
) -> ObliqueTree:
    """A complete tree, pruned to the leaves that rows reach, whose outputs are near the targets.

    Errors of all outputs count alike: they are in one unit, as expected rewards of actions are.

    Parameters
    ----------
    X : ndarray of shape (rows, d)
        Finite.
    targets : ndarray of shape (rows, outputs)
    max_depth : int
    leaf : "constant" or "linear"
    seed : int
    n_steps : int
        About so many steps of training.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> tree = distil_tree(X, np.where(X[:, :1] > X[:, 1:], 1.0, -1.0), max_depth=2)
    >>> (np.sign(tree.predict(X)[:, 0]) == np.sign(X[:, 0] - X[:, 1])).mean() > 0.97
    np.True_
    """
    weight = np.ones(len(X))
    center, spread = moments(X, weight)
    scale = np.where(spread > 0, spread, 1.0)
    middle = targets.mean(axis=0)
    # Targets that do not vary have the unit 0, which makes every leaf their mean.
    unit = float(np.sqrt(np.square(targets - middle).mean()))
    Z, aim = (X - center) / scale, (targets - middle) / (unit or 1.0)
    kind = "regression" if leaf == "constant" else "regression, linear leaves"
    recipe = replace(RECIPES["default"][kind], steps=n_steps, min_epochs=1)
    start = random_start(max_depth, aim.shape[1], np.random.default_rng([seed, 1]))
    descent = Descent(start, X.shape[1], leaf, recipe, False, seed)
    rows = Rows(Z.astype(np.float32), aim.astype(np.float32))
    descent.begin(rows, recipe).advance().finish()
    tree = descent.tree()
    tree = ObliqueTree(
        np.where(spread > 0, tree.weights, 0.0),  # still random where a column never varied
        tree.bias,
        tree.left,
        tree.right,
        tree.leaf_values,
        None if tree.leaf_weights is None else np.where(spread > 0, tree.leaf_weights, 0.0),
    ).prune(Z)
    tree = refine.refit_leaves(tree, Z, aim, weight, _PSEUDO_ROWS, False)
    tree = tree.on_unscaled_inputs(center, scale)
    return tree.on_scaled_outputs(middle, np.full(len(middle), unit))
