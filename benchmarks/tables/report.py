"""The page of documentation that the records make, and its picture."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.tables import picture, records, statistics
from benchmarks.tables.encoding import LEAST_FREQUENCY
from benchmarks.tables.models import CONTESTANTS, REFERENCE
from benchmarks.tables.protocol import MOST_TEST_ROWS
from benchmarks.tables.report_tables import (
    tabulate_costs,
    tabulate_duels,
    tabulate_extremes,
    tabulate_losses,
    tabulate_ranks,
    tabulate_scores,
)
from benchmarks.tables.suites import MOST_TRAINING_ROWS
from dgtrees.paper.report_tables import format_table
from dgtrees.writing import whole_file

PAGE, PICTURE = "comparison.md", "comparison/ranks.png"

_INTRODUCTION = f"""\
# Beside other models, on ordinary tables

How good are the defaults on ordinary tables? `make tables` fits what has no record yet and writes
this page from the records, one line a fit, which are in `benchmarks/tables/results`;
`python -m benchmarks.tables run --help` has the options.

**How it is measured.** Three quarters of a table's rows to train, one quarter to test, in equal
shares of the classes; the seed chooses the rows and is the model's seed too. At most
{MOST_TRAINING_ROWS:,} training rows and {MOST_TEST_ROWS:,} test rows. Every model has one thread.
Our models get the table as `pandas.read_csv` gives it. All others get numbers: missing ones are
replaced by the median, text and booleans become one column a value (values that occur fewer than
{LEAST_FREQUENCY} times share one, missing values have one), dates become days since 1970, month,
weekday and hour, and identifiers are left out. CPU seconds are those of `fit`, with the search for
parameters where there is one, after a first fit to a few rows that loads or compiles what a model
needs; the encoding counts for ours only.

