"""`dgt evaluate`: scores of a model file on a table with the truth."""

import json

import pytest
from sklearn.datasets import load_diabetes, load_iris
from typer.testing import CliRunner

from dgtrees import DGTClassifier, DGTRegressor
from dgtrees.cli.app import app, run


def evaluate(*arguments):
    return CliRunner().invoke(app, ["evaluate", *map(str, arguments)])


@pytest.fixture(scope="module")
def iris(tmp_path_factory):
    folder = tmp_path_factory.mktemp("iris")
    frame = load_iris(as_frame=True).frame
    frame["target"] = frame["target"].map({0: "setosa", 1: "versicolor", 2: "virginica"})
    frame[1::2].to_csv(folder / "test.csv", index=False)
    model = DGTClassifier(max_depth=2, max_epochs=20, random_state=0)
    model.fit(frame[::2].drop(columns="target"), frame["target"][::2]).save(folder / "m.dgt")
    return folder, model, frame[1::2]


def test_classes_are_scored_as_the_estimator_scores_them(iris):
    folder, model, test = iris
    done = evaluate(folder / "m.dgt", folder / "test.csv", "--target", "target", "--json")
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    X, y = test.drop(columns="target"), test["target"]
    assert said["accuracy"] == pytest.approx(model.score(X, y))
    assert said["rows"] == 75 and sum(map(sum, said["confusion"])) == 75
    assert said["classes"] == ["setosa", "versicolor", "virginica"]
    assert said["majority_accuracy"] == pytest.approx(1 / 3)


def test_the_text_has_scores_beside_what_knowing_nothing_gives(iris):
    folder, *_ = iris
    done = evaluate(folder / "m.dgt", folder / "test.csv", "--target", "target")
    for words in ("accuracy", "always setosa: 0.3333", "AUC", "log-loss", "confusion: a row per"):
        assert words in done.stdout
    assert len({line.index("  ") for line in done.stdout.splitlines()[1:3]}) <= 2


def test_numbers(tmp_path):
    frame = load_diabetes(as_frame=True).frame
    frame[1::2].to_csv(tmp_path / "test.csv", index=False)
    model = DGTRegressor(max_depth=2, max_epochs=10, random_state=0)
    model.fit(frame[::2].drop(columns="target"), frame["target"][::2]).save(tmp_path / "m.dgt")
    given = tmp_path / "m.dgt", tmp_path / "test.csv", "--target", "target"
    said = json.loads(evaluate(*given, "--json").stdout)
    test = frame[1::2]
    assert said["r2"] == pytest.approx(model.score(test.drop(columns="target"), test["target"]))
    assert "predicting their mean" in evaluate(*given).stdout


def test_classes_that_the_model_does_not_know(iris, tmp_path, capsys):
    folder, _, test = iris
    some = test.copy()
    some.loc[some.index[:5], "target"] = "daisy"
    some.to_csv(tmp_path / "some.csv", index=False)
    done = evaluate(folder / "m.dgt", tmp_path / "some.csv", "-t", "target")
    assert "5" in done.stdout and "classes the model does not know" in done.stdout
    some.assign(target="daisy").to_csv(tmp_path / "all.csv", index=False)
    assert run(["evaluate", str(folder / "m.dgt"), str(tmp_path / "all.csv"), "-t", "target"]) == 2
    assert "must hold classes the model knows, got 'daisy'" in capsys.readouterr().err


def test_what_is_refused(iris, capsys):
    folder, *_ = iris
    assert run(["evaluate", "-", "-", "-t", "target"]) == 2
    assert "cannot both come from standard input" in capsys.readouterr().err
    assert run(["evaluate", str(folder / "m.dgt"), str(folder / "test.csv")]) == 2
    assert "--target" in capsys.readouterr().err
