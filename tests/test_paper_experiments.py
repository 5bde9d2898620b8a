"""The instrument that runs the paper's experiments: declarations, cells, resuming, the report."""

import doctest
import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import dgtrees
from dgtrees.cli.app import run as dgt
from dgtrees.errors import StateError
from dgtrees.paper import (
    bars,
    costs,
    report,
    runner,
    splits,
    statistics,
    streams,
    supervised,
    work,
)
from dgtrees.paper import experiment as declared
from dgtrees.paper.catalog import CATALOG

ROOT = Path(__file__).parents[1]
KNOWN = declared.experiments()
SMOKE = {name: declared.smoke(e, work.QUICK) for name, e in KNOWN.items()}


def smoke_cells(name, *methods, seeds=1):
    found = declared.cells(SMOKE[name], seeds)
    return [cell for cell in found if cell.method in methods or not methods]


# Declarations


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
    for cell in declared.cells(KNOWN[name], seeds=1):
        for candidate in cell.grid:
            settings = cell.fixed | candidate
            assert set(cell.selection) <= set(settings), cell.title
            if cell.kind in supervised.KINDS:
                supervised.made(
                    cell.kind, splits.facts(cell.dataset).task, cell.height, cell.seed, settings
                )
            else:
                streams.made(cell.kind, cell.height, cell.seed, settings, n_actions=3)


def test_two_recipes_of_ours_stand_in_every_experiment():
    for experiment in KNOWN.values():
        assert len(experiment.ours) == 2, experiment.name
        assert any("paper" in name for name in experiment.ours), experiment.name
        assert any("default" in name for name in experiment.ours), experiment.name


def test_cheap_methods_have_more_runs_and_the_command_decides_in_the_end():
    def runs(dataset, method, seeds=None):
        named = {"tables": [2], "datasets": [dataset], "methods": [method], "seeds": seeds}
        return len(declared.selected(KNOWN.values(), **named))

    assert runs("segment", "dgt-default") == 10  # declared for the data set
    assert runs("mnist", "dgt-default") == runs("segment", "tao") == 3
    assert runs("segment", "dgt-default", seeds=4) == runs("segment", "tao", seeds=4) == 4


def test_absent_data_sets_have_a_reason():
    absent = {name for name, data_set in CATALOG.items() if data_set.why_absent}
    assert set(CATALOG) - absent == {
        *("connect4", "mnist", "letter", "pendigits", "satimage", "segment", "covtype"),
        *("bace", "hiv", "ailerons", "abalone", "compactiv"),
    }


def test_selecting_by_table_brings_the_cells_that_it_reuses():
    cells = declared.selected(KNOWN.values(), tables=[3], datasets=["letter"], seeds=2)
    assert {(c.experiment, c.method) for c in cells} == {
        *(("soft", "tel-1"), ("soft", "tel-01"), ("classification", "tel")),
        *(("classification", "dgt-default"), ("classification", "dgt-paper")),
    }
    assert {c.seed for c in cells} == {0, 1}
    by_height = declared.selected(KNOWN.values(), figures=[4], methods=["cart"], seeds=1)
    assert {c.height for c in by_height} == {2, 4, 6, 8, 10}


def test_a_changed_declaration_is_another_run_and_a_changed_estimate_is_not(tmp_path):
    (cell,) = smoke_cells("regression", "ridge")
    work.write(work.run(cell, tmp_path), tmp_path / cell.path)
    assert replace(cell, seconds=99.0).record(tmp_path)
    assert replace(cell, height=5).record(tmp_path) is None
    assert replace(cell, grid=cell.grid[:1]).record(tmp_path) is None


def test_a_changed_default_recipe_is_another_run_for_who_shows_it(monkeypatch):
    cells = smoke_cells("regression", "dgt-default") + smoke_cells("regression", "dgt-paper")
    before = [cell.declared for cell in cells]
    recipe = replace(declared.RECIPES["default"]["regression"], learning_rate=1.0)
    changed = declared.RECIPES["default"] | {"regression": recipe}
    monkeypatch.setitem(declared.RECIPES, "default", changed)
    assert [cell.declared == known for cell, known in zip(cells, before, strict=True)] == [
        False,
        True,
    ]


# Cells


@pytest.mark.parametrize("name", [name for name in KNOWN if smoke_cells(name)])
def test_every_method_of_every_experiment_runs(name, tmp_path):
    for cell in smoke_cells(name):
        record = work.run(cell, tmp_path)
        work.write(record, tmp_path / cell.path)
        assert cell.record(tmp_path) == json.loads(json.dumps(record))
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

    split = splits.parts("diabetes", 0)
    other = replace(split, y_test=split.y_test[::-1].copy(), X_test=split.X_test + 1.0)
    monkeypatch.setattr(work, "parts", lambda name, seed: other)
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


def test_fewer_rows_are_training_rows():
    split = splits.parts("digits", 0)
    small = supervised.other_rows(split, 30)
    assert small.rows == (30, *split.rows[1:])
    assert {row.tobytes() for row in small.X_train} <= {row.tobytes() for row in split.X_train}


