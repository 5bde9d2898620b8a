"""`dgt paper`: list, run, report; in a checkout and outside of one."""

import json

import pytest

import dgtrees
from dgtrees.cli import paper
from dgtrees.cli.app import run as dgt
from dgtrees.paper import splits
from dgtrees.paper.catalog import CATALOG
from paper_cells import write_records


@pytest.fixture
def recorded(tmp_path):
    write_records(tmp_path / "results")
    return tmp_path / "results"


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
    there = [name for name in CATALOG if splits.is_present(name)]
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
        (["--smoke"], "--smoke must have a folder of its own"),
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


def test_pages_are_written_without_matplotlib(recorded, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(paper, "find_spec", lambda name: None)
    assert dgt(["paper", "report", "--results", str(recorded), "-o", str(tmp_path / "d")]) == 0
    assert capsys.readouterr().out.endswith("no figures: pip install 'dgtrees[plot]' adds them\n")
    assert not list((tmp_path / "d").rglob("*.png"))
    assert "](paper/settings.md)" in (tmp_path / "d" / "paper.md").read_text()
    assert "![" not in (tmp_path / "d" / "paper.md").read_text()
