"""What a run of `fit_shards` is, so that it goes on from no other run's checkpoint.

Everything that the result depends on is in it, and nothing else: not where the files lie, nor
whether progress is shown.
"""

from __future__ import annotations

import json
from types import FunctionType

from dgtrees.estimators.base import DGTEstimator
from dgtrees.estimators.stored_parameters import parameters_of
from dgtrees.learn.losses import Loss
from dgtrees.learn.recipe import Recipe

__all__ = ["check_loss", "identity"]

_WITHOUT_EFFECT = ("verbose", "warm_start")


def identity(model: DGTEstimator, recipe: Recipe, rows: list[tuple[str, str]]) -> str:
    """A text that is the same for runs with the same result.

    Parameters
    ----------
    model : DGTClassifier or DGTRegressor
        With its target learnt.
    recipe : Recipe
    rows : list of (str, str)
        Digests of every worker's training rows and validation rows.
    """
    packed = parameters_of(model)
    parameters = {n: v for n, v in packed["parameters"].items() if n not in _WITHOUT_EFFECT}
    loss = _name(recipe.loss) if callable(recipe.loss) else recipe.loss
    kind = type(model).__name__
    return json.dumps([kind, parameters, packed["recipe"], loss, model._class_list(), rows])


def check_loss(loss: Loss | str | None) -> None:
    """Refuse a loss whose name does not tell it from others."""
    if callable(loss) and (not isinstance(loss, FunctionType) or "<" in loss.__qualname__):
        raise ValueError(
            "a loss of your own must be a function at the top level of a module where there are "
            f"checkpoints, which know it by its name, got {loss!r}: define it there, or leave "
            "checkpoint out"
        )


def _name(loss: Loss) -> str:
    """Where a function is defined: that its code has not changed is its owner's business."""
    return f"{loss.__module__}.{loss.__qualname__}"  # type: ignore[attr-defined]
