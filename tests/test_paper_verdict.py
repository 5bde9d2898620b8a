"""verdict: a screen that says what was reached, improved on and missed."""

import pytest

from dgtrees.paper.cells import Records
from dgtrees.paper.report_tables import Findings
from dgtrees.paper.verdict import count_tests, write_verdict
from paper_cells import KNOWN, write_records


@pytest.fixture
def every(tmp_path):
    write_records(tmp_path)
    made = Records(tmp_path)
    return [Findings(experiment, KNOWN, made) for experiment in KNOWN.values()]


def test_it_says_what_was_reached_and_what_is_missing(every):
    page = "\n".join(write_verdict(every, {"Table 1": 1200, "Table 2": 0}))
    assert page.startswith("## The verdict\n")
    assert "(within twice its standard deviation) on 1 of " in page
    assert "**The default recipe** is ahead of the best single hard tree published" in page
    assert "of data that is at hand: Table 1 1,200.\n" in page


def test_baselines_are_counted_and_our_own_methods_are_not(every):
    (regression,) = (found for found in every if found.experiment.name == "regression")
    (row,) = count_tests(regression)
    assert row[:2] == [regression.experiment.heading, "DGT, default"]
    tried = [
        (dataset, name)
        for dataset in regression.datasets()
        for name, method in regression.experiment.methods.items()
        if not method.kind.startswith("dgt") and regression.summary(dataset, name)
    ]
    assert 0 < sum(map(int, row[2:])) <= len(tried)


def test_without_records_there_is_no_verdict(tmp_path):
    made = Records(tmp_path)
    nothing = [Findings(experiment, KNOWN, made) for experiment in KNOWN.values()]
    assert write_verdict(nothing, {"Table 1": 5}) == []
