"""What a run of `fit_shards` is, so that it goes on from no other run's checkpoint.

Everything that the result depends on is in it, and nothing else: not where the files lie, nor
whether progress is shown.
"""

from __future__ import annotations

import json
from types import CodeType, FunctionType
from typing import Any

from dgtrees.estimators.storage import parameters_of
from dgtrees.learn.recipe import Recipe

__all__ = ["check_loss", "identity"]

_WITHOUT_EFFECT = ("verbose", "warm_start")


def identity(model: Any, recipe: Recipe, rows: list[tuple[str, str]]) -> str:
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
    loss = _function(recipe.loss) if isinstance(recipe.loss, FunctionType) else recipe.loss
    kind = type(model).__name__
    return json.dumps([kind, parameters, packed["recipe"], loss, model._class_list(), rows])


def check_loss(loss: Any) -> None:
    """Refuse a loss that cannot be told from others."""
    if callable(loss) and not isinstance(loss, FunctionType):
        raise ValueError(
            "a loss of your own must be a plain function where there are checkpoints, so that it "
            f"can be told from others, got {type(loss).__name__}: write it as a function, or "
            "leave checkpoint out"
        )


def _function(function: FunctionType) -> list[Any]:
    """A function's name, code, defaults and the values it was made with."""
    made_with = [cell.cell_contents for cell in function.__closure__ or ()]
    values = [function.__defaults__, function.__kwdefaults__, made_with]
    return [function.__qualname__, _code(function.__code__), repr(values)]


def _code(code: CodeType) -> list[Any]:
    constants = [_code(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return [code.co_code.hex(), constants, list(code.co_names)]
