"""Tables of docs/bags.md and docs/few_labels.md are those of the recorded runs."""

import csv
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
BAGS = {
    "one tree": "tree",
    "twenty trees": "bagged",
    "mi-SVM (Gaussian kernel, C = 10)": "mi-SVM",
    "logistic regression of bag means": "logistic of bag means",
    "of means, minima, maxima": "logistic of mean, min, max",
    "random forest of these": "random forest of mean, min, max",
}
FEW = {
    "this tree": ("self-training tree", "error"),
    "its targets": ("self-training tree", "transduced"),
    "labels alone (`DGTClassifier`)": ("supervised tree", "error"),
    "label spreading": ("label spreading", "error"),
    "tuned": ("label spreading, tuned", "error"),
    "self-training, logistic": ("self-training, logistic", "error"),
    "self-training, CART": ("self-training, CART", "error"),
}


def records(name):
    with (ROOT / "benchmarks" / "results" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def table_under(page, heading):
    """Rows of the table whose first line begins so, cells without bold."""
    lines = (ROOT / "docs" / page).read_text().split("\n")
    start = next(i for i, line in enumerate(lines) if line.startswith(heading))
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip().strip("*") for cell in line.strip("|").split("|")])
    return rows[0], rows[2:]


def told(values):
    spread = f" ± {np.std(values, ddof=1):.1f}" if len(values) > 1 else ""
    return f"{np.mean(values):.1f}{spread}"


def test_accuracy_over_bags():
    head, rows = table_under("bags.md", "| | musk1")
    found = records("bags")
    assert [row[0] for row in rows] == list(BAGS)
    for row in rows:
        counts = set()
        for name, cell in zip(head[1:6], row[1:6], strict=True):
            own = [r for r in found if (r["set"], r["method"]) == (name, BAGS[row[0]])]
            assert {int(r["repeat"]) for r in own} == set(range(len(own)))
            assert cell == (told([100 * float(r["accuracy"]) for r in own]) if own else "not run")
            counts.add(len(own))
        assert row[6] == str(max(counts))
        assert len(counts - {0}) == 1


def test_errors_with_few_labels():
    head, rows = table_under("few_labels.md", "| set | this tree")
    found = records("few_labels")
    assert head[1:] == list(FEW)
    for row in rows:
        for (method, field), cell in zip(FEW.values(), row[1:], strict=True):
            own = [r for r in found if (r["data"], r["method"]) == (row[0], method)]
            assert len(own) == 12
            assert cell == told([100 * float(r[field]) for r in own])
