"""Tables of the report in Markdown: scores, tests, curves, heights, sparsity, settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dgtrees.paper import statistics
from dgtrees.paper.cells import Records, is_of_older_recipe
from dgtrees.paper.experiment import Experiment, specialise
from dgtrees.paper.splits import facts
from dgtrees.paper.statistics import Summary

NOTHING = "-"
OLDER = "†"
"""Marks runs of a recipe as an earlier release had it."""
_MOST_COLUMNS = 8


@dataclass(frozen=True)
class Findings:
    """An experiment and the records of all."""

    experiment: Experiment
    known: dict[str, Experiment]
    made: Records

    def records(self, dataset: str, name: str, height: int | None = None) -> list[dict[str, Any]]:
        """What was recorded of a method on a data set, in this experiment or one it reuses."""
        method = self.experiment.methods[name]
        for other in (self.known[other] for other in method.reuse):
            if dataset in other.datasets:
                return self.made.select(other, dataset, other.methods[name])
        return self.made.select(self.experiment, dataset, method, height)

    def summary(self, dataset: str, method: str, height: int | None = None) -> Summary | None:
        """Of the test scores."""
        return statistics.summarise_records(self.records(dataset, method, height))

    def mark(self, dataset: str, method: str, height: int | None = None) -> str:
        """What is put behind a figure that has runs of an older recipe in it."""
        made = self.records(dataset, method, height)
        return f" {OLDER}" if any(map(is_of_older_recipe, made)) else ""

    def datasets(self) -> list[str]:
        """Those with at least one record."""
        heights = self.experiment.heights or (None,)
        return [
            d
            for d in self.experiment.datasets
            if any(self.records(d, m, h) for m in self.experiment.methods for h in heights)
        ]

    def methods(self) -> dict[str, str]:
        """Titles by name."""
        return {name: method.title for name, method in self.experiment.methods.items()}


def format_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table; numbers are right of their column's name."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows), ""]


def name_data_set(found: Findings, dataset: str) -> str:
    """A data set, with its height where all trees have the same."""
    known = facts(dataset)
    return f"{known.title} ({known.height})" if found.experiment.one_height else known.title


def tabulate_scores(found: Findings) -> list[str]:
    """Means and deviations here, with the paper's below; the best are bold as in the paper."""
    experiment = found.experiment
    since = any("since" in table for table in experiment.published.values())
    what = "data (height)" if experiment.one_height else "data"
    rows = [[what, "", *found.methods().values(), *["best published since"] * since]]
    for dataset in found.datasets():
        table = experiment.published.get(dataset, {})
        latest = [table.get("since", NOTHING)] * since
        rows.append(
            [name_data_set(found, dataset), "here", *_format_scores(found, dataset), *latest]
        )
        if any(isinstance(entry, list) for entry in table.values()):
            paper = [
                _format_published(table, method.paper) for method in experiment.methods.values()
            ]
            rows.append(["", "paper", *paper, *[""] * since])
    if len(rows) == 1:
        return []
    if len(experiment.methods) > _MOST_COLUMNS:  # few data sets, then: they become the columns
        titles = [f"{row[0] or rows[i][0]}, {row[1]}" for i, row in enumerate(rows[1:])]
        rows = [["", *titles], *map(list, list(zip(*rows, strict=True))[2:])]
    return format_table(rows[0], rows[1:])


def _format_scores(found: Findings, dataset: str) -> list[str]:
    """One text per method: mean, deviation and number of runs."""
    known = facts(dataset)
    here = {name: found.summary(dataset, name) for name in found.methods()}
    tested = {name: s for name, s in here.items() if s is not None and s.n > 1}
    bold = statistics.find_best(tested, known.metric)
    texts = []
    for name, value in here.items():
        if value is None:
            texts.append("diverged" if found.records(dataset, name) else NOTHING)
        else:
            mark = "**" if name in bold else ""
            score = f"{mark}{value.text(known.digits)}{mark} ({value.runs()})"
            texts.append(score + found.mark(dataset, name))
    return texts


def _format_published(table: dict[str, Any], column: str) -> str:
    if column not in table:
        return NOTHING
    mean, sd = table[column]
    return f"{mean:.{2 if mean > 1 else 3}f} ± {sd:g}"


