"""A run that can be watched."""

import doctest

from dgtrees.paper import run_progress
from paper_cells import smoke_cells


def test_examples_in_docstrings():
    assert doctest.testmod(run_progress) == (0, 1)


def test_a_line_per_cell_has_the_score_and_what_is_left(tmp_path, capfd):
    cells, lines = smoke_cells("regression", "ridge"), []
    outcome = run_progress.run(cells, tmp_path, jobs=1, budget=None, say=lines.append)
    assert outcome.done == cells
    (line,) = lines
    assert line.startswith("regression diabetes ridge seed 0: test rmse ")
    assert "; 0 to go, about 0.0 s left" in line
    assert capfd.readouterr() == ("", "")  # no bar was asked for
