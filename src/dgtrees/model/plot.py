"""A tree and its training as pictures. Needs matplotlib (the extra `dgtrees[plot]`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dgtrees.model.text import count_leaves, describe_leaf
from dgtrees.tree.oblique import ObliqueTree

__all__ = ["plot_history", "plot_tree"]

_LEFT, _RIGHT, _LINE = "#c44e52", "#4c72b0", "#9a9a9a"


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'dgtrees[plot]'") from error
    return plt


def plot_history(history: dict[str, list[float]], ax: Any = None) -> Any:
    """Loss, and the validation score where there is one, by epoch. Returns the Axes."""
    if ax is None:
        _, ax = _pyplot().subplots(figsize=(6, 3.5), layout="constrained")
    epochs = np.arange(1, len(history["loss"]) + 1)
    lines = ax.plot(epochs, history["loss"], color=_LINE, label="training loss")
    if "val_loss" in history:
        lines += ax.plot(epochs, history["val_loss"], color=_LEFT, label="validation loss")
    score = next((name for name in ("val_accuracy", "val_rmse") if name in history), None)
    if score:
        other = ax.twinx()
        label = score.removeprefix("val_")
        lines += other.plot(
            epochs, history[score], color=_RIGHT, label=f"validation {label} (right)"
        )
        other.set_ylabel(label)
    ax.set_xlabel("epoch")
    ax.set_ylabel("loss")
    ax.figure.legend(
        handles=lines, frameon=False, loc="outside lower center", ncols=len(lines), fontsize=8
    )
    return ax


def plot_tree(
    tree: ObliqueTree,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    *,
    feature_scale: Any = None,
    leaf_rows: Any = None,
    image_shape: tuple[int, int] | None = None,
    max_depth: int = 3,
    max_weights: int = 4,
    ax: Any = None,
) -> Any:
    """Draw the upper part of a tree. Returns the Axes.

    Parameters
    ----------
    feature_scale : array-like of shape (d,), optional
        Spread of every feature. Weights are multiplied by it, which makes them comparable between
        features of different units.
    leaf_rows : array-like of shape (leaves,), optional
        Training rows of every leaf, written into it.
    image_shape : (rows, columns), optional
        For rows that are images: weights are drawn as one.
    max_depth : int, default 3
        Levels of decisions to draw; what lies below is shown as its number of leaves.
    max_weights : int, default 4
        Bars a decision.
    """
    if ax is None:
        width = 2.2 * 2 ** min(max_depth, tree.depth)
        height = 2.1 * (min(max_depth, tree.depth) + 1)
        _, ax = _pyplot().subplots(figsize=(max(5.0, width), max(2.5, height)))
    ax.set_axis_off()
    ax.set(xlim=(0, 1), ylim=(0, 1))
    scale = np.ones(tree.n_features) if feature_scale is None else np.asarray(feature_scale)
    names = [f"x{j}" for j in range(tree.n_features)] if feature_names is None else feature_names
    levels = min(max_depth, tree.depth) + 1
    # Every decision is drawn as wide as those of the lowest level drawn, where room is scarcest.
    wide, tall = min(0.9 / 2 ** max(levels - 2, 0), 0.5), 0.6 / levels

    def place(child: int, left: float, right: float, level: int, above: Any, side: str) -> None:
        x, y = (left + right) / 2, 1 - (level + 0.5) / levels
        if above is not None:
            color = _RIGHT if side == "yes" else _LEFT
            decision = child >= 0 and level < max_depth
            ends = above[1] - tall / 2, y + (tall / 2 if decision else 0.0)
            ax.plot([above[0], x], ends, color=color, lw=1.2, zorder=0)
            ax.text(
                above[0] + 0.4 * (x - above[0]),
                ends[0] + 0.4 * (ends[1] - ends[0]),
                side,
                color=color,
                fontsize=8,
                ha="center",
                va="center",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
            )
        if child < 0:
            text = describe_leaf(tree, ~child, class_names).replace(", ", "\n")
            if leaf_rows is not None:
                text += f"\n{leaf_rows[~child]:,.0f} rows"
            _box(ax, x, y, text)
        elif level == max_depth:
            _box(ax, x, y, f"{count_leaves(tree, child)} leaves\nbelow", dashed=True)
        else:
            inset = ax.inset_axes([x - wide / 2, y - tall / 2, wide, tall])
            if image_shape:
                _weights_as_image(inset, tree.weights[child] * scale, image_shape)
            else:
                _weights_as_bars(inset, tree.weights[child] * scale, names, max_weights)
            middle = (left + right) / 2
            place(int(tree.left[child]), left, middle, level + 1, (x, y), "no")
            place(int(tree.right[child]), middle, right, level + 1, (x, y), "yes")

    place(0 if tree.n_nodes else ~0, 0.0, 1.0, 0, None, "")
    return ax


def _box(ax: Any, x: float, y: float, text: str, dashed: bool = False) -> None:
    style = {"boxstyle": "round,pad=0.4", "facecolor": "#f4f4f4", "edgecolor": _LINE}
    ax.text(
        x,
        y,
        text,
        ha="center",
        va="center",
        fontsize=8,
        bbox=style | ({"linestyle": "--"} if dashed else {}),
    )


def _weights_as_image(ax: Any, weights: np.ndarray, shape: tuple[int, int]) -> None:
    limit = np.abs(weights).max() or 1.0
    ax.imshow(weights.reshape(shape), cmap="RdBu", vmin=-limit, vmax=limit)
    ax.set(xticks=[], yticks=[])


def _weights_as_bars(ax: Any, weights: np.ndarray, names: Sequence[str], count: int) -> None:
    """The largest weights as bars, those that push right (yes) in blue, left (no) in red."""
    order = np.argsort(-np.abs(weights), kind="stable")[:count][::-1]
    colors = [_RIGHT if weights[j] >= 0 else _LEFT for j in order]
    bars = ax.barh(range(len(order)), weights[order], color=colors, height=0.7)
    limit = np.abs(weights[order]).max() or 1.0
    ax.set(xlim=(-1.05 * limit, 1.05 * limit), xticks=[], yticks=[])
    for bar, j in zip(bars, order, strict=True):
        # Names stand on the empty side of the zero line, where no bar covers them.
        outward = weights[j] >= 0
        ax.text(
            -0.04 * limit if outward else 0.04 * limit,
            bar.get_y() + bar.get_height() / 2,
            names[j],
            ha="right" if outward else "left",
            va="center",
            fontsize=7,
        )
    ax.axvline(0, color=_LINE, lw=0.8)
    for spine in ax.spines.values():
        spine.set_color(_LINE)
