"""The verdict that opens the report: what was reached, what was improved on, what was not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dgtrees.paper import report_tables, statistics
from dgtrees.paper.report_tables import Findings
from dgtrees.paper.splits import facts
from dgtrees.paper.statistics import LEVEL

__all__ = ["write_verdict"]


def write_verdict(all_found: Sequence[Findings], missing: dict[str, int]) -> list[str]:
    """A screen of Markdown; `missing` has the runs that are still to be made, by experiment."""
    said = [_say_reached(all_found), _say_standing(all_found)]
    counts = [row for found in all_found for row in count_tests(found)]
    if not any(said) and not counts:
        return []
    lines = ["## The verdict", "", *(f"* {text}" for text in said if text)]
    left = ", ".join(f"{name} {count:,}" for name, count in missing.items() if count)
    lines += [f"* **Runs not yet made**, of data that is at hand: {left or 'none'}.", ""]
    if counts:
        head = ["", "our method", "better", "level", "worse"]
        lines += [f"Against every baseline on every data set, by a t-test at {LEVEL}:", ""]
        lines += report_tables.format_table(head, counts)
    return lines


def _say_reached(all_found: Sequence[Findings]) -> str:
    """How often the paper's recipe reaches the paper's figure, over Tables 1 and 2."""
    tables = [found for found in all_found if found.experiment.table in (1, 2)]
    rows = [row for found in tables for row in report_tables.tabulate_reached(found)]
    if not rows:
        return ""
    better = sum(row[-1] == "better" for row in rows)
    missed = [
        f"{_plain(name)} ({_mean(here)} against {_mean(paper)})"
        for name, here, paper, how in rows
        if how == "not reached"
    ]
    return (
        f"**The paper's recipe** reaches the paper's figure (within twice its standard deviation) "
        f"on {len(rows) - len(missed)} of {len(rows)} data sets, and is better than its mean on "
        f"{better}{'' if not missed else '. Not reached: ' + ', '.join(missed)}."
    )


def _say_standing(all_found: Sequence[Findings]) -> str:
    """How often the default recipe is ahead of the best published tree."""
    rows = [row for found in all_found for row in report_tables.tabulate_standing(found)]
    if not rows:
        return ""
    ahead = [row for row in rows if row[-1] == "ahead"]
    behind = [
        f"{_plain(data)} ({_mean(here)} against {_mean(best)} of {best.partition('(')[2][:-1]})"
        for data, _, here, best, mark in rows
        if mark == "behind"
    ]
    return (
        f"**The default recipe** is ahead of the best single hard tree published, by the mean, in "
        f"{len(ahead)} of {len(rows)} comparisons"
        f"{'' if not behind else '. Behind: ' + ', '.join(behind)}."
    )


def _plain(data_set: str) -> str:
    """A data set's name without the height behind it."""
    name, _, height = data_set.rpartition(" (")
    return name if height[:-1].isdigit() else data_set


def _mean(figure: str) -> str:
    return figure.partition(" ")[0]


def count_tests(found: Findings) -> list[list[str]]:
    """Rows of an experiment: how often a default of ours is better, level and worse."""
    experiment = found.experiment
    titled = [n for n, method in experiment.methods.items() if method.title.endswith(", default")]
    baselines = [name for name in experiment.methods if not _is_ours(found, name)]
    rows = []
    for name in titled or experiment.ours[:1]:
        results = [
            result for other in baselines for result in _compare_all(found, name, other) if result
        ]
        if results:
            counts = (str(results.count(word)) for word in ("better", "level", "worse"))
            rows.append([experiment.heading, experiment.methods[name].title, *counts])
    return rows


def _is_ours(found: Findings, name: str) -> bool:
    method = found.experiment.methods[name]
    for other in method.reuse:
        method = found.known[other].methods.get(name, method)
    return method.kind.startswith("dgt") or not method.kind


def _compare_all(found: Findings, name: str, other: str) -> Iterator[str | None]:
    """The test's result on every data set, at the height of the paper's tree."""
    for dataset in found.datasets():
        mine, theirs = found.summary(dataset, name), found.summary(dataset, other)
        if mine is not None and theirs is not None:
            yield statistics.compare(mine, theirs, facts(dataset).metric)
