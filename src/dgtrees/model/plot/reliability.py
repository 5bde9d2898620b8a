"""Whether a classifier's probabilities can be believed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dgtrees.model.plot.canvas import GREY, LINES, new_axes

__all__ = ["Reliability", "plot_reliability", "reliability"]


@dataclass(frozen=True)
class Reliability:
    """Confidence against accuracy, in bins of confidence that hold at least one row."""

    confidence: np.ndarray
    accuracy: np.ndarray
    rows: np.ndarray

    @property
    def error(self) -> float:
        """Expected calibration error: the mean gap, weighted by rows."""
        gap = np.abs(self.confidence - self.accuracy)
        return float((gap * self.rows).sum() / self.rows.sum())


def reliability(confidence: Any, right: Any, n_bins: int = 10) -> Reliability:
    """How often predictions of each confidence are right.

    Parameters
    ----------
    confidence : array-like of shape (rows,)
        Probability of the predicted class.
    right : array-like of bool, shape (rows,)
        Whether the prediction was right.
    n_bins : int, default 10
        Bins of equal width from 0 to 1.

    Examples
    --------
    >>> found = reliability([0.9, 0.9, 0.6, 0.6], [True, True, True, False])
    >>> found.accuracy, round(found.error, 3)
    (array([0.5, 1. ]), 0.1)
    """
    if n_bins < 1:
        raise ValueError(f"n_bins must be at least 1, got {n_bins}")
    confidence, right = np.asarray(confidence, dtype=float), np.asarray(right, dtype=float)
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    rows = np.bincount(bins, minlength=n_bins)
    some = rows > 0

    def mean(values: np.ndarray) -> np.ndarray:
        return np.bincount(bins, values, n_bins)[some] / rows[some]

    return Reliability(mean(confidence), mean(right), rows[some])


def plot_reliability(
    model: Any, X: ArrayLike, y: ArrayLike, *, n_bins: int = 10, ax: Any = None
) -> Any:
    """Draw how often a classifier is right, against how sure it says it is.

    On the diagonal probabilities are right; below it the model is too sure of itself. The strip
    below shows how many rows have which confidence, and the legend the expected calibration error
    (ECE): the mean distance from the diagonal, weighted by rows.

    Parameters
    ----------
    model : classifier, or dict of str to classifier
        One or several fitted models with `predict_proba`, of any library.
    X, y
        Rows that were not trained on, and their classes.
    n_bins : int, default 10
        Bins of equal width from 0 to 1.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
        The strip is in its `child_axes`.
    """
    models = model if isinstance(model, Mapping) else {type(model).__name__: model}
    if not models:
        raise ValueError("model must be a classifier or a dict of them, got an empty dict")
    y = np.asarray(y)
    confidences, found = {}, {}
    for name, one in models.items():
        if not hasattr(one, "predict_proba"):
            raise TypeError(
                f"plot_reliability takes classifiers with predict_proba, got {type(one).__name__}"
            )
        shares = one.predict_proba(X)
        if y.shape != (len(shares),):
            raise ValueError(f"y must have the {len(shares)} rows of X, got shape {y.shape}")
        confidences[name] = shares.max(axis=1)
        right = np.asarray(one.classes_)[shares.argmax(axis=1)] == y
        found[name] = reliability(confidences[name], right, n_bins)
    if ax is None:  # room for the strip below
        ax = new_axes(5.4, 5.0)
        ax.set_position((0.13, 0.32, 0.84, 0.65))
    ax.plot([0, 1], [0, 1], color=GREY, ls="--", lw=1, zorder=0)
    strip = ax.inset_axes([0, -0.32, 1, 0.24])
    lowest, edges = 1.0, np.linspace(0, 1, n_bins + 1)
    for k, (name, one) in enumerate(found.items()):
        color = LINES[k % len(LINES)]
        ax.plot(
            one.confidence, one.accuracy, color=color, marker="o", ms=4.5, lw=1.5,
            label=f"{name}, ECE {one.error:.3f}",
        )  # fmt: skip
        strip.hist(confidences[name], edges, histtype="step", color=color, lw=1.5)
        lowest = min(lowest, *one.confidence, *one.accuracy)
    start = max(0.0, np.floor(lowest * 10) / 10 - 0.05)
    ax.set(xlim=(start, 1.02), ylim=(start, 1.02), ylabel="share that is right", xticklabels=[])
    ax.legend(frameon=False, fontsize=8, loc="upper left")
    strip.set(xlim=(start, 1.02), xlabel="probability of the predicted class", ylabel="rows")
    for each in (ax, strip):
        each.spines[["top", "right"]].set_visible(False)
    return ax
