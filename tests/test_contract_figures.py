"""Figures that README and docs state are those of the recorded runs."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from dgtrees.paper import cells, experiment, report, splits
from dgtrees.paper.report_tables import Findings

ROOT = Path(__file__).parents[1]
KNOWN = experiment.read_experiments()
RESULTS = ROOT / "benchmarks" / "paper" / "results"
MADE = cells.Records(RESULTS)

# Of every row of README's table of single trees: data set, and method where it is not the default.
TREES = {
    "PenDigits, 8": ("classification", "pendigits"),
    "Letter, 10": ("classification", "letter"),
    "SatImage, 6": ("classification", "satimage"),
    "Segment, 8": ("classification", "segment"),
    "Forest cover, 10": ("classification", "covtype"),
    "MNIST, 8, 48,000 rows": ("classification", "mnist"),
    "MNIST, 8, 60,000 rows": ("classification", "mnist", "dgt-all"),
    "Connect4, 8": ("classification", "connect4"),
    "HIV, 6": ("classification", "hiv"),
    "BACE, 6": ("classification", "bace"),
    "Ailerons, 6": ("regression", "ailerons"),
    "Abalone, 6": ("regression", "abalone_shuffles"),
    "Comp-Activ, 6": ("regression", "compactiv_shuffles"),
}

# Of every row of the tables of docs/forests.md: the method, and the columns it has.
VALUES = ("ailerons", "abalone", "compactiv")
PAPERS_VALUES = ("ailerons", "abalone_shuffles", "compactiv_shuffles")
CLASSES = ("pendigits", "letter")
FORESTS = [
    ("DGT-Forest, default", "forest-grown", VALUES),
    ("DGT-Forest, trained trees, constant leaves", "forest-default", VALUES),
    ("DGT-Forest, trained trees, linear leaves", "forest-linear", VALUES),
    ("DGT-Forest, the paper's recipe", "forest-paper", VALUES),
    ("XGBoost", "xgboost", VALUES),
    ("AdaBoost", "adaboost", VALUES),
    ("Random forest", "random-forest", VALUES),
    ("DGT-Forest, default", "forest-grown", CLASSES),
    ("DGT-Forest, default, `bootstrap=False`", "forest-grown-all", CLASSES),
    ("DGT-Forest, trained trees", "forest-default", CLASSES),
    ("DGT-Forest, the paper's recipe", "forest-paper", CLASSES),
    ("XGBoost", "xgboost", CLASSES),
    ("Random forest", "random-forest", CLASSES),
]

# Data sets as tables of policies call them, and of every row of continuous actions its runs.
STREAMS = {
    "covtype": "covtype",
    "MNIST": "mnist",
    "PenDigits": "pendigits",
    "Letter": "letter",
    "SatImage": "satimage",
}
PRICES = {
    "linear leaves (default)": "dgt-default-squared",
    "constant leaves": "dgt-constant-squared",
    "paper's recipe": "dgt-paper-squared",
    "linear regression at its best": "linear-default-squared",
}


def recorded(name, dataset, method="dgt-default"):
    summary = Findings(KNOWN[name], KNOWN, MADE).summary(dataset, method)
    return summary.text(splits.facts(dataset).digits)


def rows(page, first):
    """Cells of the rows that begin so, without the marks of bold type."""
    found = re.findall(rf"^\| {re.escape(first)} \|(.*)\|$", page, flags=re.MULTILINE)
    return [[cell.strip(" *") for cell in row.split("|")] for row in found]


@pytest.mark.parametrize("row", TREES)
def test_readme_has_the_recorded_scores_of_trees(row):
    ((first, *_),) = rows((ROOT / "README.md").read_text(), row)
    assert first == recorded(*TREES[row])


def test_readme_has_the_recorded_scores_of_linear_leaves():
    text = " ".join((ROOT / "README.md").read_text().split())
    for dataset in PAPERS_VALUES:
        assert recorded("linear-leaves", dataset, "dgt-linear-default") in text


@pytest.mark.parametrize(("row", "method", "datasets"), FORESTS)
def test_the_page_on_forests_has_the_recorded_scores(row, method, datasets):
    page = (ROOT / "docs" / "forests.md").read_text()
    assert [recorded("forests", d, method) for d in datasets] in rows(page, row)


def mixed(name, answers):
    """Held-out accuracy of the default policy and that while learning, means of three seeds."""
    with (ROOT / "benchmarks" / "results" / "bandit_peers.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["peer"] == "ours"]
    key = name.lower(), answers.replace(",", "")
    own = [row for row in rows if (row["data"], row["queries"]) == key]
    assert len(own) == 3, key
    return [np.mean([float(row[part]) for row in own]) for part in ("held_out", "progressive")]


def test_readme_has_the_recorded_accuracy_of_the_default_policy():
    pattern = rf"^\| ({'|'.join(STREAMS)}), (\d+,\d{{3}}) \| ([^|]*) \| ([^|]*) \|"
    found = re.findall(pattern, (ROOT / "README.md").read_text(), flags=re.MULTILINE)
    assert len(found) >= 7
    policies = Findings(KNOWN["bandit-classification"], KNOWN, MADE)
    for name, answers, ours, papers in found:
        assert ours.strip("* ") == f"{mixed(name, answers)[0]:.1f}", (name, answers)
        curves = [r["details"]["curve"] for r in policies.records(STREAMS[name], "dgt-paper")]
        at = curves[0]["queries"].index(int(answers.replace(",", "")))
        assert papers.strip() == f"{np.mean([curve['held_out'][at] for curve in curves]):.1f}"


def test_the_page_on_policies_has_the_recorded_accuracy_of_the_default():
    page = (ROOT / "docs" / "bandits.md").read_text()
    found = re.findall(r"^\| (\w+) \| after (\d+,\d{3}) \| ([^|]*) \|", page, flags=re.MULTILINE)
    assert len(found) >= 25
    for name, answers, shown in found:
        held_out, while_learning = mixed(name, answers)
        assert shown.replace("*", "") == f"{held_out:.1f} ({while_learning:.1f})", (name, answers)


def test_pages_have_the_recorded_accuracy_of_policies():
    pattern = rf"^\| ({'|'.join(STREAMS)})(?:,| \|) (\d+,\d{{3}}) \|(.*)\|$"
    page = (ROOT / "docs" / "bandits.md").read_text()
    found = re.findall(pattern, page, flags=re.MULTILINE)
    assert len(found) >= 10
    policies = Findings(KNOWN["bandit-classification"], KNOWN, MADE)
    for name, answers, row in found:
        shown = [cell.strip(" *") for cell in row.split("|")][:4]
        curves = [
            [record["details"]["curve"] for record in policies.records(STREAMS[name], method)]
            for method in ("dgt-default", "dgt-linear", "dgt-paper", "dgt-paper-clipped")
        ]
        queries = int(answers.replace(",", ""))
        means = [np.mean([c["held_out"][c["queries"].index(queries)] for c in cs]) for cs in curves]
        assert shown == [f"{mean:.1f}" for mean in means], (name, answers)


@pytest.mark.parametrize("row", PRICES)
def test_the_page_on_policies_has_the_recorded_errors(row):
    ((*shown,),) = rows((ROOT / "docs" / "bandits.md").read_text(), row)
    assert shown == [recorded("two-point", dataset, PRICES[row]) for dataset in PAPERS_VALUES]


@pytest.mark.data
def test_the_report_was_written_from_these_records(tmp_path):
    if not all(splits.is_present(dataset) for _, dataset, _ in MADE.by_method):
        pytest.skip("the report counts the runs that are left, and data sets are absent here")
    for path in report.write(RESULTS, tmp_path, pictures=False):
        there = (ROOT / "docs" / path.relative_to(tmp_path)).read_text()
        lines = [line for line in there.splitlines() if not line.startswith("![")]
        without_pictures = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"
        assert path.read_text() == without_pictures, "run dgt paper report"


ORDINARY = {
    "CART, tuned": "CART",
    "logistic or ridge regression, tuned": "Linear",
    "random forest of 300": "Random forest",
    "XGBoost": "XGBoost",
    "LightGBM": "LightGBM",
}


@pytest.mark.parametrize("said", ORDINARY)
def test_readme_compares_ordinary_tables_as_the_page_does(said):
    page = (ROOT / "docs" / "comparison.md").read_text().split("## Files as they come")[0]
    (mine,) = rows((ROOT / "README.md").read_text(), said)
    theirs, ours = rows(page, ORDINARY[said]), rows(page, "DGT")
    counts = next(row for row in theirs if row[0].isdigit())
    ranks, own_ranks = (
        next(row for row in some if re.fullmatch(r"\d\.\d\d", row[0])) for some in (theirs, ours)
    )
    assert mine[:3] == counts[:3]
    assert [part.strip(" *") for part in mine[3].split(",")] == [own_ranks[3], ranks[3]]
    assert [part.strip(" *") for part in mine[4].split(",")] == [own_ranks[0], ranks[0]]
