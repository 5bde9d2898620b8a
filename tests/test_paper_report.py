"""The pages of the report."""

import pytest

from dgtrees.paper import report
from paper_cells import KNOWN, write_records


@pytest.fixture
def recorded(tmp_path):
    write_records(tmp_path / "results")
    return tmp_path / "results"


def test_the_report_shows_what_was_recorded(recorded, tmp_path):
    docs = tmp_path / "docs"
    written = {path.name for path in report.write(recorded, docs)}
    assert {"paper.md", "settings.md", "soft.png", "heights-regression.png"} <= written
    assert "bandit-classification.png" in written and "bandit-regression.png" not in written
    page = (docs / "paper.md").read_text()
    for name in written - {"paper.md", "settings.md"}:
        assert (docs / "paper" / name).stat().st_size > 5000
        assert f"(paper/{name})" in page
    assert "| **1.710 ± 0.010** (3) | **1.720 ± 0.010** (3) | 1.910 ± 0.010 (3) |" in page
    assert "| diverged |" in page
    standing = (
        "| Ailerons (6) | DGT, default | 1.710 ± 0.010 (3) | 1.720 (DGT, in the paper) | ahead |"
    )
    assert standing in page
    assert "1.72 ± 0.016" in page and "1.652 (top-k 2026)" in page
    assert "| DGT, default, against TAO | Ailerons |  |  |" in page
    assert "| 47.0 of 63 (75 %; 3) |" in page
    assert f"| {KNOWN['soft'].methods['tel-1'].title} | 8.0 | 900.0 |" in page
    assert "| CART | 2.050 ± 0.071 (2) |" in page
    assert "| 2 | 50.00 | 60.50 |" in page
    settings = (docs / "paper" / "settings.md").read_text()
    assert "n_passes=5" in settings and "Made with dgtrees 0." in settings


def test_the_report_is_the_same_again_and_stands_without_records(recorded, tmp_path):
    first = {p: p.read_bytes() for p in report.write(recorded, tmp_path / "a")}
    again = [p.read_bytes() for p in report.write(recorded, tmp_path / "b")]
    assert list(first.values()) == again
    empty = report.write(tmp_path / "nothing", tmp_path / "c")
    assert [path.name for path in empty] == ["paper.md", "settings.md"]
    assert (tmp_path / "c" / "paper.md").read_text().count("Nothing has been recorded") == len(
        KNOWN
    )
