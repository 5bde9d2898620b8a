"""Mean ranks on a line, with bars over models that the tables do not tell apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
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
    figure = plt.figure(figsize=(8.6, height))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    # Heights are in inches; the scale of ranks takes the middle part of the width.
    margin = 0.65 * (count - 1)
    axes.set(xlim=(1 - margin, count + margin), ylim=(0, height))
    axes.set_axis_off()
    line = height - 0.8
    axes.plot([1, count], [line, line], color="black", lw=1)
    for rank in range(1, count + 1):
        axes.plot([rank, rank], [line, line + 0.08], color="black", lw=1)
        axes.text(rank, line + 0.12, str(rank), ha="center", va="bottom", fontsize=9)
    _write(axes, 1, line + 0.19, "best", -10, fontsize=9)
    _write(axes, count, line + 0.19, "worst", 10, fontsize=9)
    top = line + 0.48
    axes.plot([1, 1 + difference], [top, top], color="black", lw=2)
    said = f"critical difference of mean ranks {difference:.2f}"
    of = f"({count} models, {tables} tables, level {LEVEL})"
    _write(axes, 1 + difference, top, f"{said} {of}", 6, fontsize=9)
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
    said = f"{contestant.title}  {rank:.2f}" if left else f"{rank:.2f}  {contestant.title}"
    weight = "bold" if contestant.ours else "normal"
    _write(axes, edge, y, said, -5 if left else 5, color=colour, fontsize=10, fontweight=weight)


def _write(axes: plt.Axes, x: float, y: float, said: str, shift: float, **style: Any) -> None:
    """Text so many points left or right of a place, whatever the scale of ranks is."""
    side = "left" if shift > 0 else "right"
    at = {"xytext": (shift, 0), "textcoords": "offset points", "ha": side, "va": "center"}
    axes.annotate(said, (x, y), **at, **style)
