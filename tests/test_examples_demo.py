"""`make demo` runs anywhere, and the first five minutes show what it prints."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from docs.pages import ARITHMETIC, arithmetic, differences

ROOT = Path(__file__).parents[1]
TIMED = re.compile(r" [\d.]+ │ +[\d.]+ │$", re.MULTILINE)
"""Seconds and microseconds of a row."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What it prints; its files are in the folder beside that."""
    folder = tmp_path_factory.mktemp("demo")
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "demo.py"],
        cwd=folder,
        env=os.environ | {"COLUMNS": "80", "PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def test_it_writes_what_it_says(printed):
    folder, text = printed
    named = re.findall(r"[\w-]+\.(?:png|dgt)", text[text.index("Written to demo/") :])
    written = {path.name for path in (folder / "demo").iterdir()}
    assert written == {name for name in named if name != "model.dgt"}


def test_the_tree_is_ahead_of_cart_and_of_a_linear_model(printed):
    found = re.findall(r"│ ([\w, ()]+?) +│ +([\d.]+)% │", printed[1])
    scores = {name: float(score) for name, score in found}
    ours = scores["DGTClassifier(), one tree"]
    assert ours > scores["CART, tuned"] and ours > scores["logistic regression"]


def test_the_first_five_minutes_show_it(printed):
    page = (ROOT / "docs" / "first_five_minutes.md").read_text()
    said = page[page.index("$ make demo\n") + len("$ make demo\n") :].partition("\n```")[0]
    wrong = differences(TIMED.sub("", said), TIMED.sub("", printed[1].rstrip()))
    if wrong and arithmetic() not in ARITHMETIC.read_text().split():
        pytest.skip("the page was written by a machine that rounds differently from this one")
    assert not wrong, "\n".join(["put what make demo prints into the page:", *wrong])
