"""The `dgt` command: what users type, what they get, and what happens when it goes wrong."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.main import get_command

import dgtrees
from dgtrees import (
    DGTClassifier,
    DGTForestClassifier,
    DGTRegressor,
    export_c,
    export_dot,
    export_onnx,
)
from dgtrees.cli.app import app, run
from dgtrees.paper.catalog import CATALOG, data_folder, status
from dgtrees.tables.table import read_table

ROOT = Path(__file__).parents[1]
QUICK = ["--max-depth", "3", "--max-epochs", "4"]


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A raw CSV with strings and missing values, and new rows of the same kind."""
    rng = np.random.default_rng(3)
    folder = tmp_path_factory.mktemp("shop")
    for name, rows in (("train", 300), ("new", 80)):
        age = rng.integers(18, 80, rows)
        income = rng.lognormal(10, 0.6, rows).round(2)
        city = rng.choice(["Oslo", "Rome", "New York"], rows)
        buys = age / 30 + (city == "Rome") + rng.normal(0, 0.3, rows) > 1.8
        spent = (income / 100 + 5 * age).round(1)
        with open(folder / f"{name}.csv", "w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow(["age", "income", "city", "buys", "spent"])
            for i in range(rows):
                writer.writerow(
                    [
                        age[i] if rng.random() > 0.1 else "",
                        income[i] if rng.random() > 0.1 else "NA",
                        city[i] if rng.random() > 0.1 else "",
                        "yes" if buys[i] else "no",
                        spent[i],
                    ]
                )
    return folder


@pytest.fixture(scope="module")
def model(shop):
    path = shop / "shared.dgt"
    arguments = [shop / "train.csv", "-t", "buys", "--drop", "spent", "-o", path, "-q"]
    assert dgt("fit", *arguments, *QUICK) == 0
    return path


def dgt(*arguments) -> int:
    return run([str(argument) for argument in arguments])


def failure(capsys, *arguments) -> str:
    assert dgt(*arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("dgt: ") and captured.err.count("\n") == 1
    return captured.err


def column(path, name="prediction"):
    with open(path, encoding="utf-8", newline="") as stream:
        return [row[name] for row in csv.DictReader(stream)]


def test_from_raw_csv_to_predictions_in_two_commands(shop, tmp_path, capsys):
    saved, out = tmp_path / "model.dgt", tmp_path / "out.csv"
    train, new = shop / "train.csv", shop / "new.csv"
    assert dgt("fit", train, "--target", "buys", "--drop", "spent", "-o", saved, *QUICK) == 0
    assert dgt("predict", saved, new, "-o", out, "--proba", "--leaves", "-t", "buys") == 0
    said = capsys.readouterr().out
    assert "300 rows" in said and "2 classes" in said and "accuracy" in said
    # The Python API on the same file, and on pandas' own reading of it: the same bits.
    for frame in (
        read_table(train, "buys", drop=["spent"]).X,
        pd.read_csv(train).drop(columns=["buys", "spent"]),
    ):
        later = read_table(new, features=["age", "income", "city"]).X
        if isinstance(frame, pd.DataFrame):
            later = pd.read_csv(new)[["age", "income", "city"]]
        fitted = DGTClassifier(max_depth=3, max_epochs=4, random_state=0)
        fitted.fit(frame, read_table(train, "buys").y)
        assert fitted.predict(later).tolist() == column(out)
        assert fitted.predict_proba(later)[:, 1].tolist() == [
            float(v) for v in column(out, "p_yes")
        ]
        assert fitted.apply(later).tolist() == [int(v) for v in column(out, "leaf")]


def test_regression_is_found_out_and_equals_the_api(shop, tmp_path, capsys):
    saved, out = tmp_path / "r.dgt", tmp_path / "r.csv"
    train, new = shop / "train.csv", shop / "new.csv"
    options = ["-t", "spent", "-o", saved, "--json", "--val", new, "--loss", "huber"]
    assert dgt("fit", train, *options, *QUICK) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["task"] == "regression" and result["classes"] is None
    assert dgt("predict", saved, new, "-o", out, "-t", "spent", "--json") == 0
    score = json.loads(capsys.readouterr().out)
    assert score["rmse"] == pytest.approx(result["validation_rmse"])
    table, later = read_table(train, "spent"), read_table(new, "spent")
    fitted = DGTRegressor(max_depth=3, max_epochs=4, loss="huber", random_state=0)
    fitted.fit(table.X, table.y, X_val=later.X, y_val=later.y)
    assert fitted.predict(later.X).tolist() == [float(v) for v in column(out)]


def test_pipes(shop, model, tmp_path):
    def piped(arguments, data):
        command = [sys.executable, "-m", "dgtrees.cli", *map(str, arguments)]
        return subprocess.run(command, input=data, capture_output=True, check=True)

    train, new = (shop / "train.csv").read_bytes(), (shop / "new.csv").read_bytes()
    done = piped(["fit", "-", "-t", "buys", "--drop", "spent", "-o", "-", *QUICK], train)
    assert done.stdout == model.read_bytes()
    assert b"300 rows" in done.stderr  # standard output holds the model
    out = tmp_path / "out.csv"
    assert dgt("predict", model, shop / "new.csv", "-o", out, "-q") == 0
    done = piped(["predict", model, "-"], new)
    assert done.stdout == out.read_bytes()


def test_predicting_never_loads_torch(model, shop):
    code = (
        "import sys; from dgtrees.cli.app import run; "
        f"run(['predict', {str(model)!r}, {str(shop / 'new.csv')!r}, '-q']); "
        "sys.exit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_columns_may_come_in_any_order_and_format(shop, model, tmp_path):
    frame = pd.read_csv(shop / "new.csv")
    shuffled = frame[["spent", "city", "income", "buys", "age"]]
    parquet.write_table(pa.Table.from_pandas(shuffled), tmp_path / "new.parquet")
    outs = []
    for source in (shop / "new.csv", tmp_path / "new.parquet"):
        outs.append(tmp_path / f"{source.suffix}.out")
        assert dgt("predict", model, source, "-o", outs[-1], "-q") == 0
    assert outs[0].read_text() == outs[1].read_text()


def test_truth_values_survive_fit_validation_stream_and_prediction(tmp_path, capsys):
    path = tmp_path / "flags.csv"
    path.write_text("a,b,y\n" + "1,true,p\n2,false,q\n" * 40)
    for more in (["--val", path], ["--stream"]):
        quick = [] if more == ["--stream"] else ["--max-epochs", "2"]
        saved = tmp_path / "m.dgt"
        assert dgt("fit", path, "-t", "y", "-o", saved, "-d", "2", "-q", *more, *quick) == 0
        assert dgt("predict", saved, path, "-o", tmp_path / "out.csv", "-q") == 0


def test_links_pipes_and_folders_as_output(model, shop, tmp_path, capsys):
    link, real = tmp_path / "link.csv", tmp_path / "real.csv"
    link.symlink_to(real)
    assert dgt("predict", model, shop / "new.csv", "-o", link, "-q") == 0
    assert link.is_symlink() and real.read_text().startswith("prediction\n")
    assert dgt("predict", model, shop / "new.csv", "-o", os.devnull, "-q") == 0
    assert not Path(os.devnull).is_file()
    assert "is a folder" in failure(capsys, "predict", model, shop / "new.csv", "-o", tmp_path)


def test_outputs_that_cannot_be_written_are_one_line(model, shop, tmp_path, capsys):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "loop.png").symlink_to("loop.png")
    (tmp_path / "folder.png").mkdir()
    predict = ["predict", model, shop / "new.csv", "-o"]
    assert "leads back to itself: remove it" in failure(capsys, *predict, tmp_path / "loop")
    assert "make room, or choose another folder" in failure(capsys, *predict, "/dev/full")
    for output in ("loop.png", "folder.png"):
        said = failure(capsys, "show", model, "-q", "--png", tmp_path / output)
        assert f"{output}: must be a file" in said
    export = ["export", model, "--to", "dot", "-o"]
    assert "make room, or choose another folder" in failure(capsys, *export, "/dev/full")
    assert "--png must end with .png, .svg or .pdf" in failure(capsys, "show", model, "--png", "-")


def test_outputs_keep_the_mode_of_the_file_they_replace(model, shop, tmp_path):
    for name, command in {
        "out.csv": ("predict", model, shop / "new.csv", "-q", "-o"),
        "tree.png": ("show", model, "-q", "--png"),
        "rules.txt": ("export", model, "-q", "-o"),
    }.items():
        path = tmp_path / name
        path.write_text("")
        path.chmod(0o600)
        assert dgt(*command, path) == 0
        assert path.stat().st_size and path.stat().st_mode & 0o777 == 0o600
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.csv", "rules.txt", "tree.png"]


def test_a_picture_without_matplotlib_names_the_remedy(model, shop, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # as where it is not installed
    picture = ["--png", tmp_path / "tree.png"]
    for command in (["show", model], ["simulate", shop / "train.csv", "-t", "buys"]):
        said = failure(capsys, *command, *picture)
        assert 'needs matplotlib, which is not installed: pip install "dgtrees[plot]"' in said
    assert not (tmp_path / "tree.png").exists()


def test_a_closed_pipe_is_no_failure(model, shop):
    command = f"{sys.executable} -m dgtrees.cli show {model} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""


def test_a_model_may_come_through_a_pipe(model):
    command = [sys.executable, "-m", "dgtrees.cli", "show", "-", "--depth", "1"]
    done = subprocess.run(command, input=model.read_bytes(), capture_output=True, check=True)
    assert b"leaves below" in done.stdout


def test_show(model, tmp_path, capsys):
    assert dgt("show", model, "--png", tmp_path / "tree.png") == 0
    text = capsys.readouterr().out
    assert "classification: no, yes" in text and "most important" in text
    rows = [int(n.replace(",", "")) for n in re.findall(r"\(([\d,]+) rows?\)", text)]
    assert sum(rows) == 300
    assert "city=Rome" in text and ">= 0?" in text
    assert (tmp_path / "tree.png").read_bytes().startswith(b"\x89PNG")
    assert dgt("show", model, "--depth", "1") == 0
    assert "leaves below" in capsys.readouterr().out
    assert dgt("show", model, "--json") == 0
    inside = json.loads(capsys.readouterr().out)
    tree = dgtrees.load(model).tree_
    assert [node["bias"] for node in inside["nodes"]] == tree.bias.tolist()
    assert len(inside["leaves"]) == tree.n_leaves
    assert dgt("show", model, "-q") == 0 and capsys.readouterr().out == ""


def test_explain(model, shop, tmp_path, capsys):
    new, train = shop / "new.csv", shop / "train.csv"
    assert dgt("explain", model, new, "--row", "7", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert dgt("predict", model, new, "--leaves", "--proba", "-o", tmp_path / "out.csv", "-q") == 0
    answer = column(tmp_path / "out.csv")[7]
    assert found["prediction"] == answer
    assert found["leaf"] == int(column(tmp_path / "out.csv", "leaf")[7])
    shares = found["contributions"]
    assert shares["of"] == f"probability of {answer}"
    assert shares["base"] + sum(shares["columns"].values()) == pytest.approx(shares["sum"])
    probability = float(column(tmp_path / "out.csv", f"p_{answer}")[7])
    assert shares["sum"] == pytest.approx(probability)
    assert dgt("explain", model, new, "--row", "7", "--features", "1") == 0
    text = capsys.readouterr().out
    assert text.startswith(f"prediction: {answer}") and "(2 more)" in text
    assert f"probability of {answer}: " in text
    assert dgt("explain", model, new, "--background", train) == 0
    assert "node 0: " in capsys.readouterr().out
    assert dgt("explain", model, new, "-q") == 0 and capsys.readouterr().out == ""


def test_explain_values_and_what_it_refuses(model, shop, tmp_path, capsys):
    new, train = shop / "new.csv", shop / "train.csv"
    reg = DGTRegressor(2, max_epochs=2, random_state=0)
    table = read_table(train, target="spent", drop=("buys",))
    saved = tmp_path / "values.dgt"
    reg.partial_fit(table.X, table.y).save(saved)
    assert dgt("explain", saved, new) == 0
    assert "on average" not in capsys.readouterr().out  # partial_fit counted no rows
    assert dgt("explain", saved, new, "--background", train) == 0
    assert "value: " in capsys.readouterr().out
    assert "below the 80 rows of" in failure(capsys, "explain", model, new, "--row", "80")
    assert "--row must be at least 0" in failure(capsys, "explain", model, new, "--row", "-1")
    assert "--features must be" in failure(capsys, "explain", model, new, "--features", "0")
    assert "both come from standard" in failure(capsys, "explain", "-", "-")
    policy = dgtrees.DGTBandit(2, 1, "constant", random_state=0)
    policy.learn([1.0, 2.0], policy.decide([1.0, 2.0]), 0.5)
    policy.save(tmp_path / "policy.dgt")
    assert "got a DGTBandit" in failure(capsys, "explain", tmp_path / "policy.dgt", new)
    assert "got a DGTBandit" in failure(capsys, "show", tmp_path / "policy.dgt")


def test_explain_a_forest_by_what_columns_added(shop, tmp_path, capsys):
    table = read_table(shop / "train.csv", target="buys", drop=("spent",))
    saved, new = tmp_path / "forest.dgt", shop / "new.csv"
    DGTForestClassifier(2, 2, max_epochs=1, random_state=0).fit(table.X, table.y).save(saved)
    assert dgt("explain", saved, new) == 0
    text = capsys.readouterr().out
    assert text.startswith("prediction: ") and "mean of 2 trees" in text and "on average" in text
    assert dgt("explain", saved, new, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["n_trees"] == 2 and found["contributions"]["of"].endswith(found["prediction"])


def test_models_of_unnamed_columns_take_tables_without_a_warning(tmp_path, capsys):
    X = np.random.default_rng(0).normal(size=(60, 2)).round(3)
    model = DGTRegressor(1, max_epochs=1, random_state=0).fit(X, X[:, 0])
    model.save(tmp_path / "unnamed.dgt")
    pd.DataFrame(X, columns=["x0", "x1"]).to_csv(tmp_path / "rows.csv", index=False)
    assert dgt("predict", tmp_path / "unnamed.dgt", tmp_path / "rows.csv") == 0
    out = capsys.readouterr()
    assert [float(v) for v in out.out.split()[1:]] == model.predict(X).tolist()
    assert "Warning" not in out.err
    assert dgt("explain", tmp_path / "unnamed.dgt", tmp_path / "rows.csv", "--row", "3") == 0
    assert "Warning" not in capsys.readouterr().err


def test_export_to_every_format(model, shop, tmp_path, capsys):
    saved = dgtrees.load(model)
    for name in ("tree.onnx", "tree.c", "tree.txt", "tree.dot"):
        assert dgt("export", model, "-o", tmp_path / name) == 0
    said = capsys.readouterr().out
    assert f"as c: {tmp_path / 'tree.c'}, {tmp_path / 'tree.h'}" in said
    assert (tmp_path / "tree.txt").read_text().count("class: ") == saved.get_n_leaves()
    assert (tmp_path / "tree.dot").read_text() == export_dot(saved)
    assert (tmp_path / "tree.onnx").read_bytes() == export_onnx(saved).SerializeToString()
    source, header = export_c(saved, tmp_path / "tree.c", name="tree")
    assert (tmp_path / "tree.c").read_text() == source
    assert (tmp_path / "tree.h").read_text() == header
    assert dgt("export", model, "--to", "text", "--depth", 1, "--weights", 1) == 0
    assert "truncated branch" in capsys.readouterr().out
    assert dgt("export", model, "-o", tmp_path / "x.c", "--name", "shop", "--json") == 0
    assert json.loads(capsys.readouterr().out)["files"] == [
        str(tmp_path / "x.c"),
        str(tmp_path / "x.h"),
    ]
    assert '#include "x.h"' in (tmp_path / "x.c").read_text()
    assert "int shop_apply(const double *x);" in (tmp_path / "x.h").read_text()


def test_export_refuses_in_one_line(model, tmp_path, capsys):
    assert "one of onnx, c, text, dot, got ''" in failure(capsys, "export", model)
    assert "got 'pmml'" in failure(capsys, "export", model, "--to", "pmml")
    assert "must end in .c, got '-'" in failure(capsys, "export", model, "--to", "c")
    named = ("--to", "c", "-o", tmp_path / "t.c", "--name", "1st")
    assert "try 'model_1st'" in failure(capsys, "export", model, *named)
    assert not list(tmp_path.iterdir())
    assert "--depth must be" in failure(capsys, "export", model, "--to", "dot", "--depth", -1)
    assert "--weights must be" in failure(capsys, "export", model, "--to", "dot", "--weights", 0)


def test_a_forest_from_the_command(model, shop, tmp_path, capsys):
    train, saved = shop / "train.csv", tmp_path / "forest.dgt"
    options = ["--drop", "spent", "-t", "buys", "-o", saved, "--trees", "3", *QUICK]
    assert dgt("fit", train, *options) == 0
    text = capsys.readouterr().out
    assert "a forest of 3 trees of depth" in text and "out of bag accuracy: 0." in text
    forest = dgtrees.load(saved)
    assert dgt("predict", saved, shop / "new.csv", "-o", tmp_path / "out.csv", "-q") == 0
    new = read_table(shop / "new.csv", drop=["spent", "buys"])
    assert column(tmp_path / "out.csv") == forest.predict(new.X).tolist()
    arguments = [saved, shop / "new.csv", "--leaves", "-o", tmp_path / "out.csv", "-q"]
    assert dgt("predict", *arguments) == 0
    leaves = [list(map(int, column(tmp_path / "out.csv", f"leaf_{tree}"))) for tree in range(3)]
    assert np.array_equal(np.transpose(leaves), forest.apply(new.X))
    assert dgt("show", saved, "--tree", "2", "--png", tmp_path / "two.png") == 0
    text = capsys.readouterr().out
    assert "tree 2 of 3:" in text and "city=Rome" in text
    assert "from 0 to 2, got 3" in failure(capsys, "show", saved, "--tree", "3")

    options = ["-t", "spent", "-o", saved, "--trees", "3", *QUICK, "--json"]
    assert dgt("fit", train, *options, "--jobs", "2") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["trees"] == 3 and 0 < result["out_of_bag_rmse"] < 1000
    one = dgtrees.load(saved)
    assert dgt("fit", train, *options) == 0
    capsys.readouterr()
    table = read_table(train, "spent")
    assert np.array_equal(dgtrees.load(saved).predict(table.X), one.predict(table.X))

    for wrong, message in (
        (["--validation-fraction", "0.2"], "judged by the rows its trees have not drawn"),
        (["--stream"], "--trees needs all rows in memory"),
        (["--backend", "spark"], "--backend must be one of loky, ray, dask, got 'spark'"),
    ):
        assert message in failure(capsys, "fit", train, *options, *wrong)
    assert "--tree is for forests" in failure(capsys, "show", model, "--tree", "0")
    arguments = ["fit", train, "-t", "spent", "-o", saved, "--backend", "dask"]
    assert "--backend is for forests" in failure(capsys, *arguments)


def test_a_command_that_used_processes_ends(shop, tmp_path):
    arguments = ["fit", shop / "train.csv", "-t", "spent", "-o", tmp_path / "f.dgt"]
    command = [sys.executable, "-m", "dgtrees.cli", *arguments, "--trees", "2", "--jobs", "2"]
    done = subprocess.run([*map(str, command), *QUICK], capture_output=True, text=True, timeout=250)
    assert done.returncode == 0 and "a forest of 2 trees" in done.stdout


def test_tune_tries_settings_side_by_side(shop, tmp_path, capsys):
    options = ["-t", "buys", "--drop", "spent", "--max-epochs", "2", "-d", "2", "--json"]
    arguments = [shop / "train.csv", *options, "-o", tmp_path / "best.dgt", "--trials", "3"]
    assert dgt("tune", *arguments, "--jobs", "2") == 0
    assert json.loads(capsys.readouterr().out)["trials"] == 3


def test_tune_refuses_before_there_is_a_study(shop, tmp_path, capsys):
    arguments = ["tune", shop / "train.csv", "-t", "buys", "-o", tmp_path / "best.dgt"]
    assert "--jobs must not be 0" in failure(capsys, *arguments, "--jobs", "0")
    assert "--trials must be at least 1" in failure(capsys, *arguments, "--trials", "0")
    assert "--backend must be one of" in failure(capsys, *arguments, "--backend", "spark")
    assert not list(tmp_path.iterdir())


def test_tune_goes_on_where_it_stopped(shop, tmp_path, capsys):
    saved = tmp_path / "best.dgt"
    train = shop / "train.csv"
    options = ["-t", "buys", "--drop", "spent", "-o", saved, "--max-epochs", "2", "--json"]
    assert dgt("tune", train, *options, "--trials", "3") == 0
    first = json.loads(capsys.readouterr().out)
    assert first["trials"] == 3 and Path(first["study"]).exists()
    saved.unlink()
    assert dgt("tune", train, *options, "--trials", "2") == 0
    second = json.loads(capsys.readouterr().out)
    assert second["trials"] == 5
    assert second["validation_accuracy"] >= first["validation_accuracy"]
    assert dgtrees.load(saved).get_n_leaves() >= 1
    assert "other settings" in failure(capsys, "tune", train, *options, "--max-depth", "4")
    other = tmp_path / "other.csv"
    other.write_text(train.read_text().replace("age,", "years,"))
    assert "other rows or columns" in failure(capsys, "tune", other, *options)
    # A file that something else has written over is no longer the best tree.
    saved.write_bytes(b"something else")
    assert dgt("tune", train, *options, "--trials", "1") == 0
    assert dgtrees.load(saved).get_n_leaves() >= 1
    Path(first["study"]).write_text('{"a": 1}')
    assert "not a readable study file" in failure(capsys, "tune", train, *options)


@pytest.mark.parametrize("space", ["default", "paper"])
def test_tune_spaces(shop, tmp_path, space, capsys):
    options = ["-t", "spent", "-o", tmp_path / "m.dgt", "--max-epochs", "2", "--space", space]
    arguments = [shop / "train.csv", *options, "--trials", "3", "-d", "2", "--json"]
    assert dgt("tune", *arguments, "--val", shop / "new.csv") == 0
    result = json.loads(capsys.readouterr().out)
    known = {"n_layers", "momentum", "penalty", "strength"}
    assert bool(known & set(result["parameters"])) == (space == "paper")


def test_stream_equals_partial_fit(shop, tmp_path):
    saved = tmp_path / "s.dgt"
    train = shop / "train.csv"
    options = ["-t", "buys", "--drop", "spent", "-o", saved, "--stream", "--passes", "2", "-q"]
    assert dgt("fit", train, *options, "--max-depth", "2") == 0
    table = read_table(train, "buys", drop=["spent"])
    fitted = DGTClassifier(max_depth=2, random_state=0)
    for _ in range(2):
        fitted.partial_fit(table.X, table.y, classes=["no", "yes"])
    assert np.array_equal(dgtrees.load(saved).predict(table.X), fitted.predict(table.X))


def test_simulate(shop, tmp_path, capsys):
    train, png, saved = shop / "train.csv", tmp_path / "curve.png", tmp_path / "policy.dgt"
    options = ["-t", "buys", "--drop", "spent", "--queries", "600", "-d", "3", "--json"]
    arguments = [train, *options, "--against", "linear", "--png", png, "-o", saved]
    assert dgt("simulate", *arguments) == 0
    result = json.loads(capsys.readouterr().out)
    assert set(result["curves"]) == {"dgt", "linear"} and result["queries"][-1] == 600
    for curve in result["curves"].values():
        assert len(curve["held_out"]) == 10 and curve["held_out"][-1] > 0.6
    assert png.read_bytes().startswith(b"\x89PNG")
    policy = dgtrees.load(saved)
    assert policy.n_answers == 600
    new = read_table(shop / "new.csv", features=["age", "income", "city"])
    assert set(policy.predict(new.X)) <= {0, 1}  # raw rows: it has its encoder with it
    assert result["actions"] == ["no", "yes"]
    arguments = [train, "-t", "spent", "--queries", "300", "-d", "2", "--test", shop / "new.csv"]
    assert dgt("simulate", *arguments, "--against", "linear") == 0
    assert "mean squared error" in capsys.readouterr().out
    assert "is for classes" in failure(capsys, "simulate", *arguments, "--against", "vw")
    assert "must name some of" in failure(capsys, "simulate", *arguments, "--against", "cart")
    assert "must end with" in failure(capsys, "simulate", *arguments, "--png", "x.foo")
    classes = [train, "-t", "buys", "--feedback", "one-point"]
    assert "is for values" in failure(capsys, "simulate", *classes)


STREAM_UNDER_LIMIT = """
import re, resource, sys
from dgtrees.cli.app import run

allowed, small, big, *options = sys.argv[1:]
# What a fit loads once (torch, compiled kernels, threads) is there before the limit is set.
assert run(["fit", small, *options]) == 0
data = int(re.search(r"VmData:\\s+(\\d+)", open("/proc/self/status").read())[1]) << 10
resource.setrlimit(resource.RLIMIT_DATA, (data + int(allowed),) * 2)
sys.exit(run(["fit", big, *options]))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory limits are Linux's")
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_several_times_larger_than_the_memory_allowed(tmp_path, kind):
    path, small, allowed = tmp_path / f"big.{kind}", tmp_path / f"small.{kind}", 96 << 20
    long = {word: " ".join([word] * 150) for word in ("alpha", "beta", "gamma")}
    rng = np.random.default_rng(0)
    rows = 10_000
    words, x = rng.choice(list(long), rows), rng.normal(size=rows).round(3)
    labels = np.where((words == "beta") ^ (x > 0), "a", "b")
    if kind == "csv":
        lines = [f"{x[i]},{long[words[i]]},{labels[i]}\n" for i in range(rows)]
        small.write_text("x,words,y\n" + "".join(lines[:200]))
        block = "".join(lines).encode()
        with open(path, "wb") as stream:
            stream.write(b"x,words,y\n")
            while stream.tell() < 4 * allowed:
                stream.write(block)
    else:
        part = pa.table({"x": x, "words": [long[w] for w in words], "y": labels})
        parquet.write_table(part[:200], small)
        with parquet.ParquetWriter(
            path, part.schema, compression="none", use_dictionary=False
        ) as writer:
            for _ in range(4 * allowed // part.nbytes + 1):
                writer.write_table(part)
    assert path.stat().st_size > 3.9 * allowed
    saved = tmp_path / "model.dgt"
    options = ["-t", "y", "-o", saved, "--stream", "-d", "3", "-q"]
    arguments = [str(argument) for argument in (allowed, small, path, *options)]
    command = [sys.executable, "-c", STREAM_UNDER_LIMIT, *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    frame = pd.DataFrame({"x": x, "words": [long[w] for w in words]})
    assert (dgtrees.load(saved).predict(frame) == labels).mean() > 0.9


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["fit", "nowhere.csv", "-t", "y"], "nowhere.csv: no such file"),
        (["fit", "{train}"], "--target"),
        (["fit", "{train}", "-t", "height"], "target must be one of its columns"),
        (["fit", "{train}", "-t", "buys", "-d", "-1"], "max_depth must be"),
        (["fit", "{train}", "-t", "buys", "--loss", "huber"], "--loss is for regression"),
        (["fit", "{train}", "-t", "spent", "--class-weight", "balanced"], "--class-weight is for"),
        (["fit", "{train}", "-t", "buys", "--task", "ranking"], "task must be"),
        (["fit", "{train}", "-t", "buys", "--passes", "2"], "--passes goes with --stream"),
        (["fit", "-", "-t", "buys", "--stream"], "more than once"),
        (["fit", "{train}", "-t", "buys", "--frobnicate"], "No such option"),
        (["fit", "{train}", "-t", "buys", "--stream", "--max-epochs", "2"], "use --passes"),
        (["fit", "{train}", "-t", "buys", "--category", "age", "--number", "age"], "got both"),
        (["fit", "{train}", "-t", "buys", "-o", "no/such/m.dgt"], "there is no folder"),
        (["fit", "{train}", "-t", "city", "--val", "{train}"], "missing value"),
        (["predict", "-", "-"], "cannot both"),
        (["predict", "{model}", "{train}", "-t", "spent"], "classes the model knows"),
        (["fit", "{train}", "-t", "buys", "-d", "x"], "valid int"),
        (["predict", "{train}", "{train}"], "a dgtrees model starts with"),
        (["predict", "{model}", "{train}", "-o", "no/such/folder.csv"], "there is no folder"),
        (["show", "{model}", "--weights", "0"], "--weights must be"),
        (["data", "fetch", "iris"], "iris"),
        (["frobnicate"], "No such command"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, what, shop, model, capsys):
    names = {"train": shop / "train.csv", "model": model}
    message = failure(capsys, *[a.format(**names) for a in arguments])
    assert what in message


def test_nothing_is_left_behind_when_predicting_fails(model, tmp_path, capsys):
    bad, out = tmp_path / "bad.csv", tmp_path / "out.csv"
    bad.write_text("age,income,city\n1,2,Oslo\nx,2,Rome\n")
    out.write_text("precious")
    assert "line 3, column 'age'" in failure(capsys, "predict", model, bad, "-o", out)
    assert out.read_text() == "precious"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.csv", "out.csv"]


def test_data_list(tmp_path, capsys):
    assert dgt("data", "list", "--folder", tmp_path) == 0
    text = capsys.readouterr().out
    assert "0 present, 22 absent" in text and "pendigits" in text
    assert dgt("data", "list", "--folder", tmp_path, "--json") == 0
    listed = json.loads(capsys.readouterr().out)
    sets = listed["data_sets"]
    assert len(sets) == 22 and not any(item["present"] for item in sets)


@pytest.mark.data
def test_data_list_shows_what_is_there(capsys):
    folder = data_folder()
    there = sum(status(name, folder).present for name in CATALOG)
    assert dgt("data", "list", "--folder", folder) == 0
    assert f"{there} present, {len(CATALOG) - there} absent" in capsys.readouterr().out
    if not status("pendigits", folder).present:
        pytest.skip(f"pendigits is not in {folder}: set DGTREES_DATA to a folder that has it")
    assert dgt("data", "fetch", "pendigits", "--folder", folder) == 0
    assert "pendigits" in capsys.readouterr().out


def test_version(capsys):
    assert dgt("--version") == 0
    assert capsys.readouterr().out == f"dgtrees {dgtrees.__version__}\n"


def commands(command=None, path=("dgt",)):
    command = command or get_command(app)
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        yield from commands(child, (*path, name))


@pytest.mark.parametrize(
    ("path", "command"), [pytest.param(*found, id=" ".join(found[0])) for found in commands()]
)
def test_every_command_and_option_has_help_and_a_place_in_the_docs(path, command):
    page = (ROOT / "docs" / "command.md").read_text()
    assert command.help and command.help.strip()
    name = " ".join(path)
    assert name == "dgt" or f"## {name}" in page, f"docs/command.md lacks a section '## {name}'"
    section = page.split(f"## {name}\n")[-1].split("\n## ")[0]
    for parameter in command.params:
        if parameter.name in ("help", "install_completion", "show_completion"):
            continue
        assert getattr(parameter, "help", None), f"{name} {parameter.name} lacks help"
        if parameter.param_type_name == "option":
            for option in parameter.opts + parameter.secondary_opts:
                if option.startswith("--"):
                    assert option in section, f"{name}: docs/command.md lacks {option}"
