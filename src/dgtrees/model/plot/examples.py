"""What decisions look at, shown by the rows that they are surest of, for rows that have images."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dgtrees.model.model import ModelLike, model_of
from dgtrees.model.plot.canvas import GREY, NO, YES, blank_axes
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["plot_node_examples"]

_HEAD = 0.5  # of a line, for the words above the images
_EDGE = 0.1  # of an image, at the right
_GAP = 0.8  # of an image, between the sides, and half of what the numbers have


def plot_node_examples(
    model: ModelLike,
    X: Any,
    images: ArrayLike,
    *,
    max_depth: int = 3,
    each: int = 6,
    ax: Any = None,
) -> Any:
    """Draw images that every decision sends to its two sides, in the order of their margins.

    For trees whose columns say little by themselves, such as what a network makes of an image. A
    line is a node: on the left, images that go to the orange branch (no), on the right those that
    go to the blue one (yes). The outermost are those of which the node is surest, the innermost
    those of which it is least sure, and the others lie evenly between. Below a node's number is how
    many rows go to either side.

    Parameters
    ----------
    model : estimator, policy or ObliqueTree
    X : array-like or DataFrame of shape (rows, features)
        What the tree takes.
    images : array-like of shape (rows, height, width)
        The image behind every row of X; large values are dark.
    max_depth : int, default 3
        Levels of decisions to draw.
    each : int, default 6
        Images of each side.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
        The images are its `child_axes`, two for every node.
    """
    seen = model_of(model)
    tree, rows = seen.one_tree("plot_node_examples"), seen.encode(X)
    pictures = np.asarray(images, dtype=np.float64)
    if pictures.ndim != 3 or len(pictures) != len(rows):
        raise ValueError(
            f"images must have shape ({len(rows)}, height, width), one for every row of X, got "
            f"{pictures.shape}"
        )
    for name, value in (("max_depth", max_depth), ("each", each)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    if not tree.n_nodes:
        raise ValueError("the tree is one leaf and decides nothing: there is no node to draw")
    lines = _upper_nodes(tree, rows, max_depth)
    tall = pictures.shape[1] / pictures.shape[2]  # of an image as wide as 1
    across, down = 2 * each + 3 * _GAP + _EDGE, (len(lines) * (1 + 0.12) + _HEAD) * tall
    inch = min(0.55, 9.0 / across)
    ax = blank_axes(across * inch, down * inch, ax)
    ax.set(xlim=(0, across), ylim=(down, 0))
    middle = 2 * _GAP + each + _GAP / 2
    for word, color, x in (
        ("no", NO, middle - each / 2 - _GAP / 2),
        ("yes", YES, middle + each / 2),
    ):
        ax.text(x, 0.25 * tall, word, color=color, weight="bold", fontsize=9, ha="center")
    for i, (node, reached, margins) in enumerate(lines):
        top = (_HEAD + 1.12 * i) * tall
        order = np.argsort(margins, kind="stable")
        right = margins[order] >= 0
        text = f"{node}\n{(~right).sum():,} | {right.sum():,}"
        ax.text(_GAP, top + tall / 2, text, fontsize=7, color=GREY, ha="center", va="center")
        sides = (
            (_spread(order[~right], each), 2 * _GAP, NO),
            (_spread(order[right], each), middle + _GAP / 2, YES),
        )
        for picked, left, color in sides:
            strip = _strip(pictures[reached[picked]], each, right=color == YES)
            _show(ax, left, top, each, tall, strip, pictures, color)
    return ax


def _upper_nodes(
    tree: ObliqueTree, rows: np.ndarray, max_depth: int
) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """Nodes of the upper levels in order, with the rows that reach each and their margins."""
    found, level = [], [(0, np.arange(len(rows)))]
    for _ in range(max_depth):
        below = []
        for node, reached in level:
            margins = rows[reached] @ tree.weights[node] + tree.bias[node]
            found.append((node, reached, margins))
            for child, took in ((tree.left[node], margins < 0), (tree.right[node], margins >= 0)):
                if child >= 0:
                    below.append((int(child), reached[took]))
        level = below
    return found


def _spread(rows: np.ndarray, count: int) -> np.ndarray:
    """So many of the rows as are asked for, evenly from the first to the last."""
    if len(rows) <= count:
        return rows
    return rows[np.linspace(0, len(rows) - 1, count).round().astype(int)]


def _strip(pictures: np.ndarray, each: int, *, right: bool) -> np.ndarray:
    """Images side by side, and nothing where there are too few, (height, each x width)."""
    height, width = pictures.shape[1:]
    strip = np.full((height, each * width), np.nan)
    first = (each - len(pictures)) * width if right else 0
    for i, picture in enumerate(pictures):
        strip[:, first + i * width : first + (i + 1) * width] = picture
    return strip


def _show(
    ax: Any, left: float, top: float, each: int, tall: float, strip: Any, every: Any, color: str
) -> None:
    # Data units run downwards from the top, fractions of the axes upwards.
    across, down = ax.get_xlim()[1], ax.get_ylim()[0]
    inset = ax.inset_axes([left / across, 1 - (top + tall) / down, each / across, tall / down])
    inset.imshow(strip, cmap="Greys", vmin=every.min(), vmax=every.max(), aspect="auto")
    inset.set(xticks=[], yticks=[])
    for spine in inset.spines.values():
        spine.set_color(color)