**How to read it.** Scores are the accuracy in per cent, or the root mean squared error in standard
deviations of the test rows' target (smaller is better, 1 is no better than the mean). Log-loss
takes probabilities below 1e-7 as 1e-7, so that a single tree with pure leaves pays 16 for a row it
is wrong about. Ranks are by the mean score over seeds, 1 is the best. *Better*, *level* and *worse*
count tables by a paired t-test over seeds at {statistics.LEVEL}. The seeds' training rows overlap,
so the test finds differences more readily than its level says; of many tables, some differ by
chance alone.
"""

_ABOUT = {
    "tables": (
        "Tables of numbers",
        "Small and middling tables, mostly of the UCI repository, as the Penn Machine Learning "
        "Benchmarks have them: categories are numbers already, and nothing is missing.\n\n"
        "`krkopt` and `shuttle` have classes of a dozen training rows and fewer, on which the "
        "defaults of HistGB and, with some seeds, of LightGBM overshoot. That decides their mean "
        "log-loss. With an L2 penalty of 1 both are right in 75 to 77 % of `krkopt` and 99.9 % of "
        "`shuttle` (seeds 0 to 4).",
    ),
    "raw": (
        "Files as they come",
        "Popular CSV files with text, dates, gaps and identifiers. In `taxis` the columns `total`, "
        "`tip` and `tolls` all but state the fare, which suits a linear model.",
    ),
    "teaching": (
        "Tables that nothing was chosen on",
        "Tables of Python packages for teaching statistics and machine learning: surveys, prices, "
        "medicine, with text, gaps and identifiers. No default of this library was chosen on them, "
        "and none is to be: they are run when a release is made. `benchmarks/tables/teaching.csv` "
        "lists all of them, those that have been run are below; target and left-out columns were "
        "settled before any fit.",
    ),
}


def write(results: Path, docs: Path) -> list[Path]:
    """Write the page and, where models can be ranked, the picture.

    Parameters
    ----------
    results, docs : Path
        Folder of the records, and of the pages.

    Returns
    -------
    list of Path
        What was written.
    """
    found = records.read(results, CONTESTANTS)
    docs.mkdir(parents=True, exist_ok=True)
    ranks = _mean_ranks(found[found["suite"] == "tables"])
    written = [docs / PAGE]
    if ranks is not None:
        written.append(docs / PICTURE)
        picture.draw(*ranks, docs / PICTURE)
    with whole_file(docs / PAGE, text=True) as stream:
        stream.write(render(found))
    return written


def render(found: pd.DataFrame) -> str:
    """The page as text.

    Parameters
    ----------
    found : DataFrame
        All records, as `records.read` gives them.
    """
    lines = [_INTRODUCTION, *_contestants(found), *_versions(found)]
    for suite, (title, about) in _ABOUT.items():
        part = found[found["suite"] == suite]
        lines += [f"## {title}", "", about, ""]
        lines += _suite(part, suite) if len(part) else ["Nothing has been recorded yet.", ""]
    return "\n".join(lines).rstrip() + "\n"


def _mean_ranks(part: pd.DataFrame) -> tuple[pd.Series, int] | None:
    """Mean rank by model, and over how many tables; None where there is nothing to rank."""
    if part.empty:
        return None
    wide = statistics.losses(part)
    models = statistics.complete(wide)
    mean = statistics.means(wide, models)
    return (statistics.ranks(mean).mean(), len(mean)) if len(models) > 1 and len(mean) else None


def _contestants(found: pd.DataFrame) -> list[str]:
    rows = []
    for model, part in found.groupby("model", sort=False):
        contestant = CONTESTANTS[model]
        versions = ", ".join(sorted(part["version"].unique()))
        rows.append([contestant.title, contestant.about, f"{contestant.package} {versions}"])
    return format_table(["model", "what is fitted", "package"], rows) if rows else []


def _versions(found: pd.DataFrame) -> list[str]:
    """Which defaults our rows are of, in plain words."""
    ours = found[found["recipe"] != ""]
    if ours.empty:
        return ["**Our rows.** There are no records of our models yet.", ""]
    rows, stale = [], False
    kinds = ours.groupby(["model", "task", "version", "recipe"], sort=False)
    for (model, task, version, recipe), part in kinds:
        now = CONTESTANTS[model].recipe(task) == recipe
        stale |= not now
        of = "classification" if task == "clf" else "regression"
        rows.append(
            [CONTESTANTS[model].title, of, version, recipe, "yes" if now else "no", str(len(part))]
        )
    head = ["model", "task", "dgtrees", "recipe", "still the defaults", "fits"]
    said = (
        "**Our rows.** They were made with these defaults; eight digits stand for a recipe and all "
        "default parameters, and change when any of them does."
    )
    warning = ["**Some rows are of older defaults: run `make tables`.**", ""] if stale else []
    return [said, "", *format_table(head, rows), *warning]


def _suite(part: pd.DataFrame, suite: str) -> list[str]:
    wide = statistics.losses(part)
    models = statistics.complete(wide)
    tables = part["table"].nunique()
    seeds = wide[models].dropna().index.unique("seed").size  # that all ranked models have
    tasks = part.groupby("table")["task"].first().value_counts()
    lines = [
        f"{tables} tables, {tasks.get('clf', 0)} of classes and {tasks.get('reg', 0)} of numbers; "
        f"{seeds} {'seed' if seeds == 1 else 'seeds'}.",
        "",
        *tabulate_ranks(part, wide, models),
    ]
    if suite == "tables" and _mean_ranks(part):
        lines += [
            f"![Mean ranks of the models on {tables} tables]({PICTURE})",
            "",
            "Mean ranks. A grey bar joins models whose mean ranks differ by less than the critical "
            "difference of Nemenyi's test: these tables do not tell them apart.",
            "",
        ]
    if REFERENCE in wide.columns:
        lines += ["### Our tree against each", "", *tabulate_duels(part)]
        lines += ["### Where our tree is best and worst", "", *tabulate_extremes(part)]
    else:
        title = CONTESTANTS[REFERENCE].title
        lines += [f"There are no records of {title} yet to compare with each of the others.", ""]
    lines += ["### CPU", "", *tabulate_costs(part)]
    lines += ["### All tables", "", *tabulate_scores(part), *tabulate_losses(part)]
    return lines
