"""Columns of numbers get their soft logarithm beside them, where a recipe says so.

A tree whose nodes weigh all columns then has both: the column's own units, and a scale on which a
few extreme values do not decide alone. A weighted sum of the two bends, and so does its boundary.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dgtrees.learn.recipe import Recipe
from dgtrees.learn.tails import Tails, find_copies
from dgtrees.tables.encoder import Encoder
from dgtrees.tables.examples import Examples

__all__ = ["add_log_copies"]


def add_log_copies(
    encoder: Encoder,
    recipe: Recipe,
    train: Examples,
    validation: Examples | None,
    kept: Encoder | None = None,
) -> tuple[Encoder, Examples, Examples | None]:
    """The encoder that makes such copies, and rows that have them; all as given where none is.

    Where training goes on, its columns are those that the encoder of the last fit, `kept`, made.
    """
    if kept is not None:
        tails = _tails_of(kept, encoder)
    elif recipe.log_copies:
        tails = find_copies(train.X, train.weight, encoder.medians)
    else:
        return encoder, train, validation
    if not tails:
        return encoder, train, validation
    if validation is not None:
        validation = replace(validation, X=tails.beside(validation.X))
    train = replace(train, X=tails.beside(train.X))
    return encoder.bending(tails.center, tails.spread, beside=True), train, validation


def _tails_of(kept: Encoder, encoder: Encoder) -> Tails:
    """The copies that one encoder makes, for rows of another that makes none."""
    center, spread, at = np.zeros(encoder.width), np.zeros(encoder.width), 0
    for before, now in zip(kept.columns, encoder.columns, strict=False):
        if before.beside and before.kind == now.kind:
            center[at], spread[at] = before.bent
        at += now.width
    return Tails(center, spread)
