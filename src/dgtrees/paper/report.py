"""The report: paper.md with its figures, and paper/settings.md, in a folder of pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dgtrees.paper import report_tables
from dgtrees.paper.cells import Records, list_cells
from dgtrees.paper.data_sets import CATALOG
from dgtrees.paper.experiment import Experiment, read_experiments
from dgtrees.paper.report_tables import Findings
from dgtrees.paper.splits import facts, is_present
from dgtrees.paper.statistics import LEVEL
from dgtrees.paper.verdict import write_verdict

_INTRODUCTION = """\
# The paper's tables and figures

Every table and figure of *Learning Accurate Decision Trees with Bandit Feedback via Quantized
Gradient Descent* (TMLR 2022), run again with this library on the data sets that are at hand.
"""

_READING = """\
## How to read this page

`dgt paper run` runs what is missing, and `dgt paper report` writes this page from the records, one
file per run; the repository's are in `benchmarks/paper/results`. What is compared is declared in
`dgtrees/paper/experiments`, a part of the package.

* **Figures** are means and sample deviations over runs with different seeds; the number of runs
  is in brackets, and their seeds are 0, 1, 2 and so on. RMSE is in the units of the data,
  Ailerons in 1e-4.
* **Seeds** are also shuffles of the data sets that have no test part of their own (Abalone,
  Comp-Activ: five shuffles, as in the paper). Ridge does not depend on the seed, and CART
  hardly, so that their ten runs on five shuffles are five, each twice. "The paper's shuffles"
  are the five that its authors publish, for Tables 1 and 5; other tables have random splits of
  the same sets.
* **Settings** are chosen on validation rows, with seed 0 for all seeds where a fit is expensive.
  Test rows are looked at once, by the model that was chosen.
* **Bold** is the best of a row (of methods with at least two runs, where there are several), and
  what does not differ from it by an unpaired t-test at {level}, as in the paper, which has 10
  runs of each of its figures.
* **Curves** of at least three runs are shaded with the 95 % confidence interval of their mean;
  bars are deviations.
* **Rows**: *paper* is what the paper reports, at its best heights. "DGT, default" is this
  library's recipe, "DGT, the paper's recipe" the paper's, both as hard trees of the paper's
  heights. The tree that chooses its own size is not on this page.
* **†** marks runs of 0.1.0, whose recipe of the paper had no biases within, other targets,
  penalties and first leaves than the authors' program, and narrower layers and fewer epochs for
  large sets. In the ablation, learnt steps and annealing are of 0.1.0 too.

