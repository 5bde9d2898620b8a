"""Training: the only room that needs torch, which is imported when a name below is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dgtrees.learn.recipe import RECIPES, Recipe
    from dgtrees.learn.trainer import Trainer

_HOMES = {
    "RECIPES": "recipe",
    "Recipe": "recipe",
    "Trainer": "trainer",
}

__all__ = ["RECIPES", "Recipe", "Trainer"]


if not TYPE_CHECKING:  # whose reader would believe that every name exists

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
