"""Figures of the report: cost of soft trees, curves of bandits, results by height."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from dgtrees.paper.experiment import specialise
from dgtrees.paper.report_tables import Findings
from dgtrees.paper.splits import facts
from dgtrees.paper.statistics import half_interval

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.ticker import LogLocator

_COLUMNS = 2
"""Side by side, so that a figure can be read on a phone."""
_COLOURS = {
    "dgt-default": "C0",
    "dgt-paper": "C1",
    "dgt-linear": "C2",
    "dgt-constant": "C2",
    "tao": "C3",
    "lcn": "C4",
    "cart": "C5",
    "tel": "C6",
    "pat": "C8",
    "cbf": "C3",
    "vw-paper": "C7",
    "vw-best": "C9",
    "linear-paper": "C7",
    "linear-default": "C9",
}
"""A method has one colour in all figures; none shows bandits beside methods of labels."""
_SHORT = 28
"""Characters of a name in the legend, so that two stand side by side."""
_MARKERS = ("o", "s", "^", "D")
_METRICS = {"rmse": "test RMSE", "accuracy": "test accuracy %", "auc": "test AUC"}


def _make_panels(count: int) -> tuple[Any, list[Any]]:
    columns = min(_COLUMNS, count)
    rows = -(-count // columns)
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(2.75 * columns, 2.35 * rows + 1.0),
        layout="constrained",
        squeeze=False,
    )
    flat = list(axes.ravel())
    for ax in flat[count:]:
        ax.set_axis_off()
    for ax in flat[:count]:
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=9)
    return figure, flat[:count]


def _choose_style(found: Findings, name: str) -> dict[str, Any]:
    """One colour per method, the same everywhere; ours thick."""
    width = 2.2 if name in found.experiment.ours else 1.2
    return {"color": _COLOURS.get(name, "black"), "linewidth": width, "marker": ".", "ms": 5}


def _finish(figure: Any, axes: list[Any], path: Path) -> None:
    entries: dict[str, Any] = {}
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        entries |= dict(zip(labels, handles, strict=True))
    columns = 2 if max(map(len, entries)) <= _SHORT else 1
    where = {"loc": "outside lower center", "ncols": columns, "frameon": False, "fontsize": 9}
    figure.legend(entries.values(), entries, **where)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without the program's version and the date, the same records give the same file.
    figure.savefig(path, dpi=150, metadata={"Software": None})
    plt.close(figure)


def draw_curves(found: Findings, path: Path) -> bool:
    """Held-out scores against queries, with 95 % confidence intervals; whether there were any.

    Two runs have no interval worth drawing: it would be nine deviations wide.
    """
    datasets = found.datasets()
    if not datasets:
        return False
    figure, axes = _make_panels(len(datasets))
    for ax, dataset in zip(axes, datasets, strict=True):
        known, means = facts(dataset), []
        for name, title in found.methods().items():
            made = [r["details"]["curve"] for r in found.records(dataset, name)]
            if not made:
                continue
            # Sets that are shuffled anew may have streams of other lengths: places, then means.
            queries = np.mean([curve["queries"] for curve in made], axis=0)
            values = np.array([curve["held_out"] for curve in made])
            mean, style = values.mean(axis=0), _choose_style(found, name)
            means.append(mean)
            ax.plot(queries, mean, label=title, **style)
            if len(values) > 2:
                half = half_interval(values)
                shade = {"color": style["color"], "alpha": 0.2, "lw": 0}
                ax.fill_between(queries, mean - half, mean + half, **shade)
        ax.set(xscale="log", xlabel="queries", ylabel=_METRICS[known.metric])
        ax.set_title(known.title, fontsize=10)
        # Means give the scale: an interval of three unlike runs would be most of the panel.
        low, high = (f(np.concatenate(means)) for f in (np.min, np.max))
        if known.metric == "rmse":
            ax.set(yscale="log", ylim=(low / 1.1, high * 1.1))
            ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 5.0, 7.0)))
            ax.yaxis.set_major_formatter("{x:g}")
            ax.yaxis.set_minor_formatter("")
        else:
            ax.set_ylim(max(0.0, low - 5.0), min(100.0, high + 5.0))
    _finish(figure, axes, path)
    return True


def draw_heights(found: Findings, path: Path) -> bool:
    """Test scores against the height of the tree."""
    datasets = found.datasets()
    if not datasets:
        return False
    figure, axes = _make_panels(len(datasets))
    for ax, dataset in zip(axes, datasets, strict=True):
        known = facts(dataset)
        for name, title in found.methods().items():
            points = [(h, found.summary(dataset, name, h)) for h in found.experiment.heights]
            there = [(h, s) for h, s in points if s is not None]
            if there:
                x, y, e = zip(*((h, s.mean, s.sd) for h, s in there), strict=True)
                ax.errorbar(x, y, e, label=title, **_choose_style(found, name))
        ax.set(xlabel="height", ylabel=_METRICS[known.metric])
        ax.set_title(known.title + _say_cut(found, dataset), fontsize=10)
        ax.set_xticks(found.experiment.heights)
    _finish(figure, axes, path)
    return True


def _say_cut(found: Findings, dataset: str) -> str:
    """Words for a title where methods are trained on a part of the rows only."""
    methods = found.experiment.methods.values()
    rows = {specialise(method, dataset).fixed.get("rows") for method in methods}
    counts = sorted(n for n in rows if isinstance(n, int) and n < facts(dataset).rows[0])
    return f"\n{' or '.join(f'{n:,}' for n in counts)} training rows" if counts else ""


def draw_cost(found: Findings, path: Path) -> bool:
    """TEL's score and multiply-adds as multiples of our tree's, by the width of its soft band."""
    base, *_ = found.experiment.ours
    soft = {name: t for name, t in found.methods().items() if name not in found.experiment.ours}
    points: dict[str, dict[str, list[tuple[float, float, str]]]] = {}
    for dataset in found.datasets():
        ours = found.records(dataset, base)
        for name in soft if ours else ():
            made = found.records(dataset, name)
            if made:
                x = _average_detail(made, "flops") / _average_detail(ours, "flops")
                y = _average_score(made) / _average_score(ours)
                sets = points.setdefault(facts(dataset).task, {})
                sets.setdefault(dataset, []).append((x, y, name))
    if not points:
        return False
    figure, axes = _make_panels(len(points))
    for ax, (task, sets) in zip(axes, points.items(), strict=True):
        for dataset, there in sets.items():
            there.sort()
            colour = f"C{found.experiment.datasets.index(dataset)}"
            curve = [at for at, _, _ in there], [height for _, height, _ in there]
            ax.plot(*curve, color=colour, label=facts(dataset).title)
            for *point, name in there:
                ax.plot(*point, marker=_MARKERS[list(soft).index(name)], ms=6, color=colour)
        # Shapes, not labels: those of neighbouring curves would lie one over the other.
        for marker, title in zip(_MARKERS, soft.values(), strict=False):
            ax.plot([], [], marker=marker, ms=6, ls="", color="grey", label=title)
        ax.plot([1.0], [1.0], marker="*", ms=12, ls="", color="black", label="DGT, default")
        what = "RMSE" if task == "regression" else "accuracy"
        ax.set(
            xscale="log", title=task, xlabel="multiply-adds, TEL / DGT", ylabel=f"{what}, TEL / DGT"
        )
        # Less than a decade would have a label at every minor tick, one over the other.
        left, right = ax.get_xlim()
        ax.set_xlim(min(left, 0.7), max(right, 12.0))
    _finish(figure, axes, path)
    return True


def _average_detail(made: list[dict[str, Any]], key: str) -> float:
    return float(np.mean([record["details"][key] for record in made]))


def _average_score(made: list[dict[str, Any]]) -> float:
    return float(np.mean([record["scores"]["test"] for record in made]))
