"""From rows to a tree: recipe, starts, descent, refining. NumPy and Numba only."""

from __future__ import annotations

from dgtrees.learn.recipe import RECIPES, Recipe

__all__ = ["RECIPES", "Recipe"]
