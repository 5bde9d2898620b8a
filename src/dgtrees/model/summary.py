"""A model in two or three lines: what it answers, how large it is, what it goes by."""

from __future__ import annotations

import numpy as np

from dgtrees.model.model import Model

__all__ = ["size_line", "summary_lines"]

_CLASSES, _COLUMNS = 8, 5
"""How many are named."""


def summary_lines(model: Model) -> list[str]:
    """Kind and task, size, and the columns that matter most where they are known.

    >>> from dgtrees import ObliqueTree
    >>> from dgtrees.model.model import model_of
    >>> tree = ObliqueTree.complete([[1.0, -1.0]], [0.0], [[0.0], [1.0]])
    >>> for line in summary_lines(model_of(tree)):
    ...     print(line)
    ObliqueTree, regression
    2 columns, depth 1, 2 leaves, at most 2 multiply-adds a prediction
    """
    task, classes = model.answer.task, model.answer.names or []
    if classes:
        task += f": {', '.join(classes[:_CLASSES])}{', ...' if len(classes) > _CLASSES else ''}"
    lines = [f"{model.kind}, {task}", size_line(model)]
    shares = model.facts.importances
    if shares is not None:
        order = np.argsort(-shares, kind="stable")[:_COLUMNS]
        listed = ", ".join(f"{model.names[j]} {shares[j]:.0%}" for j in order)
        lines.append(f"most important: {listed}")
    return lines


def size_line(model: Model) -> str:
    """Columns, depth, leaves, and the work of a prediction."""
    forest = model.forest
    return (
        f"{len(model.names)} columns, depth {forest.depth}, {forest.n_leaves} leaves, "
        f"at most {forest.flops:,} multiply-adds a prediction"
    )
