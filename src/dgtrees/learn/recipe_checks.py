"""What a recipe may hold: names to choose from, and ranges of numbers."""

from __future__ import annotations

from math import inf, isfinite
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from dgtrees.errors import Problems

if TYPE_CHECKING:
    from dgtrees.learn.recipe import Recipe

__all__ = ["CLOSED_FORM", "QUANTIZER_NAMES", "TORCH_QUANTIZERS", "check_recipe"]

TORCH_QUANTIZERS = ("lsq", "annealed")
"""Of the paper's ablation: trained by `nn`, not by the compiled engine."""

QUANTIZER_NAMES = ("sign", "scaled_sign", "margin", *TORCH_QUANTIZERS)

_ABOVE_0 = 5e-324

_CHOICES = {
    "quantizer": QUANTIZER_NAMES,
    "path": ("sum", "product"),
    "optimizer": ("adamw", "rmsprop", "sgd"),
    "schedule": ("cosine", "constant"),
    "anneal_schedule": ("linear", "log"),
    "scaling": ("standard", "absolute"),
    "target_scaling": ("standard", "range", "none"),
    "start": ("random", "uniform", "pair", "hinge"),
}
_FLAGS = ("layer_biases", "output_bias", "penalize_biases", "log_copies")

# Whether a whole number, the least value, and the value it must stay below.
_RANGES = {
    "n_layers": (True, 1, inf),
    "softmax_scale": (False, _ABOVE_0, inf),
    "anneal_start": (False, _ABOVE_0, inf),
    "anneal_stop": (False, _ABOVE_0, inf),
    "local_after": (False, 0, inf),
    "learning_rate": (False, _ABOVE_0, inf),
    "leaf_learning_rate": (False, _ABOVE_0, inf),
    "reference_features": (True, 1, inf),
    "reference_rows": (True, 1, inf),
    "momentum": (False, 0, 1),
    "epsilon": (False, _ABOVE_0, inf),
    "least_rate": (False, 0, 1),
    "weight_decay": (False, 0, inf),
    "restarts": (True, 0, inf),
    "clip": (False, 0, inf),
    "batch_size": (True, 1, inf),
    "min_batches": (True, 1, inf),
    "epochs": (True, 1, inf),
    "steps": (True, 1, inf),
    "min_epochs": (True, 1, inf),
    "max_epochs": (True, 1, inf),
    "max_steps": (True, 1, inf),
    "start_depth": (True, 1, inf),
    "l1": (False, 0, inf),
    "l2": (False, 0, inf),
    "input_noise": (False, 0, inf),
    "relative_noise": (False, 0, inf),
    "label_smoothing": (False, 0, 1),
    "averaging": (False, 0, 1),
    "select_after": (False, 0, 1),
    "tries": (True, 1, inf),
    "max_tried_steps": (True, 1, inf),
    "patience": (True, 1, inf),
    "refit_strength": (False, 0, inf),
    "polish": (True, 0, inf),
    "max_columns": (True, 1, inf),
}
CLOSED_FORM = (None, "squared", "cross_entropy")
"""Losses whose best leaf is known; None is the task's own, which is one of them."""

_OPTIONAL = {
    "reference_features",
    "reference_rows",
    "start_depth",
    "epochs",
    "patience",
    "refit_strength",
    "max_columns",
}


def check_recipe(recipe: Recipe) -> None:
    """Refuse what cannot be meant, all of it at once."""
    problems = Problems()
    for name, allowed in _CHOICES.items():
        given = getattr(recipe, name)
        problems.require(
            given in allowed, f"{name} must be one of {', '.join(allowed)}, got {given!r}"
        )
    for name in _FLAGS:
        given = getattr(recipe, name)
        problems.require(
            isinstance(given, bool | np.bool_), f"{name} must be True or False, got {given!r}"
        )
    for name, bounds in _RANGES.items():
        given = getattr(recipe, name)
        if given is not None or name not in _OPTIONAL:
            _check_number(problems, name, given, *bounds)
    problems.require(
        recipe.max_columns is None or recipe.loss in CLOSED_FORM,
        f"max_columns={recipe.max_columns} is for squared error and cross-entropy, got "
        f"loss={recipe.loss!r}: leave one out",
    )
    problems.settle()


def _check_number(
    problems: Problems, name: str, value: Any, whole: bool, least: float, below: float
) -> None:
    kind = Integral if whole else Real
    known = isinstance(value, kind) and not isinstance(value, bool) and isfinite(value)
    number = "a whole number" if whole else "a number"
    # A strict bound is written as the smallest number above it.
    bound = "above 0" if least == _ABOVE_0 else f"of at least {least}"
    limit = "" if below == inf else f" and below {below}"
    problems.require(
        known and least <= value < below,
        f"{name} must be {number} {bound}{limit}, got {value!r}",
    )
