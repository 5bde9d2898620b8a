"""Training: the only room that needs torch, which is imported when a name below is first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "RECIPES": "recipe",
    "Recipe": "recipe",
    "TrainableTree": "module",
    "Trainer": "trainer",
    "fit_tree": "batch",
}

__all__ = ["RECIPES", "Recipe", "TrainableTree", "Trainer", "fit_tree"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
