"""What pip installs is enough for `dgt data` and `dgt paper`: nothing of a checkout is needed."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BUILD = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the content of the wheel, as pip would unpack it."""
    pytest.importorskip("hatchling", reason="builds a wheel")
    source, folder = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in ("src", "release"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-c", BUILD, str(source)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (wheel,) = source.glob("*.whl")
    with zipfile.ZipFile(wheel) as bundle:
        bundle.extractall(folder)
    return folder


@pytest.fixture
def dgt(installed, tmp_path):
    def run(*arguments, code=0):
        done = subprocess.run(
            [sys.executable, "-m", "dgtrees.cli", *arguments],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(installed), "DGTREES_DATA": str(tmp_path / "none")},
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stderr
        return done.stderr if code else done.stdout

    return run


def test_tables_and_experiments_are_in_the_wheel(installed):
    def tables(folder):
        return {path.relative_to(folder) for path in folder.glob("dgtrees/**/*.toml")}

    assert tables(installed) == tables(ROOT / "src")
    assert Path("dgtrees/paper/data_sets.toml") in tables(installed)
    assert not (installed / "tests").exists() and not (installed / "benchmarks").exists()


def test_data_sets_are_listed(dgt):
    listed = json.loads(dgt("data", "list", "--json"))
    assert len(listed["data_sets"]) == 22
    assert not any(item["present"] for item in listed["data_sets"])


def test_experiments_are_run_and_reported_in_folders_of_the_users(dgt, tmp_path):
    assert "got no --results: name one" in dgt("paper", "list", code=2)
    assert "Table 1" in dgt("paper", "list", "--results", "mine")
    options = ["--smoke", "--table", "1", "--method", "ridge", "--json", "--results", "mine"]
    assert json.loads(dgt("paper", "run", *options))["done"] == 1
    assert json.loads(dgt("paper", "run", *options))["before"] == 1
    written = dgt("paper", "report", "--results", "mine", "-o", "pages").splitlines()
    assert written[:2] == ["pages/paper.md", "pages/paper/settings.md"]
    for page in map(tmp_path.joinpath, written[:2]):
        for link in re.findall(r"\]\(([^)#]+)", page.read_text()):
            assert link.startswith("http") or (page.parent / link).is_file(), link