def tabulate_standing(found: Findings) -> list[list[str]]:
    """Rows that set the default recipe beside the best published single hard tree."""
    experiment, rows = found.experiment, []
    shown = {
        name: method.title
        for name, method in experiment.methods.items()
        if method.kind == "dgt" and "recipe" not in method.fixed
    }
    for dataset in found.datasets():
        known = facts(dataset)
        leader: Any = experiment.published.get(dataset, {}).get("best")
        for name, title in shown.items() if leader else ():
            here = found.summary(dataset, name)
            if here is not None:
                ahead = (here.mean < leader["figure"]) == (known.metric == "rmse")
                published = f"{leader['figure']:.{known.digits}f} ({leader['by']})"
                scored = f"{here.text(known.digits)} ({here.runs()})"
                mark = "ahead" if ahead else "behind"
                rows.append([name_data_set(found, dataset), title, scored, published, mark])
    return rows


def tabulate_reached(found: Findings) -> list[list[str]]:
    """Rows that say whether the paper's recipe reaches the paper's figure: to two deviations."""
    experiment, rows = found.experiment, []
    shown = [m for m in experiment.methods.values() if m.fixed.get("recipe") == "paper" and m.paper]
    for dataset in found.datasets():
        known, table = facts(dataset), experiment.published.get(dataset, {})
        for method in shown:
            here = found.summary(dataset, method.name)
            if here is None or method.paper not in table:
                continue
            mean, sd = table[method.paper]
            worse = (here.mean - mean) * (1 if known.metric == "rmse" else -1)
            verdict = "better" if worse < 0 else "reached" if worse <= 2 * sd else "not reached"
            scored = f"{here.text(known.digits)} ({here.runs()}){found.mark(dataset, method.name)}"
            published = _format_published(table, method.paper)
            rows.append([name_data_set(found, dataset), scored, published, verdict])
    return rows


def tabulate_tests(found: Findings) -> list[str]:
    """For each of our rows, the data sets on which it is better or worse than its baselines."""
    experiment, rows = found.experiment, []
    ours = [*experiment.ours, *(a for m in experiment.methods.values() for a in m.against)]
    for name in dict.fromkeys(ours):
        mine = experiment.methods[name]
        for other, method in experiment.methods.items():
            if other not in ours and name in (method.against or experiment.ours):
                theirs = lambda d, o=other: found.summary(d, o)  # noqa: E731
                rows.append(_compare(found, name, f"{mine.title}, against {method.title}", theirs))
        if mine.paper:
            theirs = lambda d, c=mine.paper: statistics.summarise_published(  # noqa: E731
                experiment.published.get(d, {}).get(c)
            )
            title = f"{mine.title}, against the paper's figure"
            rows.append(_compare(found, name, title, theirs))
    rows = [row for row in rows if any(row[1:])]
    return format_table(["", "better", "no significant difference", "worse"], rows) if rows else []


def _compare(
    found: Findings, name: str, title: str, theirs: Callable[[str], Summary | None]
) -> list[str]:
    where: dict[str, list[str]] = {"better": [], "level": [], "worse": []}
    for dataset in found.datasets():
        a, b = found.summary(dataset, name), theirs(dataset)
        if a is not None and b is not None:
            result = statistics.compare(a, b, facts(dataset).metric)
            if result:
                where[result].append(facts(dataset).title)
    return [title, *(", ".join(names) for names in where.values())]


def tabulate_extras(found: Findings) -> list[str]:
    """Means of what else was measured, such as the cost of a prediction."""
    rows = []
    for dataset in found.datasets():
        for name, title in found.methods().items():
            made = found.records(dataset, name)
            if made:
                means = [
                    f"{np.mean([r['details'][key] for r in made]):,.1f}"
                    for key in found.experiment.extra
                ]
                rows.append([name_data_set(found, dataset), title, *means])
    titles = {"leaves_reached": "leaves reached", "flops": "multiply-adds"}
    head = ["data (height)", "", *(titles[key] for key in found.experiment.extra)]
    return format_table(head, rows) if rows else []


