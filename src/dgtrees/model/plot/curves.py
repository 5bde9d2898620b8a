"""Curves over time: a training's epochs, and a bandit's queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dgtrees.model.plot.canvas import GREY, LINES, NO, YES, new_axes

__all__ = ["plot_curves", "plot_history"]


def plot_history(model: Any, ax: Any = None) -> Any:
    """Loss, and the validation score where there is one, by epoch.

    Parameters
    ----------
    model : estimator, or dict
        A fitted estimator, or its `history_`.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
        Its twin at the right has the score. A dotted line marks the epoch that validated best.
    """
    history = model if isinstance(model, Mapping) else getattr(model, "history_", None)
    if history is None and hasattr(model, "forest_"):
        raise TypeError(
            f"plot_history takes a model of one tree, got {type(model).__name__}: forests keep no "
            "history of their trees"
        )
    if not history or not history.get("loss"):
        raise ValueError(
            f"{type(model).__name__} has no history of training: fit it first, or give history_"
        )
    ax = new_axes(6.0, 3.5, ax, layout="constrained")
    epochs = np.arange(1, len(history["loss"]) + 1)
    lines = ax.plot(epochs, history["loss"], color=GREY, label="training loss")
    if "val_loss" in history:
        lines += ax.plot(epochs, history["val_loss"], color=NO, label="validation loss")
    score = next((name for name in ("val_accuracy", "val_rmse") if name in history), None)
    if score:
        other = ax.twinx()
        label = score.removeprefix("val_")
        values = np.asarray(history[score])
        lines += other.plot(epochs, values, color=YES, label=f"validation {label} (right)")
        other.set_ylabel(label)
        other.spines["top"].set_visible(False)
        # Of equal scores training keeps the one of the least loss.
        falling = -values if score == "val_accuracy" else values
        best = np.lexsort((history.get("val_loss", epochs), falling))[0]
        lines.append(ax.axvline(epochs[best], color=GREY, ls=":", lw=1.2, label="best epoch"))
    ax.set(xlabel="epoch", ylabel="loss")
    ax.spines["top"].set_visible(False)
    ax.legend(
        handles=lines, frameon=False, fontsize=8, ncols=2, loc="upper center",
        bbox_to_anchor=(0.5, -0.16),
    )  # fmt: skip
    return ax


def plot_curves(curves: Any, ax: Any = None) -> Any:
    """Draw curves of bandit simulations into one picture.

    Parameters
    ----------
    curves : dict of str to Curve, or a Curve, or a sequence of them
        What `simulate` returned, by the names to show.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    if not isinstance(curves, Mapping):
        several = list(curves) if isinstance(curves, Sequence) else [curves]
        curves = {f"policy {i + 1}" if len(several) > 1 else "": c for i, c in enumerate(several)}
    if not curves:
        raise ValueError("curves must be at least one curve, got none: give what simulate returned")
    if len({curve.accuracy for curve in curves.values()}) > 1:
        raise ValueError(
            "curves must all be of accuracy or all of loss, got both: draw them in two pictures"
        )
    ax = new_axes(7.5, 4.0, ax, layout="constrained")
    ax.set_prop_cycle(color=LINES)
    for name, curve in curves.items():
        curve.plot(ax, label=str(name))
    # Below, a column a policy: beside the axes names would take a third of the picture.
    ax.legend(
        frameon=False, fontsize=8, ncols=min(len(curves), 3), loc="upper center",
        bbox_to_anchor=(0.5, -0.14),
    )  # fmt: skip
    return ax
