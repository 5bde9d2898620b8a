"""Tables of the report: which records a method shows, and how numbers are written."""

import pytest

from dgtrees.paper import report_tables
from dgtrees.paper.cells import Records
from dgtrees.paper.report_tables import Findings
from paper_cells import KNOWN, write_records


@pytest.fixture
def found(tmp_path):
    write_records(tmp_path)
    made = Records(tmp_path)
    return {name: Findings(experiment, KNOWN, made) for name, experiment in KNOWN.items()}


def test_a_method_shows_its_records_or_those_it_reuses(found):
    own = found["regression"].records("ailerons", "dgt-default")
    assert [record["seed"] for record in own] == [0, 1, 2]
    assert found["soft"].records("ailerons", "dgt-default") == own
    assert found["regression"].records("abalone", "dgt-default") == []
    assert found["regression"].datasets() == ["ailerons"]


def test_a_run_that_diverged_has_no_summary(found):
    assert found["regression"].records("ailerons", "ridge")
    assert found["regression"].summary("ailerons", "ridge") is None
    assert found["regression"].summary("ailerons", "dgt-default").text(3) == "1.710 ± 0.010"


def test_figures_of_an_older_recipe_are_marked(found):
    tables = found["regression"]
    assert tables.mark("ailerons", "dgt-paper") == tables.mark("ailerons", "dgt-default") == ""
    assert report_tables.OLDER not in "".join(report_tables.tabulate_scores(tables))
    del tables.records("ailerons", "dgt-paper")[0]["recipe"]
    assert tables.mark("ailerons", "dgt-paper") == f" {report_tables.OLDER}"
    (row,) = [r for r in report_tables.tabulate_scores(tables) if "| here |" in r]
    assert row.count(report_tables.OLDER) == 1 and f"(3) {report_tables.OLDER} |" in row
    assert report_tables.OLDER in "".join(report_tables.tabulate_sparsity(found["sparsity"]))


@pytest.mark.parametrize(
    ("score", "verdict"), [(1.71, "better"), (1.75, "reached"), (1.76, "not reached")]
)
def test_the_papers_figure_is_reached_to_two_of_its_deviations(found, score, verdict):
    tables = found["regression"]  # the paper has 1.72 with a deviation of 0.016
    for record in tables.records("ailerons", "dgt-paper"):
        record["scores"]["test"] = score
    ((data, here, paper, said),) = report_tables.tabulate_reached(tables)
    assert (data, here) == ("Ailerons (6)", f"{score:.3f} ± 0.000 (3)")
    assert (paper, said) == ("1.72 ± 0.016", verdict)


def test_tables_are_markdown():
    assert report_tables.format_table(["a", "b"], [["1", "2"]]) == [
        *("| a | b |", "|---|---|", "| 1 | 2 |", ""),
    ]


def test_settings_are_written_shortly():
    made = [{"settings": {"b": [1.0, 0.5], "a": "x"}}, {"settings": {"b": 2, "a": "x"}}]
    assert report_tables._format_settings(made[:1]) == "a=x, b=[1 0.5]"
    assert report_tables._format_settings(made) == "a=x, b=[1 0.5] (seed 0's)"
