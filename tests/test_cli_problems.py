"""`dgt` names everything that is wrong at once, a line each; and lists of columns."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pyarrow import parquet

import dgtrees
from dgtrees.cli.app import run
from dgtrees.errors import DataError
from dgtrees.tables.batch import Batch, row_namer
from dgtrees.tables.names import Names
from dgtrees.tables.table import read_table

QUICK = ["--max-depth", "2", "--max-epochs", "2", "-q"]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    rows = [f"n{i},{i % 24}:30,{i / 2},{i % 5},{i % 2}" for i in range(60)]
    path.write_text('name,when,x,"p,q",y\n' + "\n".join(rows) + "\n")
    return path


def problems(capsys, *arguments) -> list[str]:
    """What a command finds wrong, line by line."""
    assert run([str(argument) for argument in arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert all(line.startswith("dgt: ") for line in lines)
    return [line.removeprefix("dgt: ") for line in lines]


def test_all_columns_that_will_not_do(table, capsys):
    found = problems(capsys, "fit", table, "-t", "y", "--strict")
    *columns, step = found
    assert [line.split("column ")[1].split(":")[0] for line in columns] == ["'name'", "'when'"]
    assert step == "drop all of them with drop=['name', 'when'] or --drop name,when"


def test_strict_and_dropping_exclude_each_other(table, capsys):
    found = problems(capsys, "fit", table, "-t", "y", "--strict", "--drop-unusable")
    assert found[0].startswith("--drop-unusable and --strict exclude each other")


@pytest.mark.parametrize("asked", [[], ["--drop-unusable"]])
def test_columns_that_will_not_do_are_left_out(table, capsys, tmp_path, asked):
    out = ["-o", str(tmp_path / "m.dgt"), "--max-depth", "2", "--max-epochs", "2", *asked]
    assert run(["fit", str(table), "-t", "y", *out]) == 0
    captured = capsys.readouterr()
    lines = captured.err.splitlines()
    assert "column 'name': looks like identifiers" in lines[0]
    assert "column 'when': holds dates or times" in lines[1]
    assert all(line.startswith("dgt: left out: ") for line in lines) and len(lines) == 2
    assert "2 columns" in captured.out
    assert run(["fit", str(table), "-t", "y", *out, "-q"]) == 0
    assert capsys.readouterr().err == ""


def test_all_names_that_are_no_columns_and_what_was_meant(table, capsys):
    more = ["--drop", "nmae,wehn", "--drop", "pq", "--category", "cat", "--weight", "w"]
    found = problems(capsys, "fit", table, "-t", "Z", *more)
    for line, role, given_, meant in zip(
        found,
        ["target", "weight", "drop", "drop", "drop", "category"],
        ["Z", "w", "nmae", "wehn", "pq", "cat"],
        [None, None, "name", "when", "p,q", None],
        strict=False,
    ):
        hint = "" if meant is None else f" (did you mean {meant!r}?)"
        assert line == f"{table}: {role} must be one of its columns, got {given_!r}{hint}"
    assert found[6:] == ["the columns are name, when, x, 'p,q', y"]


def test_all_settings_and_files(table, tmp_path, capsys):
    wrong = ["-d", "-1", "--l1", "-3", "--leaf", "stem", "--task", "ranking", "--recipe", "no"]
    files = ["--val", tmp_path / "val.csv", "-o", tmp_path / "no" / "m.dgt"]
    found = problems(capsys, "fit", table, "-t", "y", *wrong, *files)
    assert [line.split(" must ")[0] for line in found[3:]] == ["max_depth", "leaf", "recipe", "l1"]
    assert "val.csv: no such file" in found[0] and "there is no folder" in found[1]
    assert found[2].startswith("task must be")
    assert len(problems(capsys, "predict", "a.dgt", "b.csv", "-o", "no/c.csv")) == 3
    assert len(problems(capsys, "show", "a.dgt", "--depth", "-1", "--weights", "0")) == 3
    assert len(problems(capsys, "explain", "a.dgt", "b.csv", "--row", "-1")) == 3
    assert len(problems(capsys, "export", "a.dgt", "--to", "d", "--weights", "0")) == 3
    assert len(problems(capsys, "tune", "a.csv", "--trials", "0", "--jobs", "0")) == 3
    assert len(problems(capsys, "simulate", "a.csv", "--against", "x,y")) == 3
    assert len(problems(capsys, "data", "fetch", "iris", "wine")) == 2


def test_all_that_a_command_line_has_wrong(table, capsys):
    found = problems(capsys, "fit", table, "--frob=1", "--dorp", "x", "--l1", "abc", "-d", "1.5")
    unknown = [line.split(" (")[0].rstrip(".") for line in found[:2]]
    assert unknown == ["No such option: --frob", "No such option: --dorp"]
    assert "'--l1'" in found[2] and "'--max-depth'" in found[3]
    assert found[4:] == ["See 'dgt fit --help'."]


def test_all_columns_that_a_model_misses(table, tmp_path, capsys):
    arguments = ["fit", table, "-t", "y", "--drop", "name,when", "-o", tmp_path / "m.dgt", *QUICK]
    assert run([str(argument) for argument in arguments]) == 0
    new = tmp_path / "new.csv"
    new.write_text("X,pq\n1,2\n")
    found = problems(capsys, "predict", tmp_path / "m.dgt", new)
    assert "none named 'x' (did you mean 'X'?)" in found[0]
    assert "none named 'p,q' (did you mean 'pq'?)" in found[1]
    assert found[2:] == ["the columns are X, pq"]


def test_all_parquet_files_that_will_not_do(tmp_path, capsys):
    good = pa.table({"x": [1.0, 2.0], "y": [0, 1]})
    parquet.write_table(good, tmp_path / "a.parquet")
    parquet.write_table(good.drop_columns(["x"]), tmp_path / "b.parquet")
    (tmp_path / "c.parquet").write_text("nothing")
    found = problems(capsys, "fit", tmp_path, "-t", "y", "-o", tmp_path / "m.dgt", *QUICK)
    assert ["b.parquet" in found[0], "c.parquet" in found[1], len(found)] == [True, True, 2]


def test_all_labels_that_training_did_not_have(table, tmp_path, capsys):
    val = tmp_path / "val.csv"
    val.write_text(table.read_text().replace(",1\n", ",7\n", 5).replace(",0\n", ",8\n", 5))
    options = ["-t", "y", "--drop", "name,when", "--val", val, "-o", tmp_path / "m.dgt"]
    (line,) = problems(capsys, "fit", table, *options)
    assert "got 8, 7:" in line


@pytest.mark.parametrize(
    ("drop", "left"),
    [
        (["name,when"], ["x", "p,q"]),
        (["name", "when"], ["x", "p,q"]),
        (["name, when"], ["x", "p,q"]),
        (["p,q", "name,when"], ["x"]),
        (["name,p,q,when"], ["x"]),
        (["0,1"], ["x", "p,q"]),
    ],
)
def test_several_columns_to_drop(drop, left, table, tmp_path):
    words = [word for name in drop for word in ("--drop", name)]
    saved = tmp_path / "m.dgt"
    arguments = ["fit", table, "-t", "y", "-o", saved, *words, *QUICK]
    assert run([str(argument) for argument in arguments]) == 0
    assert list(dgtrees.load(saved).column_kinds_) == left


def test_several_columns_that_are_categories(table):
    kinds = read_table(table, "y", drop=["name,when"], kinds={"x,p,q": "category"}).kinds
    assert kinds == {"x": "category", "p,q": "category"}
    with pytest.raises(DataError, match="'x' must be a category or a number, got both"):
        read_table(table, "y", drop=["name,when"], kinds={"x,p,q": "category", "x": "number"})


NAMES = st.lists(st.text(st.sampled_from("ab,1"), min_size=1, max_size=4), unique=True, min_size=1)


@given(NAMES, st.data())
def test_columns_given_one_by_one_are_found_whatever_their_names(names, data):
    column = pa.chunked_array([np.zeros(1)])
    batch = Batch(names, [column] * len(names), False, row_namer(0), "t")
    wanted = data.draw(st.lists(st.sampled_from(names)))
    found = Names(batch)
    assert found.several(wanted, "drop") == wanted
    found.settle()
    # Together they are found as well, where no name has a comma of its own.
    assume(wanted and not any("," in name for name in names))
    assert found.several([",".join(wanted)], "drop") == wanted
    found.settle()


def test_problems_of_a_recipe_are_notes_of_its_first_error():
    with pytest.raises(ValueError, match="quantizer must be") as caught:
        dgtrees.Recipe(quantizer="no", l1=-1.0, epochs=0)
    assert [note.split(" must ")[0] for note in caught.value.__notes__] == ["epochs", "l1"]