The grids, what was chosen and what a run costs are in [settings and costs](paper/settings.md).
"""


def write(folder: Path, docs: Path, pictures: bool = True) -> list[Path]:
    """Write the pages and, with matplotlib, the pictures; their paths."""
    known, made = read_experiments(), Records(folder)
    written = [docs / "paper.md", docs / "paper" / "settings.md"]
    all_found = [Findings(experiment, known, made) for experiment in known.values()]
    counts = {e.label: count(e, folder) for e in known.values()}
    missing = {label: found["cells"] - found["done"] for label, found in counts.items()}
    lines = [_INTRODUCTION, *write_verdict(all_found, missing)]
    lines += [_READING.format(level=LEVEL), *_write_progress(known, counts)]
    lines += _write_standing(all_found)
    lines += _write_reached([found for found in all_found if found.experiment.table in (1, 2)])
    details = ["# Settings and costs of the paper's experiments", "", *_write_costs(made)]
    for found in all_found:
        experiment = found.experiment
        lines += [f"## {experiment.heading}", ""]
        lines += [experiment.about.strip(), ""]
        drawn = _draw(found, docs / "paper") if pictures else None
        if drawn:
            written.append(drawn)
            lines += [f"![{experiment.title}](paper/{drawn.name})", ""]
        body = _write_body(found)
        lines += body or ["Nothing has been recorded yet.", ""]
        details += _describe_methods(found)
    lines += _list_absent(known, made)
    (docs / "paper").mkdir(parents=True, exist_ok=True)
    for path, text in zip(written, (lines, details), strict=False):
        path.write_text("\n".join(text).rstrip() + "\n")
    return written


def _write_standing(all_found: list[Findings]) -> list[str]:
    rows = [row for found in all_found for row in report_tables.tabulate_standing(found)]
    if not rows:
        return []
    head = ["data (height)", "", "here", "best published", ""]
    return [
        "## The default recipe and the best published single hard trees",
        "",
        "By the mean, of constant or of linear leaves as the row says. Published figures are those",
        "of their authors, on splits that may differ from those here.",
        "",
        *report_tables.format_table(head, rows),
    ]


def _write_reached(all_found: list[Findings]) -> list[str]:
    rows = [row for found in all_found for row in report_tables.tabulate_reached(found)]
    if not rows:
        return []
    return [
        "## The paper's recipe and the paper's figures",
        "",
        "Reached means: worse than the paper's mean by two of its deviations at most. Better means",
        "better than its mean.",
        "",
        *report_tables.format_table(["data (height)", "here", "paper", ""], rows),
    ]


def _write_body(found: Findings) -> list[str]:
    views: dict[str, Callable[[Findings], list[str]]] = {
        "curves": report_tables.tabulate_curves,
        "heights": report_tables.tabulate_heights,
        "sparsity": report_tables.tabulate_sparsity,
    }
    if found.experiment.view in views:
        return views[found.experiment.view](found)
    lines = report_tables.tabulate_scores(found)
    if found.experiment.extra:
        lines += report_tables.tabulate_extras(found)
    tested = report_tables.tabulate_tests(found)
    if tested:
        lines += [f"Differences at the level of {LEVEL}:", "", *tested]
    return lines


def _draw(found: Findings, folder: Path) -> Path | None:
    from dgtrees.paper import figures  # matplotlib, without which the pages can be written

    draw = {
        "curves": figures.draw_curves,
        "heights": figures.draw_heights,
        "soft": figures.draw_cost,
    }
    view = found.experiment.view
    path = folder / f"{found.experiment.name}.png"
    return path if view in draw and draw[view](found, path) else None


def _write_progress(known: dict[str, Experiment], counts: dict[str, dict[str, int]]) -> list[str]:
    rows = []
    for experiment in known.values():
        found = counts[experiment.label]
        if found["cells"]:
            rows.append(
                [
                    experiment.label,
                    experiment.title,
                    f"{found['done']:,} of {found['cells']:,}",
                    f"{found['absent']:,}",
                ]
            )
    head = ["", "", "runs recorded", "further runs on absent data"]
    text = (
        "**How far it is.** Three runs of everything are declared, ten of DGT where a fit takes\n"
        "less than a minute (three where classes are shown by height); `--seeds` asks for more."
    )
    return [text, "", *report_tables.format_table(head, rows)]


def count(experiment: Experiment, folder: Path) -> dict[str, int]:
    """Cells of an experiment: those whose data is at hand, of these done, and those of absent data.

    Records count although the data may be absent where the report is written.
    """
    made = [(cell.dataset, cell.read_record(folder) is not None) for cell in list_cells(experiment)]
    absent = {name for name in experiment.datasets if not is_present(name)}
    done = sum(there for _, there in made)
    lost = sum(name in absent and not there for name, there in made)
    return {"cells": len(made) - lost, "done": done, "absent": lost}


def _write_costs(made: Records) -> list[str]:
    versions = (record["versions"].items() for found in made.by_method.values() for record in found)
    used = sorted({f"{name} {version}" for items in versions for name, version in items})
    return [
        "What every method was trained with, the settings that it was chosen from, and what a run",
        "took: seconds of the final fit (mean), seconds of the longest run with its choice of",
        "settings, and the most memory that a run needed beyond its imports. One process and one",
        "thread a run; seconds are of a machine that did other things too.",
        "",
        *([f"Made with {', '.join(used)}.", ""] if used else []),
    ]


def _describe_methods(found: Findings) -> list[str]:
    experiment = found.experiment
    lines = [f"## {experiment.heading}", ""]
    for method in experiment.methods.values():
        if method.reuse:
            lines.append(f"* **{method.title}**: the cells of {' and '.join(method.reuse)}.")
        elif method.about:
            once = " Chosen with seed 0 for all seeds." if method.choose == "first seed" else ""
            lines.append(f"* **{method.title}**: {method.about}{once}")
    return [*lines, "", *report_tables.tabulate_settings(found)]


def _list_absent(known: dict[str, Experiment], made: Records) -> list[str]:
    names = dict.fromkeys(name for e in known.values() for name in e.datasets)
    recorded = {dataset for _, dataset, _ in made.by_method}
    lines = ["## Data sets that are absent", ""]
    for name in names:
        if not is_present(name) and name not in recorded:
            why = CATALOG[name].why_absent or "its files are not in the data folder"
            lines.append(f"* {facts(name).title}: {why}.")
    return [*lines, ""] if len(lines) > 2 else []
