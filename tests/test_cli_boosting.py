"""`dgt fit --boost` and `--forest`."""

import json

import pytest
from sklearn.datasets import load_diabetes, load_iris
from typer.testing import CliRunner

from dgtrees import load
from dgtrees.cli.app import app, run


def fit(*arguments):
    return CliRunner().invoke(app, ["fit", *map(str, arguments)])


@pytest.mark.parametrize(("data", "score"), [(load_iris, "log_loss"), (load_diabetes, "r2")])
def test_a_table_becomes_a_boosted_model(data, score, tmp_path):
    table, model = tmp_path / "rows.csv", tmp_path / "model.dgt"
    frame = data(as_frame=True).frame
    frame.to_csv(table, index=False)
    done = fit(table, "--target", "target", "--boost", "-o", model, "--json")
    assert done.exit_code == 0, done.output
    said, loaded = json.loads(done.stdout), load(model)
    assert said["trees"] == len(loaded.forest_) and said["rounds"] == loaded.n_iter_
    assert f"held_out_{score}" in said
    assert len(loaded.predict(frame.drop(columns="target"))) == len(frame)


@pytest.mark.parametrize(
    ("given", "trees"),
    [
        (("--forest",), 100),
        (("--forest", "--trees", 7, "--max-leaves", 4), 7),
        (("--forest", "--max-depth", 2, "--max-epochs", 2), 30),
    ],
)
def test_a_forest_has_a_hundred_trees_or_as_many_as_it_is_told(given, trees, tmp_path):
    table, model = tmp_path / "rows.csv", tmp_path / "model.dgt"
    load_iris(as_frame=True).frame[::3].to_csv(table, index=False)
    done = fit(table, "--target", "target", *given, "-o", model)
    assert done.exit_code == 0, done.output
    assert len(load(model).forest_) == trees
    assert ("chosen on out-of-bag rows: the best of" in done.stdout) == (trees != 30)
    assert max(tree.n_leaves for tree in load(model).forest_.trees) <= (4 if trees < 100 else 100)


def test_a_forest_needs_all_rows(tmp_path, capsys):
    table = tmp_path / "rows.csv"
    load_iris(as_frame=True).frame.to_csv(table, index=False)
    for given in (["--forest"], ["--trees", "3"]):
        assert run(["fit", str(table), "--target", "target", "--stream", *given]) != 0
        assert f"{given[0]} needs all rows in memory" in capsys.readouterr().err


def test_options_of_other_models_are_refused(tmp_path, capsys):
    table = tmp_path / "rows.csv"
    load_iris(as_frame=True).frame.to_csv(table, index=False)
    given = ["--target", "target", "--boost", "--trees", "3", "--max-depth", "3"]
    assert run(["fit", str(table), *given]) != 0
    said = capsys.readouterr().err
    assert "--boost is no forest" in said and "--max-depth is for trees" in said


def test_tuning_is_passed_on_to_boosting_and_refused_elsewhere(tmp_path, monkeypatch, capsys):
    table, told = tmp_path / "rows.csv", []
    load_iris(as_frame=True).frame.to_csv(table, index=False)
    monkeypatch.setattr(
        "dgtrees.cli.fit.fit_whole", lambda job: told.append(job.parameters) or 1 / 0
    )
    for given in (["--tune"], ["--no-tune"], []):
        fit(table, "--target", "target", "--boost", *given)
    assert [parameters["tune"] for parameters in told] == [True, False, "auto"]
    assert run(["fit", str(table), "--target", "target", "--no-tune"]) != 0
    assert "--tune and --no-tune are for --boost" in capsys.readouterr().err
