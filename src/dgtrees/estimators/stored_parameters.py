"""Constructor parameters of estimators as JSON values and back, for model files and workers."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from dgtrees.learn.recipe import Recipe

__all__ = ["parameters_of", "unfitted"]


def unfitted(kind: type, header: dict[str, Any]) -> Any:
    """An estimator with the parameters that `parameters_of` packed."""
    parameters = {name: _unpacked(value) for name, value in header["parameters"].items()}
    if header["recipe"]:
        fields = header["recipe"].items()
        parameters["recipe"] = Recipe(**{name: _unpacked(value) for name, value in fields})
    return kind(**parameters)


def parameters_of(model: Any) -> dict[str, Any]:
    """Constructor parameters as JSON values; what JSON cannot hold becomes None."""
    parameters = model.get_params(deep=False)
    parameters.pop("encoder", None)  # the file has what it has learnt
    recipe = None
    if isinstance(parameters.get("recipe"), Recipe):
        recipe = {n: _packed(v) for n, v in asdict(parameters.pop("recipe")).items()}
    return {"parameters": {n: _packed(v) for n, v in parameters.items()}, "recipe": recipe}


def _packed(value: Any) -> Any:
    """A parameter as JSON can hold it: tuples and dicts are marked, the unknown becomes None."""
    if isinstance(value, (np.integer, np.floating, np.bool_)):
        value = value.item()
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return {"tuple": [_packed(item) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[_packed(key), _packed(item)] for key, item in value.items()]}
    return None


def _unpacked(value: Any) -> Any:
    """What `_packed` was given."""
    if isinstance(value, dict):
        if "tuple" in value:
            return tuple(_unpacked(item) for item in value["tuple"])
        return {_unpacked(key): _unpacked(item) for key, item in value["dict"]}
    return value
