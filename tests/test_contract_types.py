"""What type checkers and editors know about the public names, which are imported when used."""

import ast
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dgtrees
from dgtrees import nn
from dgtrees.paper import baselines

LAZY = [dgtrees, nn, baselines]
SOURCE = Path(dgtrees.__file__).parents[1]

CORRECT = """
from pathlib import Path

import numpy as np

from dgtrees import DGTBagClassifier, DGTBandit, DGTClassifier, DGTContinuousBandit
from dgtrees import DGTForestRegressor, DGTRegressor
from dgtrees import DGTreesError, Recipe, explain, export_text, fit_shards, load, plot_tree
from dgtrees.bandit import Epsilon
from dgtrees.paper.baselines import LinUCB
from dgtrees.learn import RECIPES


def learnt(folder: Path) -> float:
    X = np.zeros((4, 2))
    weights = {"a": 2.0}
    model = DGTClassifier(3, recipe=Recipe(l1=0.1), class_weight=weights, random_state=0)
    leaves = model.fit(X, ["a", "b", "a", "b"], sample_weight=[1, 2, 1, 1]).apply(X)
    model.save(folder / "model.dgt")
    print(load(folder / "model.dgt").predict(X), explain(model, {"x0": 1.0}).text())
    print(export_text(model), plot_tree(model).figure.get_size_inches())
    bags = DGTBagClassifier(pooling="max").fit(X, {1: "a", 2: "b"}, bags=[1, 1, 2, 2])
    print(bags.predict(X, bags=[1, 1, 2, 2]), bags.explain_bag(X).text())
    forest = DGTForestRegressor(n_estimators=3).fit(X, [1.0, 2.0, 3.0, 4.0])
    whole = fit_shards(DGTRegressor(recipe=RECIPES["paper"]["regression"]), folder, "y")
    return float(leaves.sum() + forest.predict_interval(X)[0, 1] + whole.predict(X).sum())


def decided(x: list[float]) -> float:
    policy = DGTBandit(5, explore=Epsilon(0.1), recipe="paper")
    decision = policy.decide(x)
    policy.learn(x, decision, loss=0.5)
    policy.learn_many([x, x], [decision] * 2, [0.0, 1.0])
    price = DGTContinuousBandit(0.0, 1.0, feedback="two-point")
    tried = price.decide(x)
    price.learn(x, tried, [action**2 for action in tried.actions])
    try:
        rival = LinUCB(3, random_state=0).decide(x).probability
    except DGTreesError:
        rival = 0.0
    return decision.probability + tried.centre + rival
"""

# Every line that ends with a comment must be refused, with that code.
WRONG = """
import dgtrees
from dgtrees import DGTBagClassifier, DGTBandit, DGTClassifier, Recipe
from dgtrees import NoSuchThing  # attr-defined
from dgtrees.paper.baselines import Nobody  # attr-defined
from dgtrees.learn import Nothing  # attr-defined

DGTClassifier(max_dpeth=3)  # call-arg
DGTClassifier(max_depth="three")  # arg-type
DGTClassifier().fit([[1.0]], [1], weight=[1.0])  # call-arg
DGTBagClassifier(pooling="median")  # arg-type
DGTClassifier().save(3)  # arg-type
DGTClassifier().predcit([[1.0]])  # attr-defined
DGTBandit("five")  # arg-type
DGTBandit(2, recipe=Recipe())  # arg-type
DGTBandit(2).decide([1.0]).probabilty  # attr-defined
DGTBandit(2).learn([1.0], 1, 0.5)  # arg-type
Recipe(l1="much")  # arg-type
dgtrees.DGTRegresor()  # attr-defined
dgtrees.load(None)  # arg-type
"""

# torch is left out for the time it takes.
CONFIGURATION = """
[mypy]
strict = True
ignore_missing_imports = True
[mypy-torch.*]
follow_imports = skip
[mypy-dgtrees.*]
ignore_errors = True
"""


def test_mypy_finds_mistakes_and_passes_correct_code(tmp_path, request):
    pytest.importorskip("mypy")
    (tmp_path / "correct.py").write_text(CORRECT)
    (tmp_path / "wrong.py").write_text(WRONG)
    (tmp_path / "mypy.ini").write_text(CONFIGURATION)
    cache = request.config.cache.mkdir("mypy-of-users")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", cache, "correct.py", "wrong.py"],
        cwd=tmp_path,
        env=os.environ | {"MYPYPATH": str(SOURCE)},
        capture_output=True,
        text=True,
    )
    found = re.findall(r"^(\w+)\.py:(\d+): error: .*\[([\w-]+)\]$", done.stdout, re.MULTILINE)
    planted = [
        ("wrong", str(number), line.split("  # ")[1])
        for number, line in enumerate(WRONG.splitlines(), start=1)
        if "  # " in line
    ]
    assert sorted(found) == sorted(planted), done.stdout + done.stderr


@pytest.mark.parametrize("package", LAZY, ids=lambda package: package.__name__)
def test_names_types_and_homes_of_lazy_packages_agree(package):
    tree = ast.parse(Path(package.__file__).read_text())
    checked = [
        node
        for node in tree.body
        if isinstance(node, ast.If) and getattr(node.test, "id", None) == "TYPE_CHECKING"
    ]
    told = {
        alias.name: node.module
        for block in checked
        for node in ast.walk(block)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    prefix = "" if package is dgtrees else f"{package.__name__}."
    assert told == {name: f"{prefix}{home}" for name, home in package._HOMES.items()}
    own = {"load"} if package is dgtrees else set()
    needs_torch = {"fit_shards"} if package is dgtrees else set()
    assert set(package.__all__) == {*package._HOMES, *own} - needs_torch
    assert set(package.__all__) <= set(dir(package))
    for name, home in told.items():
        assert getattr(package, name) is getattr(importlib.import_module(home), name)
    with pytest.raises(AttributeError, match="no_such_name"):
        package.no_such_name  # noqa: B018


def test_editors_complete_public_names():
    jedi = pytest.importorskip("jedi")
    project = jedi.Project(SOURCE, added_sys_path=[str(SOURCE)])

    def completed(code: str) -> set[str]:
        lines = code.splitlines()
        script = jedi.Script(code, project=project)
        return {found.name for found in script.complete(len(lines), len(lines[-1]))}

    for package in LAZY:
        offered = completed(f"import {package.__name__}\n{package.__name__}.")
        assert set(package.__all__) <= offered
    assert "max_depth=" in completed("from dgtrees import DGTClassifier\nDGTClassifier(max_")
    start = "from dgtrees import DGTBandit, DGTClassifier\n"
    assert {"fit", "predict", "save"} <= completed(f"{start}DGTClassifier().")
    assert "probability" in completed(f"{start}DGTBandit(2).decide([1.0]).")
