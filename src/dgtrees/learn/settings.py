"""Settings: a recipe as compiled code takes it, at one epoch."""

from __future__ import annotations

import numpy as np

from dgtrees.learn._losses import LOSSES
from dgtrees.learn._space import Settings
from dgtrees.learn._updates import OPTIMIZERS
from dgtrees.learn.recipe import Recipe
from dgtrees.tree.gradient import FORMS, LOCAL, MARGIN, SIGN, Decisions, largest_decision

__all__ = ["settings_of"]


def settings_of(
    recipe: Recipe,
    loss: str,
    batch_size: int,
    depth: int,
    noise: float,
    done: float,
    local: bool,
) -> Settings:
    """Settings when `done` (0 to 1) of the epochs are made, for a tree of this depth.

    `noise` is its size for the rows at hand; `local` says that only the path of a row learns.
    """
    return Settings(
        batch_size=batch_size,
        decisions=_decisions(recipe, depth, done, local),
        scaled=recipe.quantizer == "scaled_sign",
        loss=LOSSES[loss],
        smoothing=float(recipe.label_smoothing),
        noise=float(np.float32(noise)),
        relative_noise=float(np.float32(recipe.relative_noise)),
        optimizer=OPTIMIZERS[recipe.optimizer],
        momentum=float(recipe.momentum),
        epsilon=float(recipe.epsilon),
        weight_decay=float(recipe.weight_decay),
        l1=float(recipe.l1),
        l2=float(recipe.l2),
        penalize_biases=bool(recipe.penalize_biases),
        clip=float(recipe.clip),
        penalized=bool(recipe.l1 or recipe.l2 or recipe.clip),
        averaging=float(recipe.averaging),
    )


def _decisions(recipe: Recipe, depth: int, done: float, local: bool) -> Decisions:
    """Hard branches, softened for the gradient."""
    form = LOCAL if local else FORMS[recipe.path]
    scale = min(recipe.softmax_scale, largest_decision(depth))
    if recipe.quantizer == "margin":
        half = 0.5 * recipe.steepness(done)
        return Decisions(MARGIN, form, np.float32(scale), np.float32(half), np.float32(1))
    # The sign's slope is its size, but for the scaled one, whose size changes all the time.
    window = 1.0 if recipe.quantizer == "scaled_sign" else scale
    return Decisions(SIGN, form, np.float32(scale), np.float32(0), np.float32(window))
