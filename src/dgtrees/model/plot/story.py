"""One image to share: how good a tree is, how small it is, and the tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dgtrees.model.model import ModelLike, model_of
from dgtrees.model.plot.canvas import GREY, YES
from dgtrees.model.plot.tree import plot_tree

__all__ = ["plot_story"]

_HEAD = 1.25
"""Inches above the tree."""
_DEPTH = 4


def plot_story(
    model: ModelLike, X: Any, y: ArrayLike, *, title: str | None = None, max_depth: int = _DEPTH
) -> Any:
    """Draw a tree below what it is worth on rows it has not seen.

    Parameters
    ----------
    model : estimator or Model of one tree
    X, y : rows that the tree has not learnt from, and their classes or values
    title : str, optional
        What the tree is about; what made it by default.
    max_depth : int, default 4
        Levels of decisions to draw.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from sklearn.datasets import load_iris
    >>> from dgtrees import DGTClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = DGTClassifier(max_depth=2, max_epochs=9, random_state=0).fit(X[::2], y[::2])
    >>> figure = plot_story(clf, X[1::2], y[1::2], title="Irises")
    """
    seen = model_of(model)
    tree = seen.one_tree("plot_story")
    facts = [
        _score(seen.predict(X), np.asarray(y), seen.answer.task),
        (f"{tree.n_leaves:,}", "leaf" if tree.n_leaves == 1 else "leaves"),
        (f"{seen.forest.flops:,}", "multiply-adds a prediction"),
    ]
    ax = plot_tree(seen, max_depth=max_depth)
    figure = ax.figure
    width, below = figure.get_size_inches()
    height = below + _HEAD
    figure.set_size_inches(width, height)
    ax.set_position((0, 0, 1, below / height))

    def write(x: float, y: float, text: str, **style: Any) -> None:
        figure.text(x / width, 1 - y / height, text, va="center", parse_math=False, **style)

    write(0.06, 0.22, seen.kind if title is None else title, fontsize=13, weight="bold")
    for number, (value, what) in enumerate(facts):
        x = 0.06 + number * (width - 0.1) / len(facts)
        write(x, 0.66, value, fontsize=17, color=YES, weight="bold")
        write(x, 0.95, what, fontsize=8.5, color=GREY)
    return figure


def _score(predicted: np.ndarray, truth: np.ndarray, task: str) -> tuple[str, str]:
    """A score and what it is: rows that are right, or the share of the variance explained."""
    if len(predicted) != len(truth) or not len(truth):
        raise ValueError(
            f"X and y must be equally many rows, and some, got {len(predicted)} and {len(truth)}"
        )
    if task == "classification":
        return f"{np.mean(predicted == truth):.1%}", f"of {len(truth):,} new rows right"
    spread = float(np.square(truth - truth.mean()).sum())
    error = float(np.square(predicted - truth).sum())
    said = f"{1 - error / spread:.2f}" if spread > 0 else "-"
    return said, f"R2 on {len(truth):,} new rows"