def tabulate_curves(found: Findings) -> list[str]:
    """Held-out scores by number of queries, one table per data set."""
    lines: list[str] = []
    for dataset in found.datasets():
        made = {name: found.records(dataset, name) for name in found.methods()}
        ends = sorted(
            {end for records in made.values() for r in records for end in _get_queries(r)}
        )
        rows = []
        for name, title in found.methods().items():
            if made[name]:
                points = [_format_mean(made[name], end, facts(dataset).digits) for end in ends]
                rows.append([title, str(len(made[name])), *points])
        lines += [f"**{facts(dataset).title}**, mean of held-out scores after so many queries:", ""]
        lines += format_table(["", "seeds", *(f"{end:,}" for end in ends)], rows)
        since = found.experiment.published.get(dataset, {}).get("since")
        lines += [f"{since}.", ""] if since else []
    return lines


def _get_queries(record: dict[str, Any]) -> list[int]:
    queries: list[int] = record["details"]["curve"].get("queries", [])
    return queries


def _format_mean(made: list[dict[str, Any]], end: int, digits: int) -> str:
    values = [
        r["details"]["curve"]["held_out"][_get_queries(r).index(end)]
        for r in made
        if end in _get_queries(r)
    ]
    return f"{np.mean(values):.{digits}f}" if values else NOTHING


def tabulate_heights(found: Findings) -> list[str]:
    """Scores by height."""
    rows = []
    for dataset in found.datasets():
        digits = facts(dataset).digits
        for name, title in found.methods().items():
            values = [found.summary(dataset, name, h) for h in found.experiment.heights]
            if any(values):
                marks = [found.mark(dataset, name, h) for h in found.experiment.heights]
                texts = [
                    f"{v.text(digits)} ({v.runs()}){mark}" if v else NOTHING
                    for v, mark in zip(values, marks, strict=True)
                ]
                rows.append([facts(dataset).title, title, *texts])
    head = ["data", "", *(f"height {h}" for h in found.experiment.heights)]
    return format_table(head, rows) if rows else []


def tabulate_sparsity(found: Findings) -> list[str]:
    """Inner nodes that a training row comes to."""
    rows = []
    for dataset in found.datasets():
        cells = []
        for name in found.methods():
            made = found.records(dataset, name)
            if made:
                reached = np.mean([r["details"]["nodes_reached"] for r in made])
                nodes = made[0]["details"]["nodes"]
                share = 100.0 * reached / nodes
                text = f"{reached:.1f} of {nodes} ({share:.0f} %; {len(made)})"
                cells.append(text + found.mark(dataset, name))
            else:
                cells.append(NOTHING)
        paper = found.experiment.published.get(dataset, {}).get("nodes", NOTHING)
        rows.append([name_data_set(found, dataset), *cells, paper])
    head = ["data (height)", *found.methods().values(), "paper, its best model"]
    return format_table(head, rows) if rows else []


def tabulate_settings(found: Findings) -> list[str]:
    """What was chosen, and what it took."""
    experiment, rows = found.experiment, []
    for dataset in found.datasets():
        for name, method in experiment.methods.items():
            for height in experiment.heights or (None,):
                made = found.records(dataset, name, height)
                if not made or method.reuse:
                    continue
                cost = [r["cost"] for r in made]
                where = facts(dataset).title + (f", height {height}" if height else "")
                rows.append(
                    [
                        where,
                        method.title,
                        _format_settings(made),
                        f"{len(specialise(method, dataset).grid)}",
                        f"{np.mean([c['fit_seconds'] for c in cost]):.1f}",
                        f"{np.max([c['seconds'] for c in cost]):.0f}",
                        f"{np.max([c['memory_added_mb'] for c in cost]):.0f}",
                    ]
                )
    head = ["data", "", "settings", "tried", "s a fit", "s a cell, most", "MB, most"]
    return format_table(head, rows) if rows else []


def _format_settings(made: list[dict[str, Any]]) -> str:
    """Settings of all seeds where they agree; else the first seed's, and that others differ."""
    all_of_them = [
        ", ".join(f"{k}={_format_value(v)}" for k, v in sorted(r["settings"].items())) for r in made
    ]
    return all_of_them[0] + (" (seed 0's)" if len(set(all_of_them)) > 1 else "")


def _format_value(value: Any) -> str:
    if isinstance(value, list):
        return "[" + " ".join(_format_value(v) for v in value) + "]"
    return f"{value:g}" if isinstance(value, float) else str(value)