def test_all_rows_leave_none_to_validate_with(tmp_path):
    (cell,) = smoke_cells("classification", "dgt-all")
    made = work.run(cell, tmp_path)
    assert made["scores"]["val"] is None and made["scores"]["test"] is not None
    split = splits.parts(cell.dataset, 0)
    everything = supervised.other_rows(split, "all")
    assert everything.rows == (split.rows[0] + split.rows[1], 0, split.rows[2])


def test_five_shuffles_serve_ten_seeds():
    assert splits.facts("abalone").shuffles == 5
    assert splits.facts("hiv").height == 6


def test_huber_is_squared_near_and_linear_far():
    near, far = streams.huber(0.55, 0.5), streams.huber(1.5, 0.5)
    assert near == pytest.approx(0.5 * 0.05**2)
    assert far == pytest.approx(0.1 * (1.0 - 0.05))


# Statistics


def test_t_test_is_scipys():
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b = rng.normal(1.0, 0.1, 10), rng.normal(1.1, 0.2, 7)
        expected = stats.ttest_ind(a, b).pvalue
        found = statistics.p_value(statistics.summary(a), statistics.summary(b))
        assert found == pytest.approx(expected, rel=1e-9)


def test_verdicts():
    low, high = statistics.summary([1.0, 1.1, 0.9]), statistics.summary([2.0, 2.1, 1.9])
    assert statistics.verdict(low, high, "rmse") == "better"
    assert statistics.verdict(low, high, "accuracy") == "worse"
    assert statistics.verdict(low, low, "rmse") == "level"
    assert statistics.verdict(low, statistics.summary([5.0]), "rmse") is None
    same = statistics.summary([1.0, 1.0])
    assert statistics.p_value(same, same) == 1.0
    assert statistics.p_value(same, statistics.summary([2.0, 2.0])) == 0.0
    assert statistics.best({"a": low, "b": high, "c": low}, "rmse") == {"a", "c"}
    assert statistics.best({"a": low, "b": high}, "auc") == {"b"}
    assert statistics.best({"a": low}, "auc") == set()  # the best of what?


@pytest.mark.parametrize("module", [statistics, bars])
def test_examples_in_docstrings(module):
    assert doctest.testmod(module) == (0, 1)


def test_intervals_are_those_of_the_t_distribution():
    values = np.random.default_rng(0).normal(size=(6, 1))
    low, high = stats.t.interval(0.95, 5, values.mean(), stats.sem(values[:, 0]))
    assert statistics.half_interval(values)[0] == pytest.approx((high - low) / 2)


# Runs


RUN = """
import sys
from dataclasses import replace
from pathlib import Path
from dgtrees.paper import experiment as declared, runner, work
known = declared.smoke(declared.experiments()["regression"], work.QUICK)
cells = [c for c in declared.cells(known, 20) if c.method in ("cart", "ridge")]
if __name__ == "__main__":
    outcome = runner.run(cells, Path(sys.argv[1]), jobs=2)
    print(len(outcome.done), len(outcome.before), len(outcome.failed), len(outcome.left))
"""


def start(folder):
    script = folder / "run.py"
    script.write_text(RUN)
    paths = [str(ROOT / "src")]
    return subprocess.Popen(
        [sys.executable, str(script), str(folder / "results")],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        stdout=subprocess.PIPE,
        text=True,
    )


def made_records(folder):
    return {p: p.read_bytes() for p in (folder / "results").glob("*/*.json")}


def test_a_killed_run_loses_at_most_the_cells_under_way(tmp_path):
    cells, moments = 40, random.Random()
    first = start(tmp_path)
    while len(made_records(tmp_path)) < moments.randint(2, 15):
        assert first.poll() is None, "the run ended before it could be killed"
        time.sleep(0.01)
    time.sleep(0.1 * moments.random())
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    first.stdout.close()
    time.sleep(1.0)  # its processes end with it
    before = made_records(tmp_path)
    time.sleep(0.5)
    assert made_records(tmp_path) == before
    for content in before.values():
        json.loads(content)

    second = start(tmp_path)
    output, _ = second.communicate()
    done, there, failed, left = map(int, output.split())
    after = made_records(tmp_path)
    assert (done, there, failed, left) == (cells - len(before), len(before), 0, 0)
    assert len(after) == cells
    assert {path: after[path] for path in before} == before


def test_a_failed_cell_stops_nothing_else_and_a_budget_starts_nothing(tmp_path, capfd):
    good, bad = smoke_cells("regression", "ridge", "cart")
    bad = replace(bad, grid=({"min_samples_leaf": -1},))
    waits = replace(good, method="waits", seed=1, chooser=0)
    cells, seen = [bad, good, waits], []
    outcome = runner.run(cells, tmp_path, jobs=1, budget=0.0)
    assert (len(outcome.left), outcome.done) == (3, [])
    watch = lambda cell, record, _: seen.append((cell.method, record is not None))  # noqa: E731
    outcome = runner.run(cells, tmp_path, jobs=1, watch=watch)
    assert dict(seen) == {bad.method: False, good.method: True}
    assert [c.method for c in outcome.failed] == [bad.method]
    assert [c.method for c in outcome.left] == ["waits"]  # for a choice that nobody makes
    assert "min_samples_leaf" in capfd.readouterr().err
    again = runner.run([good], tmp_path, jobs=1)
    assert (len(again.before), again.done) == (1, [])


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


