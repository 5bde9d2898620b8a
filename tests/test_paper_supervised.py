"""Methods that learn from labels: the rows that they see."""

from dgtrees.paper import splits, supervised, work
from paper_cells import smoke_cells


def test_fewer_rows_are_training_rows():
    split = splits.load_parts("digits", 0)
    small = supervised.select_rows(split, 30)
    assert small.rows == (30, *split.rows[1:])
    assert {row.tobytes() for row in small.X_train} <= {row.tobytes() for row in split.X_train}


def test_all_rows_leave_none_to_validate_with(tmp_path):
    (cell,) = smoke_cells("classification", "dgt-all")
    made = work.run(cell, tmp_path)
    assert made["scores"]["val"] is None and made["scores"]["test"] is not None
    split = splits.load_parts(cell.dataset, 0)
    everything = supervised.select_rows(split, "all")
    assert everything.rows == (split.rows[0] + split.rows[1], 0, split.rows[2])
