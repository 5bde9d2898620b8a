"""Figures of the report: drawn where there is something to draw, and the same again."""

import pytest

from dgtrees.paper import figures
from dgtrees.paper.cells import Records
from dgtrees.paper.report_tables import Findings
from paper_cells import KNOWN, write_records

DRAWN = [
    (figures.draw_curves, "bandit-classification"),
    (figures.draw_heights, "heights-regression"),
    (figures.draw_cost, "soft"),
]


@pytest.mark.parametrize(("draw", "name"), DRAWN)
def test_the_same_records_give_the_same_file(draw, name, tmp_path):
    write_records(tmp_path / "results")
    found = Findings(KNOWN[name], KNOWN, Records(tmp_path / "results"))
    first, second = tmp_path / "a" / "x.png", tmp_path / "b" / "x.png"
    assert draw(found, first) and draw(found, second)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize(("draw", "name"), DRAWN)
def test_without_records_nothing_is_drawn(draw, name, tmp_path):
    assert not draw(Findings(KNOWN[name], KNOWN, Records(tmp_path)), tmp_path / "x.png")
    assert not list(tmp_path.iterdir())