# The report


def record(cell, score, folder, **details):
    made = {
        **{"experiment": cell.experiment, "dataset": cell.dataset, "method": cell.method},
        **{"seed": cell.seed, "metric": splits.facts(cell.dataset).metric, "settings": cell.fixed},
        **{"scores": {"test": score}, "details": details, "choice": {"settings": {}}},
        **{"declared": cell.declared, "versions": {"dgtrees": "0"}},
        "cost": {"seconds": 2.0, "fit_seconds": 1.0, "memory_added_mb": 3.0},
    }
    work.write(made, folder / cell.path)


@pytest.fixture
def recorded(tmp_path):
    folder = tmp_path / "results"
    size = {"flops": 100.0, "leaves_reached": 1.0, "nodes": 63, "nodes_reached": 47}
    score = {"dgt-default": 1.70, "dgt-paper": 1.71, "tao": 1.90, "tel": 2.0, "ridge": None}
    for cell in declared.cells(KNOWN["regression"], 3):
        if cell.dataset == "ailerons" and cell.method in score:
            value = score[cell.method]
            record(cell, value and value + 0.01 * cell.seed, folder, **size)
    for cell in declared.cells(KNOWN["soft"], 2):
        if cell.dataset == "ailerons":
            record(cell, 1.65, folder, flops=900.0, leaves_reached=8.0)
    for cell in declared.cells(KNOWN["heights-regression"], 2):
        if cell.dataset == "ailerons" and cell.method.startswith("cart"):
            record(cell, 2.0 + 0.1 * cell.seed, folder, leaves=4)
    for cell in declared.cells(KNOWN["bandit-classification"], 2):
        if cell.dataset == "covtype":
            curve = {"queries": [500, 10000], "held_out": [50.0, 60.0 + cell.seed]}
            record(cell, 60.0, folder, curve=curve)
    return folder


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


# The command


def test_commands(recorded, tmp_path, capsys):
    assert dgt(["paper", "list", "--results", str(recorded)]) == 0
    listed = capsys.readouterr().out
    assert "two-point" in listed and "runs done; see dgt paper report" in listed
    assert dgt(["paper", "report", "--results", str(recorded), "-o", str(tmp_path / "d")]) == 0
    assert "paper.md" in capsys.readouterr().out
    options = ["--table", "1", "--method", "ridge", "--dataset", "yahoo", "--json"]
    assert dgt(["paper", "run", "--results", str(tmp_path / "e"), *options, "--budget", "0"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["done"] == 0 and found["absent"] == 3


@pytest.mark.data
def test_the_list_says_what_comes_next(recorded, capsys):
    there = [name for name in CATALOG if splits.present(name)]
    assert dgt(["paper", "list", "--results", str(recorded)]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    then = "dgt paper run goes on with the cheapest" if there else "see dgt paper report"
    assert last.endswith(f"runs done; {then}")


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--jobs", "0"], "jobs"),
        (["--dataset", "nothing"], "no run"),
        (["--table", "99"], "no run"),
    ],
)
def test_bad_options_are_one_line(options, what, capsys):
    assert dgt(["paper", "run", *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert what in line


def test_outside_of_a_checkout_folders_have_to_be_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(dgtrees, "__file__", str(tmp_path / "site" / "lib" / "dgtrees" / "x.py"))
    monkeypatch.chdir(tmp_path)
    assert dgt(["paper", "list"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "got no --results: name one" in line
    assert dgt(["paper", "list", "--results", "mine"]) == 0
    assert "Table 1" in capsys.readouterr().out


def test_fingerprints_are_kept_until_their_source_changes(tmp_path, monkeypatch):
    source = tmp_path / "source" / "molecules.csv"
    source.parent.mkdir()
    source.write_text("C")
    made = []

    def load(name, shuffle, folder):
        X = np.random.default_rng(len(made)).integers(0, 2, (6, 4)).astype(np.float32)
        made.append(splits.Split(name, X, np.arange(6), X[:2], np.arange(2), X[:1], np.arange(1)))
        return made[-1]

    monkeypatch.setattr(splits, "load", load)
    monkeypatch.setattr(splits, "status", lambda *_: SimpleNamespace(folder=source.parent))
    monkeypatch.setattr(splits.tempfile, "gettempdir", lambda: str(tmp_path))
    for _ in range(2):
        split = splits.parts("hiv", 0)
        assert len(made) == 1 and split.X_train.dtype == np.float32
        assert np.array_equal(split.X_train, made[0].X_train)
        assert np.array_equal(split.y_test, made[0].y_test)
    source.write_text("CC")
    assert np.array_equal(splits.parts("hiv", 0).X_train, made[1].X_train)
