"""Cells: which ones a command names, and when a record is still theirs."""

from dataclasses import replace

from dgtrees.paper import cells, work
from paper_cells import KNOWN, smoke_cells


def test_cheap_methods_have_more_runs_and_the_command_decides_in_the_end():
    def runs(dataset, method, seeds=None):
        named = {"tables": [2], "datasets": [dataset], "methods": [method], "seeds": seeds}
        return len(cells.select_cells(KNOWN.values(), **named))

    assert runs("segment", "dgt-default") == 10  # declared for the data set
    assert runs("mnist", "dgt-default") == runs("segment", "tao") == 3
    assert runs("segment", "dgt-default", seeds=4) == runs("segment", "tao", seeds=4) == 4


def test_selecting_by_table_brings_the_cells_that_it_reuses():
    chosen = cells.select_cells(KNOWN.values(), tables=[3], datasets=["letter"], seeds=2)
    assert {(c.experiment, c.method) for c in chosen} == {
        *(("soft", "tel-1"), ("soft", "tel-01"), ("classification", "tel")),
        *(("classification", "dgt-default"), ("classification", "dgt-paper")),
    }
    assert {c.seed for c in chosen} == {0, 1}
    by_height = cells.select_cells(KNOWN.values(), figures=[4], methods=["cart"], seeds=1)
    assert {c.height for c in by_height} == {2, 4, 6, 8, 10}


def test_runs_of_the_papers_recipe_know_whether_that_has_changed_since():
    preset = cells.describe_preset("regression", {"recipe": "paper"})
    assert preset["optimizer"] == "rmsprop" and preset["output_bias"] and "n_layers" not in preset
    record = {"kind": "dgt", "dataset": "ailerons", "settings": {"recipe": "paper"}}
    assert cells.is_of_older_recipe(record)  # of a release that did not write it down
    assert cells.is_of_older_recipe(record | {"recipe": preset | {"clip": 0.1}})
    assert not cells.is_of_older_recipe(record | {"recipe": preset})
    assert not cells.is_of_older_recipe(record | {"settings": {}})
    assert not cells.is_of_older_recipe(record | {"kind": "tao"})


def test_a_changed_declaration_is_another_run_and_a_changed_estimate_is_not(tmp_path):
    (cell,) = smoke_cells("regression", "ridge")
    work.write(work.run(cell, tmp_path), tmp_path / cell.path)
    assert replace(cell, seconds=99.0).read_record(tmp_path)
    assert replace(cell, height=5).read_record(tmp_path) is None
    assert replace(cell, grid=cell.grid[:1]).read_record(tmp_path) is None


def test_a_changed_default_recipe_is_another_run_for_who_shows_it(monkeypatch):
    shown = smoke_cells("regression", "dgt-default") + smoke_cells("regression", "dgt-paper")
    before = [cell.declared for cell in shown]
    recipe = replace(cells.RECIPES["default"]["regression"], learning_rate=1.0)
    changed = cells.RECIPES["default"] | {"regression": recipe}
    monkeypatch.setitem(cells.RECIPES, "default", changed)
    assert [cell.declared == known for cell, known in zip(shown, before, strict=True)] == [
        False,
        True,
    ]
