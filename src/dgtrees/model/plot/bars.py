"""What every column added to one prediction, as bars."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgtrees.model.contributions import Contributions
from dgtrees.model.plot.canvas import GREY, NO, YES, new_axes
from dgtrees.model.text import short_number

__all__ = ["plot_contributions"]


def plot_contributions(
    contributions: Contributions,
    row: int = 0,
    output: Any = None,
    *,
    max_features: int = 10,
    ax: Any = None,
) -> Any:
    """Draw the contributions of columns to one prediction, the largest at the top.

    Parameters
    ----------
    contributions : Contributions
        What `contributions` returned.
    row : int, default 0
        Which of its rows to draw.
    output : label or int, optional
        Class, by label or else by number, or number of the output; the likeliest class, or
        output 0.
    max_features : int, default 10
        Bars; the rest is added up in one more.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    if max_features < 1:
        raise ValueError(f"max_features must be at least 1, got {max_features}")
    if not -len(contributions.values) <= row < len(contributions.values):
        raise ValueError(
            f"row must be one of the {len(contributions.values)} rows explained, got {row}"
        )
    values, base, name = _one(contributions, row, output)
    order = np.argsort(-np.abs(values), kind="stable")
    shown, rest = order[:max_features], order[max_features:]
    labels = [
        f"{contributions.feature_names[j]} = {_said(contributions.data[row, j])}" for j in shown
    ]
    bars = values[shown].tolist()
    if len(rest):
        labels.append(f"{len(rest)} more")
        bars.append(float(values[rest].sum()))
    ax = new_axes(6.4, 0.9 + 0.27 * len(bars), ax, layout="constrained")
    heights = np.arange(len(bars))
    ax.barh(heights, bars, color=[YES if value >= 0 else NO for value in bars], height=0.68)
    for height, value in zip(heights, bars, strict=True):
        ax.annotate(
            f"{value:+.3g}", (value, height), xytext=(3 if value >= 0 else -3, 0),
            textcoords="offset points", ha="left" if value >= 0 else "right", va="center",
            fontsize=8,
        )  # fmt: skip
    ax.axvline(0, color=GREY, lw=0.8)
    ax.margins(x=0.16)
    ax.set_yticks(heights, labels, fontsize=8, parse_math=False)
    ax.invert_yaxis()
    total = base + float(values.sum())
    ax.set_xlabel(f"contribution to {name}", parse_math=False)
    ax.set_title(
        f"{short_number(base)} on average, {short_number(total)} here",
        fontsize=9,
        color=GREY,
        loc="right",
    )
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


def _one(found: Contributions, row: int, output: Any) -> tuple[np.ndarray, float, str]:
    """Contributions, base and name of one output."""
    if found.values.ndim == 2:
        return found.values[row], float(found.base_values[row]), "the value"
    names = found.output_names
    if output is None:
        output = 0 if names is None else int(found.predictions[row].argmax())
    elif names is not None and str(output) in names:
        output = names.index(str(output))
    whole = isinstance(output, (int, np.integer)) and not isinstance(output, bool)
    if not whole or not 0 <= output < found.values.shape[2]:
        known = ", ".join(names or map(str, range(found.values.shape[2])))
        raise ValueError(f"output must be one of {known}, got {output!r}")
    name = f"output {output}" if names is None else f"the {found.output} of {names[output]}"
    return found.values[row, :, output], float(found.base_values[row, output]), name


def _said(value: Any) -> str:
    if value is None or value != value:
        return "(missing)"
    return short_number(float(value), 4) if isinstance(value, (float, np.floating)) else str(value)
