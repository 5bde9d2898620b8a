"""Checks that come before training: parameters, sizes, and a way back when something fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np

from dgtrees.errors import Problems
from dgtrees.learn.recipe import POLISH_PASSES, RECIPES, Recipe
from dgtrees.tree.leaf import LEAF_KINDS

__all__ = ["RECIPE_OVERRIDES", "check_shape", "check_size", "checked_recipe", "unchanged_on_error"]

_LARGEST = 30
"""Numbers of a tree, as a power of two: training holds ten copies, 40 GiB at that size."""

# Parameters of an estimator that replace a field of its recipe when they are not None.
RECIPE_OVERRIDES = {
    "n_layers": "n_layers",
    "hidden": "hidden",
    "loss": "loss",
    "max_epochs": "epochs",
    "batch_size": "batch_size",
    "learning_rate": "learning_rate",
    "l1": "l1",
    "l2": "l2",
    "patience": "patience",
    "max_columns": "max_columns",
}


@contextmanager
def unchanged_on_error(estimator: Any) -> Iterator[None]:
    """Give an estimator its attributes back if the block raises: no half-fitted models."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def check_shape(estimator: Any) -> None:
    """Check the parameters that every estimator has."""
    problems, depth, leaf = Problems(), estimator.max_depth, estimator.leaf
    automatic = hasattr(estimator, "max_leaves")  # a single tree, which may choose its size
    problems.require(
        (isinstance(depth, Integral) and not isinstance(depth, bool) and int(depth) >= 0)
        or (automatic and isinstance(depth, str) and depth == "auto"),
        "max_depth must be a whole number of at least 0"
        + (f" or 'auto', got {depth!r}" if automatic else f", got {depth!r}"),
    )
    kinds = (*(("auto",) if automatic else ()), *LEAF_KINDS)
    problems.require(
        isinstance(leaf, str) and leaf in kinds,
        f"leaf must be {' or '.join(map(repr, kinds))}, got {leaf!r}",
    )
    leaves = getattr(estimator, "max_leaves", None)
    problems.require(
        leaves is None
        or (isinstance(leaves, Integral) and not isinstance(leaves, bool) and int(leaves) >= 2),
        f"max_leaves must be a whole number of at least 2, or None, got {leaves!r}",
    )
    problems.require(
        leaves is None or depth == "auto",
        f"max_leaves={leaves!r} is for max_depth='auto', got max_depth={depth!r}: leave one out",
    )
    fraction = getattr(estimator, "validation_fraction", None)
    number = isinstance(fraction, Real) and 0.0 < float(fraction) < 1.0
    problems.require(
        number or fraction is None or fraction == "auto",
        f"validation_fraction must be between 0 and 1, 'auto' or None, got {fraction!r}",
    )
    problems.settle()


def checked_recipe(estimator: Any, task: str) -> Recipe:
    """An estimator's recipe with its own parameters in it, everything checked."""
    problems = Problems()
    with problems.collect():
        check_shape(estimator)
    refine = getattr(estimator, "refine", None)
    problems.require(refine in (None, "polish"), f"refine must be 'polish' or None, got {refine!r}")
    recipe = Recipe()
    with problems.collect():
        recipe = _preset(estimator, task)
    with problems.collect():
        recipe = _changed(estimator, recipe, refine)
    problems.require(
        recipe.target_scaling != "none" or estimator.leaf != "linear",
        "target_scaling='none' is for leaf='constant', since linear leaves are kept within the "
        "range of the targets, got leaf='linear': choose constant leaves",
    )
    problems.require(
        not isinstance(recipe.loss, str) or recipe.loss != "shares",
        "loss 'shares' is for targets that are class shares, which no y is: choose another",
    )
    problems.settle()
    return recipe


def _preset(estimator: Any, task: str) -> Recipe:
    """The recipe that an estimator has or names."""
    if isinstance(estimator.recipe, Recipe):
        return estimator.recipe
    if isinstance(estimator.recipe, str) and estimator.recipe in RECIPES:
        presets = RECIPES[estimator.recipe]
        return presets.get(f"{task}, {estimator.leaf} leaves", presets[task])
    raise ValueError(
        f"recipe must be one of {', '.join(RECIPES)} or a Recipe, got {estimator.recipe!r}"
    )


def _changed(estimator: Any, recipe: Recipe, refine: str | None) -> Recipe:
    """A recipe with an estimator's own parameters in it."""
    changes = {
        field: getattr(estimator, name)
        for name, field in RECIPE_OVERRIDES.items()
        if getattr(estimator, name, None) is not None
    }
    if "n_layers" in changes and "hidden" not in changes and isinstance(recipe.hidden, tuple):
        changes["hidden"] = recipe.hidden[0]
    if "batch_size" in changes:
        changes["min_batches"] = 1  # the size that was asked for, whatever the number of rows
    if refine == "polish" and not recipe.polish:
        changes["polish"] = POLISH_PASSES
    return replace(recipe, **changes) if changes else recipe


def check_size(max_depth: int, leaf: str, d: int, outputs: int) -> None:
    """Refuse a depth whose arrays are beyond any machine, before anything is allocated."""
    numbers = d + outputs * (1 + (d if leaf == "linear" else 0))
    # In powers of two, because 2^max_depth itself may be too large a number.
    if int(max_depth) + np.log2(numbers) > _LARGEST:
        raise ValueError(
            f"a tree must have at most 2^{_LARGEST} numbers, got max_depth={max_depth} with "
            f"2^{max_depth} leaves of {numbers:,} each: choose a smaller max_depth"
        )
