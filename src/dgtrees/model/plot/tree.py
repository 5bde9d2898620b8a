"""A tree as a picture that can still be read at 64 leaves.

The tree grows from left to right, so that text has room: a column of boxes for every level of
decisions, and a table of leaves at the right, one line each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dgtrees.model.model import ModelLike, model_of
from dgtrees.model.plot.drawing import Drawing
from dgtrees.model.plot.leaves import LeafTable
from dgtrees.model.plot.places import place_all

__all__ = ["plot_tree"]

READABLE_DEPTH = 6
"""Levels of decisions drawn unless more are asked for: 64 lines of leaves."""


def plot_tree(
    model: ModelLike,
    *,
    max_depth: int | None = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    filled: bool = True,
    max_features: int = 3,
    feature_scale: Any = None,
    leaf_rows: Any = None,
    show_empty: bool = False,
    ax: Any = None,
) -> Any:
    """Draw a tree from its root at the left to its leaves at the right.

    A box is a decision and names the columns that weigh most in it (weight times spread). Their
    bars are blue where a larger value pushes to the blue branch (yes: the weighted sum is at
    least 0) and orange where it pushes to the orange one (no). Branches are as wide as the share
    of training rows that took them. A leaf is a line: shares of the classes, or the value, and
    its training rows. Numbers of nodes and leaves, in grey, are those of `explain` and `apply`.

    Parameters
    ----------
    model : estimator, policy or ObliqueTree
    max_depth : int, optional
        Levels of decisions to draw; 6 by default. Whatever lies below a cut becomes one line that
        says how many leaves it stands for.
    feature_names, class_names : sequence of str, optional
        Names to show in place of the model's own. For a bare tree, `class_names` say that its
        outputs are class scores.
    filled : bool, default True
        Whether leaves have coloured bars.
    max_features : int, default 3
        Columns to name in a box, where there is room for them.
    feature_scale : array-like of shape (columns,), optional
        Spread of every column, for a bare tree.
    leaf_rows : array-like of shape (leaves,), optional
        Training rows of every leaf, for a bare tree.
    show_empty : bool, default False
        Whether to draw leaves that no training row reaches, and decisions that send all of their
        training rows one way. New rows may go there.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure of the size that keeps text readable.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from dgtrees import ObliqueTree
    >>> tree = ObliqueTree.complete([[1.0, -2.0]], [0.5], [[10.0], [20.0]])
    >>> ax = plot_tree(tree, feature_names=["height", "age"])
    >>> [text.get_text() for text in ax.texts if text.get_gid() == "feature"]
    ['age', 'height']
    """
    seen = model_of(model)
    tree = seen.one_tree("plot_tree")
    if max_depth is not None and max_depth < 0:
        raise ValueError(f"max_depth must be at least 0, got {max_depth}")
    if max_features < 1:
        raise ValueError(f"max_features must be at least 1, got {max_features}")
    names = seen.named_features(feature_names)
    spread, rows = seen.spread(feature_scale), seen.leaf_rows(leaf_rows)
    classes = seen.class_names(class_names)
    reached = None if rows is None or show_empty else np.concatenate(tree.totals(rows)) > 0
    drawing = Drawing(
        tree,
        place_all(tree, READABLE_DEPTH if max_depth is None else max_depth, reached),
        rows,
        filled and classes is not None,
        ax,
    )
    drawing.edges()
    for place in drawing.places:
        if place.is_box:
            drawing.box(place, tree.weights[place.child] * spread, names, max_features)
    LeafTable(drawing, seen, classes, filled).draw()
    drawing.notes()
    return drawing.ax
