"""Notebooks of examples/: stored outputs are those that their cells give now."""

import json
import re

import pytest
from docs.notebooks import notebooks, outputs, read, said
from docs.pages import ARITHMETIC, arithmetic, differences

IDS = re.compile(r"'[0-9A-Z]{26}'|'[0-9a-f]{32}'")


def codes(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.name)
def test_cells_give_what_is_stored(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = read(path)
    wrong = []
    for cell, found in zip(codes(notebook), outputs(notebook), strict=True):
        texts = [IDS.sub("an id", said(parts)) for parts in (cell["outputs"], found)]
        wrong += differences(*texts)
        assert [set(part.get("data", ())) for part in found] == [
            set(part.get("data", ())) for part in cell["outputs"]
        ]
    if wrong and arithmetic() not in ARITHMETIC.read_text().split():
        pytest.skip(f"{path.name} was run on a machine that rounds differently from this one")
    assert not wrong, "\n".join(["run python -m docs.notebooks:", *wrong])


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.name)
def test_notebooks_are_as_jupyter_writes_them(path):
    notebook = read(path)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    assert [cell["execution_count"] for cell in codes(notebook)] == list(
        range(1, len(codes(notebook)) + 1)
    )
    assert all(cell["outputs"] for cell in codes(notebook))
    assert path.stat().st_size < 250_000 and "/home/" not in json.dumps(notebook)


def test_a_stored_output_that_is_wrong_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = {"cells": [{"cell_type": "code", "source": ["x = 2\n", "print(x)\n", "x + 1"]}]}
    ((printed, value),) = outputs(notebook)
    assert said([printed, value]) == "2\n3"
    assert differences("2\n4", said([printed, value]))
