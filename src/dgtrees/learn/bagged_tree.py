"""One tree of a forest, trained by gradient descent: a bootstrap sample in, a finished tree out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgtrees.learn.members import Member
from dgtrees.learn.recipe import Recipe
from dgtrees.learn.trainer import Trainer
from dgtrees.tables.examples import Examples, bootstrap

__all__ = ["Growing", "grow"]


@dataclass(frozen=True)
class Growing:
    """What the trees of a forest have in common.

    `n_classes` is 0 for regression; `share` of None gives every tree all rows.
    """

    max_depth: int
    leaf: str
    recipe: Recipe
    n_classes: int
    share: float | None


def grow(
    train: Examples,
    emphasis: np.ndarray | None,
    validation: Examples | None,
    growing: Growing,
    seed: int,
) -> Member:
    """Train a tree on the bootstrap sample of `seed`.

    `emphasis` (rows,) multiplies the weights of the rows that were drawn, for class weights.
    """
    counts = train.weight
    if growing.share is not None:
        counts = bootstrap(train.weight, growing.share, seed).astype(np.float64)
    weight = counts if emphasis is None else counts * emphasis
    drawn = np.flatnonzero(weight)
    if not drawn.size:
        raise ValueError(
            "all rows of a bootstrap sample have class weight 0: give such classes a weight above "
            "0, or leave their rows out"
        )
    weight = weight[drawn]
    sample = Examples(train.X[drawn], train.y[drawn], weight)
    trainer = Trainer(
        sample,
        max_depth=growing.max_depth,
        leaf=growing.leaf,
        recipe=growing.recipe,
        n_classes=growing.n_classes,
        seed=seed,
    )
    trainer.fit(sample, validation)
    return Member(*trainer.finish(sample, validation))
