"""Tables of the report, as lines of Markdown."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from benchmarks.tables import statistics
from benchmarks.tables.models import CONTESTANTS, REFERENCE, YARDSTICK
from dgtrees.paper.report_tables import format_table

_SHOWN = 3
"""Tables of each end in the list of the best and the worst."""


def tabulate_ranks(part: pd.DataFrame, wide: pd.DataFrame, models: list[str]) -> list[str]:
    """Mean rank, log-loss and AUC of the models that have all tables, best first."""
    mean = statistics.means(wide, models)
    ranks = statistics.ranks(mean)
    task = part.groupby("table")["task"].first().reindex(mean.index)
    # The same tables and seeds for all, or a mean would depend on who has run what.
    kept = part.set_index(["table", "seed"]).loc[
        lambda p: p.index.isin(wide[models].dropna().index)
    ]
    by_table = kept.groupby(["model", "table"])[["log_loss", "auc"]].mean()
    rows = []
    for model in ranks.mean().sort_values(kind="stable").index:
        of_classes, of_numbers = (ranks.loc[task == kind, model].mean() for kind in ("clf", "reg"))
        figures = [(ranks[model].mean(), 2), (of_classes, 2), (of_numbers, 2)]
        log_loss, auc = by_table.loc[model, "log_loss"], by_table.loc[model, "auc"]
        figures += [(log_loss.mean(), 3), (log_loss.median(), 3), (auc.mean(), 3)]
        rows.append([_title(model), *(_figure(value, digits) for value, digits in figures)])
    head = ["model", "mean rank", "on classes", "on numbers"]
    head += ["mean log-loss", "median log-loss", "mean AUC of two classes"]
    lines = format_table(head, rows)
    for model in wide.columns.difference(models, sort=False):
        count = wide[model].dropna().index.unique("table").size
        of = wide.index.unique("table").size
        lines += [f"{_title(model)} is not ranked: it has records of {count} of {of} tables.", ""]
    return lines


def tabulate_duels(part: pd.DataFrame) -> list[str]:
    """On how many tables our default tree is better, level and worse, by score and by log-loss."""
    wides = [statistics.losses(part, of) for of in ("score", "log_loss")]
    rows = []
    for model in _others(part):
        counts = []
        for wide in wides:
            have = REFERENCE in wide and model in wide
            verdicts = statistics.duel(wide, REFERENCE, model).verdicts if have else {}
            # Nothing to test, with one seed, is not the same as nothing found.
            tested = any(verdicts.values())
            words = ("better", "level", "worse")
            counts += [str(len(verdicts[word])) if tested else "-" for word in words]
        rows.append([_title(model), *counts])
    head = ["against", "better", "level", "worse"]
    return format_table([*head, *(f"log-loss: {word}" for word in head[1:])], rows)


def tabulate_extremes(part: pd.DataFrame) -> list[str]:
    """The tables on which our default tree is furthest ahead of each other model, and behind it."""
    wide = statistics.losses(part)
    rows = []
    for model in _others(part):
        gap = 100.0 * statistics.duel(wide, REFERENCE, model).gap
        ahead, behind = gap[gap < 0][:_SHOWN], gap[gap > 0][: -_SHOWN - 1 : -1]
        cells = [", ".join(f"{t} {-g:+.1f}" for t, g in end.items()) for end in (ahead, behind)]
        rows.append([_title(model), *(cell or "-" for cell in cells)])
    said = (
        "In points of accuracy, or in hundredths of the target's standard deviation; above zero, "
        "our tree is the better one."
    )
    return [said, "", *format_table(["against", "furthest ahead", "furthest behind"], rows)]


def tabulate_costs(part: pd.DataFrame) -> list[str]:
    """CPU seconds of a fit, and as multiples of the forest's in the same run."""
    costs = statistics.costs(part)
    rows = [
        [
            _title(model),
            _seconds(c["median"]),
            _seconds(c["mean"]),
            f"{_seconds(c['worst'])} ({c['worst_table']})",
            *_multiples(model, c),
        ]
        for model, c in costs.reindex(_models(part)).iterrows()
    ]
    said = (
        f"Seconds of a fit, means over seeds. Multiples are of {_title(YARDSTICK).lower()} on the "
        "same table in the same run, and so depend little on the machine and what else it does."
    )
    head = ["model", "median", "mean", "worst", "times the forest: median", "worst multiple"]
    return [said, "", *format_table(head, rows)]


def _multiples(model: str, cost: pd.Series) -> list[str]:
    if model == YARDSTICK:
        return ["1", "1"]
    worst = f"{cost['times_worst']:.2g} ({cost['times_worst_table']})"
    return [f"{cost['times_median']:.2g}", worst]


def tabulate_scores(part: pd.DataFrame) -> list[str]:
    """Mean score of every model on every table."""
    lines = []
    for task, said, shown in (
        ("clf", "Accuracy in per cent, means over seeds; the best in bold.", _per_cent),
        ("reg", "Error in standard deviations of the target; the best in bold.", _error),
    ):
        of = part[part["task"] == task]
        if len(of):
            lines += [said, "", *_by_table(of, "score", shown, best=max if task == "clf" else min)]
    return lines


def tabulate_losses(part: pd.DataFrame) -> list[str]:
    """Mean log-loss of every model on every table of classes."""
    of = part[part["task"] == "clf"]
    if of.empty:
        return []
    said = "Log-loss, means over seeds; the best in bold."
    return [said, "", *_by_table(of, "log_loss", lambda value: f"{value:.3f}", best=min)]


def _by_table(
    part: pd.DataFrame, name: str, shown: Callable[[float], str], best: Callable
) -> list[str]:
    mean = part.groupby(["table", "model"])[name].mean().unstack().reindex(columns=_models(part))
    sizes = part.groupby("table")[["rows", "columns", "classes"]].first()
    rows = []
    for table, values in mean.iterrows():
        cells = ["-" if np.isnan(value) else shown(value) for value in values]
        first = shown(best(values.dropna()))
        size = sizes.loc[table]
        classes = f", {size['classes']} classes" if size["classes"] else ""
        about = f"{size['rows']:,} x {size['columns']}{classes}"
        rows.append([table, about, *(f"**{c}**" if c == first else c for c in cells)])
    return format_table(["table", "training rows x columns", *map(_title, mean.columns)], rows)


def _models(part: pd.DataFrame) -> list[str]:
    """In the order of the contestants."""
    there = set(part["model"])
    return [model for model in CONTESTANTS if model in there]


def _others(part: pd.DataFrame) -> list[str]:
    return [model for model in _models(part) if model != REFERENCE]


def _title(model: str) -> str:
    return CONTESTANTS[model].title


def _figure(value: float, digits: int) -> str:
    return "-" if np.isnan(value) else f"{value:.{digits}f}"


def _seconds(value: float) -> str:
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _per_cent(value: float) -> str:
    return f"{100 * value:.2f}"


def _error(value: float) -> str:
    return f"{value:.4f}"
