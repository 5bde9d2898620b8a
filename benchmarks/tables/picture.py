"""Mean ranks on a line, with bars over models that the tables do not tell apart."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd

from benchmarks.tables.models import CONTESTANTS
from benchmarks.tables.statistics import LEVEL, cliques, critical_difference

mpl.use("Agg")
from matplotlib import pyplot as plt

_STEP = 0.3  # from one line of text to the next, in inches
_OURS, _OTHERS = "C0", "black"


def draw(mean_ranks: pd.Series, tables: int, path: Path) -> None:
    """Draw a diagram of critical differences.

    Parameters
    ----------
    mean_ranks : Series by model
    tables : int
        Over which the ranks are means.
    path : Path
        Of the PNG file.
    """
    order = mean_ranks.sort_values()
    count = len(order)
    difference = critical_difference(count, tables)
    groups = cliques(order, difference)
    half = -(-count // 2)  # the better half is named on the left, the worse on the right
    below = 0.25 + 0.13 * len(groups)  # from the axis to the first name
    height = 1.0 + below + _STEP * half
    figure = plt.figure(figsize=(8.0, height))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    # Heights are in inches; the scale of ranks takes the middle part of the width.
    axes.set(xlim=(1 - 0.55 * (count - 1), count + 0.55 * (count - 1)), ylim=(0, height))
    axes.set_axis_off()
    line = height - 0.8
    axes.plot([1, count], [line, line], color="black", lw=1)
    for rank in range(1, count + 1):
        axes.plot([rank, rank], [line, line + 0.08], color="black", lw=1)
        axes.text(rank, line + 0.12, str(rank), ha="center", va="bottom", fontsize=9)
    axes.text(1 - 0.1, line + 0.12, "best", ha="right", va="bottom", fontsize=9)
    axes.text(count + 0.1, line + 0.12, "worst", ha="left", va="bottom", fontsize=9)
    top = line + 0.48
    axes.plot([1, 1 + difference], [top, top], color="black", lw=2)
    axes.text(
        1 + difference + 0.1,
        top,
        f"critical difference of mean ranks {difference:.2f} "
        f"({count} models, {tables} tables, level {LEVEL})",
        ha="left",
        va="center",
        fontsize=9,
    )
    for row, group in enumerate(groups):
        y = line - 0.16 - 0.13 * row
        ends = [order[group[0]] - 0.04, order[group[-1]] + 0.04]
        axes.plot(ends, [y, y], color="0.45", lw=4, solid_capstyle="round")
    for place, (model, rank) in enumerate(order.items()):
        left = place < half
        row = place if left else count - 1 - place
        _name(axes, model, rank, line, line - below - _STEP * row, left, count)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without the program's version, the same records give the same file.
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


def _name(
    axes: plt.Axes, model: str, rank: float, line: float, y: float, left: bool, count: int
) -> None:
    """A model's name beside the scale, with a line to its mean rank."""
    contestant = CONTESTANTS[model]
    colour = _OURS if contestant.ours else _OTHERS
    edge = 1 - 0.12 * (count - 1) if left else count + 0.12 * (count - 1)
    axes.plot([rank, rank, edge], [line, y, y], color=colour, lw=1.8 if contestant.ours else 1)
    shift = np.copysign(0.06, edge - rank)
    axes.text(
        edge + shift,
        y,
        f"{contestant.title}  {rank:.2f}" if left else f"{rank:.2f}  {contestant.title}",
        ha="right" if left else "left",
        va="center",
        fontsize=10,
        color=colour,
        fontweight="bold" if contestant.ours else "normal",
    )
