"""One cell: every method runs, repeats itself, and chooses on validation rows alone."""

import json
from dataclasses import replace

import numpy as np
import pytest

import dgtrees
from dgtrees.errors import StateError
from dgtrees.paper import splits, work
from paper_cells import KNOWN, smoke_cells


@pytest.mark.parametrize("name", [name for name in KNOWN if smoke_cells(name)])
def test_every_method_of_every_experiment_runs(name, tmp_path):
    for cell in smoke_cells(name):
        record = work.run(cell, tmp_path)
        work.write(record, tmp_path / cell.path)
        assert cell.read_record(tmp_path) == json.loads(json.dumps(record))
        assert np.isfinite(record["scores"]["test"])
        assert record["cost"]["seconds"] > 0
        assert record["cost"]["memory_mb"] > 0
        assert record["versions"]["dgtrees"] == dgtrees.__version__
        assert ("tried" in record["choice"]) == (len(cell.grid) > 1)
        if KNOWN[name].view == "curves":
            curve = record["details"]["curve"]
            assert curve["held_out"][-1] == pytest.approx(record["scores"]["test"])


@pytest.mark.parametrize(
    ("name", "method"),
    [("regression", "dgt-paper"), ("classification", "lcn"), ("bandit-classification", "vw-best")],
)
def test_a_rerun_repeats_its_record(name, method, tmp_path):
    (cell,) = smoke_cells(name, method)
    first, second = (work.run(cell, tmp_path) for _ in range(2))
    first.pop("cost"), second.pop("cost")
    assert first == second


def test_settings_are_chosen_by_validation_rows_alone(tmp_path, monkeypatch):
    (cell,) = smoke_cells("regression", "cart")
    grid = tuple({"min_samples_leaf": n, "max_depth": 4} for n in (1, 5, 20, 60))
    before = work.run(replace(cell, grid=grid), tmp_path)
    vals = [tried["val"] for tried in before["choice"]["tried"]]
    assert before["choice"]["settings"] == grid[int(np.argmin(vals))]
    assert before["scores"]["val"] == min(vals)

    split = splits.load_parts("diabetes", 0)
    other = replace(split, y_test=split.y_test[::-1].copy(), X_test=split.X_test + 1.0)
    monkeypatch.setattr(work, "load_parts", lambda name, seed: other)
    after = work.run(replace(cell, grid=grid), tmp_path)
    assert after["choice"] == before["choice"]
    assert after["scores"]["test"] != before["scores"]["test"]


def test_the_first_seed_chooses_for_all(tmp_path):
    first, second = smoke_cells("regression", "lcn", seeds=2)
    assert first.chooses and not second.chooses
    with pytest.raises(StateError, match="seed 0, which has not been run"):
        work.run(second, tmp_path)
    made = work.run(first, tmp_path)
    work.write(made, tmp_path / first.path)
    taken = work.run(second, tmp_path)
    assert taken["settings"] == made["settings"]
    assert taken["choice"]["how"] == "chosen on validation rows with seed 0"
