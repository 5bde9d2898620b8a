"""Node weights as images, for rows that are images themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import softmax

from dgtrees.model.model import Model, ModelLike, model_of
from dgtrees.model.plot.canvas import GREY, NO, YES, blank_axes
from dgtrees.model.text import count_leaves
from dgtrees.tree.leaf import outputs_at
from dgtrees.tree.oblique import ObliqueTree
from dgtrees.tree.topology import means_below, position

__all__ = ["plot_node_images"]

_FOOT = 0.36  # of a level, for the words below the lowest images


def plot_node_images(
    model: ModelLike,
    shape: tuple[int, int] | None = None,
    nodes: Sequence[int] | None = None,
    *,
    pixels: Any = None,
    max_depth: int = 3,
    feature_scale: Any = None,
    ax: Any = None,
) -> Any:
    """Draw the weights of decisions as images, arranged as in the tree.

    A bright pixel pushes to the blue branch (yes) where the image is blue, and to the orange one
    (no) where it is orange. Each image has a scale of its own, symmetric around 0, so that white
    is always 0.

    Parameters
    ----------
    model : estimator, policy or ObliqueTree
    shape : (rows, columns), optional
        Shape of an image; a square by default.
    nodes : sequence of int, optional
        Draw these nodes side by side in place of the upper levels of the tree.
    pixels : array-like of int, shape (columns of the table,), optional
        Where in the image, counted row by row, each column belongs; for tables that leave out
        some pixels.
    max_depth : int, default 3
        Levels of decisions to draw.
    feature_scale : array-like, optional
        Spread of every column, for a bare tree. Weights are multiplied by it.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
        The images are its `child_axes`, in the order of nodes.
    """
    seen = model_of(model)
    tree = seen.one_tree("plot_node_images")
    shape, pixels = _shape(tree, shape, pixels)
    if max_depth < 1:
        raise ValueError(f"max_depth must be at least 1, got {max_depth}")
    spread = seen.spread(feature_scale)

    def image(node: int) -> np.ndarray:
        weights = np.zeros(shape[0] * shape[1])
        weights[pixels] = tree.weights[node] * spread
        return weights.reshape(shape)

    if nodes is not None:
        return _side_by_side(tree, [int(node) for node in nodes], image, ax)
    return _as_tree(seen, tree, max_depth, image, ax)


def _shape(
    tree: ObliqueTree, shape: tuple[int, int] | None, pixels: Any
) -> tuple[tuple[int, int], np.ndarray]:
    d = tree.n_features
    if shape is None:
        side = round(d**0.5)
        if side * side != d or pixels is not None:
            raise ValueError(
                f"{d} columns make no square image: give shape=(rows, columns), and pixels= if "
                "some pixels are not in the table"
            )
        shape = side, side
    size = int(shape[0]) * int(shape[1])
    if pixels is None:
        if size != d:
            raise ValueError(
                f"shape={shape} has {size} pixels and the tree has {d} columns: give another "
                "shape, or pixels= to say where each column belongs"
            )
        return shape, np.arange(d)
    pixels = np.asarray(pixels)
    if pixels.shape != (d,) or len(np.unique(pixels)) != d or pixels.dtype.kind not in "iu":
        raise ValueError(f"pixels must be {d} different positions, got shape {pixels.shape}")
    if pixels.min() < 0 or pixels.max() >= size:
        raise ValueError(
            f"pixels must lie between 0 and {size - 1}, got {pixels.min()} to {pixels.max()}"
        )
    return shape, pixels


def _show(ax: Any, x: float, y: float, wide: float, tall: float, image: np.ndarray) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    # Data units run downwards from the top, fractions of the axes upwards.
    across, down = ax.get_xlim()[1], ax.get_ylim()[0]
    corner = (x - wide / 2) / across, 1 - (y + tall / 2) / down
    inset = ax.inset_axes([*corner, wide / across, tall / down])
    limit = np.abs(image).max() or 1.0
    inset.imshow(
        image,
        cmap=LinearSegmentedColormap.from_list("", [NO, "white", YES]),
        vmin=-limit,
        vmax=limit,
    )
    inset.set(xticks=[], yticks=[])
    for spine in inset.spines.values():
        spine.set_color(GREY)


def _side_by_side(tree: ObliqueTree, nodes: list[int], image: Any, ax: Any) -> Any:
    if not tree.n_nodes:
        raise ValueError(f"the tree is one leaf and has no nodes, got nodes={nodes}: leave it out")
    bad = [node for node in nodes if not 0 <= node < tree.n_nodes]
    if bad or not nodes:
        raise ValueError(
            f"nodes must be some of 0 to {tree.n_nodes - 1}, got {bad[0] if bad else 'none'}"
        )
    across = min(len(nodes), 6)
    down = -(-len(nodes) // across)
    ax = blank_axes(1.4 * across, 1.6 * down, ax)
    ax.set(xlim=(0, across), ylim=(down, 0))
    for i, node in enumerate(nodes):
        x, y = i % across + 0.5, i // across + 0.54
        _show(ax, x, y, 0.88, 0.8, image(node))
        ax.text(x, y - 0.46, f"node {node}", ha="center", va="center", fontsize=8)
    return ax


def _as_tree(seen: Model, tree: ObliqueTree, max_depth: int, image: Any, ax: Any) -> Any:
    levels = min(max_depth, tree.depth)
    across = 2 ** max(levels - 1, 0)
    wide = max(7.5 / across, 1.25)  # inches an image of the lowest level has
    size = min(wide * 0.9, 1.5)
    ax = blank_axes(max(across * wide, 4.0), (levels + _FOOT) * (size + 0.5), ax)
    # Data units: image widths of the lowest level across, levels down.
    ax.set(xlim=(0, across), ylim=(levels + _FOOT, 0))
    side = size / wide, size / (size + 0.5)
    below = _below(seen, tree)

    def put(child: int, left: float, right: float, level: int) -> None:
        x, y = (left + right) / 2, level + 0.5
        _show(ax, x, y, side[0], side[1], image(child))
        ax.text(
            x - side[0] / 2, y - side[1] / 2, f"{child} ", fontsize=7, color=GREY, ha="right",
            va="top", gid="number",
        )  # fmt: skip
        middle = (left + right) / 2
        for pointer, near, far, color, word in (
            (int(tree.left[child]), left, middle, NO, "no"),
            (int(tree.right[child]), middle, right, YES, "yes"),
        ):
            goes_on = pointer >= 0 and level + 1 < levels
            end = (near + far) / 2, level + (1.5 - side[1] / 2 if goes_on else 1.12)
            start = y + side[1] / 2
            ax.plot([x, end[0]], [start, end[1]], color=color, lw=1.4, zorder=0, gid=word)
            if goes_on:
                put(pointer, near, far, level + 1)
            else:
                ax.text(
                    *end, below(pointer), fontsize=7.5, ha="center", va="top", gid="below",
                    parse_math=False,
                )  # fmt: skip

    if tree.n_nodes:
        put(0, 0.0, float(across), 0)
    else:
        ax.text(
            0.5, 0.5, f"one leaf: {below(~0)}", ha="center", transform=ax.transAxes,
            parse_math=False,
        )  # fmt: skip
        return ax
    for y, word, color in ((0.03, "yes", YES), (0.13, "no", NO)):
        ax.text(0.03, y, word, color=color, weight="bold", fontsize=8, va="top")
    return ax


def _below(seen: Model, tree: ObliqueTree) -> Any:
    """What lies below a child: the classes that make up most of it, or the mean value."""
    if seen.leaf_words() is not None:
        return lambda child: (
            f"cluster {~child}" if child < 0 else f"{count_leaves(tree, child)} clusters"
        )
    outputs = outputs_at(tree, seen.typical)
    classes, rows = seen.answer.names, seen.leaf_rows()
    if classes is not None:
        outputs = softmax(outputs, axis=1)
    rows = np.ones(tree.n_leaves) if rows is None else rows
    mean = means_below(tree, rows, outputs)

    def text(child: int) -> str:
        found = mean[position(child, tree.n_nodes)]
        if classes is None:
            return ", ".join(f"{value:.3g}" for value in found[:3])
        likely = [k for k in np.argsort(-found, kind="stable")[:3] if found[k] >= 0.1]
        return "\n".join(f"{found[k]:.0%} {classes[k]}" for k in likely)

    return text
