"""comparison: `dgt fit` says how good a model is beside those that anybody would try first."""

import json

import numpy as np
import pandas as pd
import pytest

from dgtrees.cli.app import run
from dgtrees.cli.comparison import comparison_text, is_judged, split_rows

RNG = np.random.default_rng(5)
QUICK = ["--max-depth", "2", "--max-epochs", "3"]


def table(folder, name="train", rows=240, **more):
    X = RNG.normal(size=(rows, 2))
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(
        city=RNG.choice(["Oslo", "Rome"], rows),
        label=np.where(X.sum(axis=1) > 0, "yes", "no"),
        **more,
    )
    frame.loc[RNG.random(rows) < 0.05, "a"] = np.nan
    frame.to_csv(folder / f"{name}.csv", index=False)
    return str(folder / f"{name}.csv")


def fitted(capsys, *arguments):
    assert run(["fit", *arguments, *QUICK, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_classes_are_judged_on_a_held_out_fifth(tmp_path, capsys):
    where = ["-t", "label", "-o", str(tmp_path / "m.dgt")]
    found = fitted(capsys, table(tmp_path), *where)
    assert found["rows"] == 240 and found["beside"]["rows"] == 48
    scores = found["beside"]["scores"]
    assert list(scores) == ["this model", "linear", "CART", "constant"]
    assert set(scores["linear"]) == {"accuracy", "auc", "log_loss"}
    assert scores["linear"]["accuracy"] > 0.9 > scores["constant"]["accuracy"]


def test_the_summary_shows_a_table(tmp_path, capsys):
    where = ["-t", "label", "-o", str(tmp_path / "m.dgt")]
    assert run(["fit", table(tmp_path), *where, *QUICK]) == 0
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("on 48 held-out rows, after learning from the others:")
    assert lines[at + 1].split() == ["accuracy", "AUC", "log-loss"]
    assert lines[at + 2].startswith("  this model ") and lines[at + 5].startswith("  constant ")


def test_the_model_is_the_same_judged_or_not(tmp_path, capsys):
    path, files = table(tmp_path), [tmp_path / "a.dgt", tmp_path / "b.dgt"]
    for file, option in zip(files, ("--judge", "--no-judge"), strict=True):
        found = fitted(capsys, path, "-t", "label", "-o", str(file), option)
        assert ("beside" in found) == (option == "--judge")
    assert files[0].read_bytes() == files[1].read_bytes()


def test_validation_rows_judge_without_a_second_fit(tmp_path, capsys):
    val = table(tmp_path, "val", rows=60)
    where = ["-t", "label", "-o", str(tmp_path / "m.dgt")]
    found = fitted(capsys, table(tmp_path), *where, "--val", val)
    assert found["beside"]["which"] == "validation" and found["beside"]["rows"] == 60
    own = found["beside"]["scores"]["this model"]["accuracy"]
    assert own == pytest.approx(found["validation_accuracy"])


@pytest.mark.parametrize("kind", [["--boost"], ["--trees", "3"], []])
def test_numbers_are_judged_for_every_kind_of_model(tmp_path, capsys, kind):
    amount = RNG.normal(size=240)
    options = [] if kind == ["--boost"] else QUICK
    where = ["-t", "amount", "-o", str(tmp_path / "m.dgt"), "--json"]
    assert run(["fit", table(tmp_path, amount=amount), *where, *kind, *options]) == 0
    scores = json.loads(capsys.readouterr().out)["beside"]["scores"]
    assert all(set(each) == {"rmse", "r2"} for each in scores.values())


def test_leaks_and_rare_classes_are_told(tmp_path, capsys):
    rare = np.arange(240) % 30 == 0
    path = table(tmp_path, rare=np.where(rare, "bad", "good"), refund=np.where(rare, 10.5, 0.0))
    found = fitted(capsys, path, "-t", "rare", "-o", str(tmp_path / "m.dgt"))
    leak, scarce = found["beside"]["notes"]
    assert leak.startswith("column 'refund' alone predicts the target (100.0% right): ")
    assert scarce.startswith("only 3.1% of rows are 'bad'")


def test_a_counter_of_rows_is_told_once_with_the_option_that_drops_it(tmp_path, capsys):
    path = table(tmp_path, number=np.arange(240))
    assert run(["fit", path, "-t", "label", "-o", str(tmp_path / "m.dgt"), *QUICK]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("dgt: column 'number' counts rows") and "or --drop number)" in line


def test_classes_of_few_rows_each_are_told(tmp_path, capsys):
    path = table(tmp_path, person=[f"n{row // 3}" for row in range(240)])
    found = fitted(capsys, path, "-t", "person", "-o", str(tmp_path / "m.dgt"))
    (note,) = found["beside"]["notes"]
    assert "classes in 192 rows: too few rows per class" in note


def test_an_identifier_is_no_target(tmp_path, capsys):
    path = table(tmp_path, person=[f"n{row}" for row in range(240)])
    assert run(["fit", path, "-t", "person", "-o", str(tmp_path / "m.dgt"), *QUICK]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "classes must repeat, got 240 different ones in 240 rows: check --target" in line


def test_a_number_that_never_changes_is_no_target(tmp_path, capsys):
    path = table(tmp_path, price=np.full(240, 3.5))
    assert run(["fit", path, "-t", "price", "-o", str(tmp_path / "m.dgt"), *QUICK]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "the target must differ between rows, got 3.5 in all of them: check --target" in line


def test_small_tables_say_that_nothing_was_compared(tmp_path, capsys):
    where = ["-t", "label", "-o", str(tmp_path / "m.dgt")]
    assert run(["fit", table(tmp_path, rows=60), *where, *QUICK]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("note: not compared with other")


def test_scores_have_three_decimals_and_no_minus_zero():
    perfect = {"accuracy": 1.0, "auc": 1.0, "log_loss": -1e-9}
    lines = comparison_text({"which": "validation", "rows": 5, "scores": {"CART": perfect}})
    assert lines[0] == "on 5 validation rows, after learning:"
    assert lines[2].split() == ["CART", "1.000", "1.000", "0.000"]


def test_which_tables_are_judged_unasked():
    assert [is_judged(None, rows) for rows in (99, 100, 50_000, 50_001)] == [0, 1, 1, 0]
    assert is_judged(True, 10**6) and not is_judged(False, 1000)


@pytest.mark.parametrize("labels", [[0] * 99 + [1], [0] * 50 + [1] * 50, list(range(100))])
def test_every_row_is_either_learnt_from_or_held_out(labels):
    target = np.array(labels)
    learnt, held = split_rows(target, classify=True, seed=0)
    assert sorted([*learnt, *held]) == list(range(100)) and len(held) == 20
    if labels[:2] == [0, 0] and labels.count(1) == 50:
        assert target[held].sum() == 10
