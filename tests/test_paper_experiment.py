"""The declarative files: every table of the paper, and nothing that a method does not know."""

import pytest

from dgtrees.paper import cells, splits, streams, supervised, work
from dgtrees.paper.catalog import CATALOG
from paper_cells import KNOWN


def test_every_table_and_figure_of_the_paper_is_declared():
    assert {e.table for e in KNOWN.values()} - {0} == set(range(1, 8))
    assert {e.figure for e in KNOWN.values()} - {0} == set(range(1, 6))
    assert "sparsity" in KNOWN


@pytest.mark.parametrize("name", KNOWN)
def test_files_name_known_data_sets_methods_and_experiments(name):
    experiment = KNOWN[name]
    assert set(experiment.datasets) <= set(CATALOG)
    assert set(experiment.published) <= set(experiment.datasets)
    assert set(experiment.ours) <= set(experiment.methods)
    assert experiment.smoke in splits.BUNDLED
    columns = {c for table in experiment.published.values() for c in table}
    known = {method.paper for method in experiment.methods.values()}
    assert columns <= known | {"since", "nodes", "best"}
    for method in experiment.methods.values():
        assert set(method.datasets) | set(method.at) <= set(experiment.datasets), method.name
        assert set(method.against) <= set(experiment.methods), method.name
        assert method.choose in ("every seed", "first seed"), method.name
        for other in method.reuse:
            assert method.name in KNOWN[other].methods, method.name
        if not method.reuse:
            assert method.kind in work.QUICK, method.name


@pytest.mark.parametrize("name", KNOWN)
def test_every_setting_of_the_files_is_known_to_its_method(name):
    for cell in cells.list_cells(KNOWN[name], seeds=1):
        for candidate in cell.grid:
            settings = cell.fixed | candidate
            assert set(cell.selection) <= set(settings), cell.title
            if cell.kind in supervised.KINDS:
                supervised.make_model(
                    cell.kind, splits.facts(cell.dataset).task, cell.height, cell.seed, settings
                )
            else:
                streams.make_policy(cell.kind, cell.height, cell.seed, settings, n_actions=3)


def test_two_recipes_of_ours_stand_in_every_experiment():
    for experiment in KNOWN.values():
        assert len(experiment.ours) >= 2, experiment.name
        assert any("paper" in name for name in experiment.ours), experiment.name
        assert any("default" in name for name in experiment.ours), experiment.name
