"""A model in two or three lines: what it answers, how large it is, what it goes by."""

from __future__ import annotations

import numpy as np

from dgtrees.model.model import Model

__all__ = ["one_leaf", "size_line", "summary_lines"]

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
    if shares is not None and shares.any():  # a tree of one leaf has no splits to share out
        order = np.argsort(-shares, kind="stable")[:_COLUMNS]
        listed = ", ".join(f"{model.names[j]} {shares[j]:.0%}" for j in order)
        lines.append(f"most important: {listed}")
    return lines


def size_line(model: Model) -> str:
    """Columns, depth, leaves, and the work of a prediction."""
    forest = model.forest
    if model.alone and forest.n_leaves == 1:
        shape = f"no questions: {one_leaf(model)}"
    else:
        shape = f"depth {forest.depth}, {forest.n_leaves} leaves"
    work = f"at most {forest.flops:,} multiply-adds a prediction"
    return f"{len(model.names)} columns, {shape}, {work}"


def one_leaf(model: Model) -> str:
    """What a tree is that asks nothing.

    >>> import numpy as np
    >>> from dgtrees import ObliqueTree
    >>> from dgtrees.model.model import model_of
    >>> one_leaf(model_of(ObliqueTree.complete(np.empty((0, 2)), [], [[3.0]])))
    'one constant answer for every row'
    """
    tree = model.forest.trees[0]
    if not tree.linear:
        return "one constant answer for every row"
    several = tree.n_outputs > (1 if model.answer.names is None else 2)
    return "a linear model, one formula " + ("per class" if several else "for every row")
