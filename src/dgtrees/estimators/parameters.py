"""Checks that come before training: parameters, memory, and a way back when something fails."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np

from dgtrees.errors import Problems
from dgtrees.learn.recipe import POLISH_PASSES, RECIPES, Recipe

__all__ = ["check_memory", "check_shape", "checked_recipe", "unchanged_on_error"]

# Parameters of an estimator that replace a field of its recipe when they are not None.
_RECIPE_OVERRIDES = {
    "n_layers": "n_layers",
    "hidden": "hidden",
    "loss": "loss",
    "max_epochs": "epochs",
    "batch_size": "batch_size",
    "learning_rate": "learning_rate",
    "l1": "l1",
    "l2": "l2",
    "patience": "patience",
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
    problems.require(
        isinstance(depth, Integral) and not isinstance(depth, bool) and int(depth) >= 0,
        f"max_depth must be a whole number of at least 0, got {depth!r}",
    )
    problems.require(
        leaf in ("constant", "linear"), f"leaf must be 'constant' or 'linear', got {leaf!r}"
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
        for name, field in _RECIPE_OVERRIDES.items()
        if getattr(estimator, name, None) is not None
    }
    if "n_layers" in changes and "hidden" not in changes and isinstance(recipe.hidden, tuple):
        changes["hidden"] = recipe.hidden[0]
    if "batch_size" in changes:
        changes["min_batches"] = 1  # the size that was asked for, whatever the number of rows
    if refine == "polish" and not recipe.polish:
        changes["polish"] = POLISH_PASSES
    return replace(recipe, **changes) if changes else recipe


def check_memory(max_depth: int, leaf: str, d: int, outputs: int, recipe: Recipe) -> None:
    """Refuse a depth whose arrays cannot fit, before anything is allocated."""
    if recipe.n_layers == 1:
        last = d
    else:
        last = 2046 if isinstance(recipe.hidden, str) else int(np.max(recipe.hidden))
    per_leaf = outputs * (1 + (d if leaf == "linear" else 0))
    # Weight, gradient, two moments of the optimiser, average and best copy, in float32; the folded
    # float64 copies; and the activations of a batch, forward and backward.
    per_node = 4.0 * (6 * (last + per_leaf) + 4 * (d + per_leaf) + 6 * recipe.batch_size)
    free = _free_memory()
    # In powers of two, because 2^max_depth itself may be too large a number.
    if free is not None and int(max_depth) + np.log2(per_node) > np.log2(max(free, 1.0)):
        raise ValueError(
            f"max_depth={max_depth} needs about 2^{max_depth} x {per_node / 1024:,.1f} KiB for its "
            f"leaves, but {free / 2**30:.1f} GiB are free: choose a smaller max_depth"
        )


def _free_memory() -> float | None:
    """Bytes that can be had now, where the system tells; a container's own limit counts too."""
    try:
        with open("/proc/meminfo") as stream:
            available = next(line for line in stream if line.startswith("MemAvailable:"))
        free = float(available.split()[1]) * 1024
    except (OSError, StopIteration):
        try:
            free = float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        except (OSError, ValueError, AttributeError):
            return None
    try:
        limit, used = (
            Path("/sys/fs/cgroup", name).read_text().strip()
            for name in ("memory.max", "memory.current")
        )
        return min(free, float(limit) - float(used))
    except (OSError, ValueError):  # no such files, or "max": no limit
        return free
