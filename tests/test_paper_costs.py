"""What a cell will cost."""

from dataclasses import replace

import pytest

from dgtrees.paper import costs
from paper_cells import smoke_cells


def test_costs_are_what_was_recorded_or_declared(tmp_path):
    first, second = smoke_cells("regression", "lcn", seeds=2)
    known = costs.Costs(tmp_path)
    assert known.seconds(second) == second.seconds
    assert known.seconds(first) == pytest.approx(3 * first.seconds)  # two to compare
    shorter = replace(first, fixed={"max_epochs": 100}, selection={"max_epochs": 25})
    assert known.seconds(shorter) == pytest.approx(1.5 * first.seconds)
    key = {"experiment": first.experiment, "dataset": first.dataset, "method": first.method}
    took = {"fit_seconds": 7.0, "selection_seconds": 20.0}
    known.add(key | {"cost": took, "choice": {"tried": []}})
    assert (known.seconds(first), known.seconds(second)) == (27.0, 7.0)
