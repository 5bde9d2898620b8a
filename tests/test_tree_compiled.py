"""Where compiled code is kept: in containers that cannot be written, and after `dgt warmup`."""

import ctypes
import json
import os
import pickle
import pty
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import dgtrees

linux = pytest.mark.skipif(sys.platform != "linux", reason="takes rights from root as Linux does")

PREDICT = """
from dgtrees import ObliqueTree
from dgtrees.tree.compiled import COUNTS

tree = ObliqueTree.complete([[1.0]], [0.0], [[3.0], [5.0]])
print(tree.predict([[2.0]])[0, 0], tree.apply_row([-2.0]), COUNTS["compiled"] > 0)
"""


@pytest.fixture
def package():
    """A copy of the package, without compiled code."""
    with tempfile.TemporaryDirectory() as place:
        source = Path(dgtrees.__file__).parent
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, Path(place, "dgtrees"), ignore=ignored)
        yield Path(place)
        for folder, *_ in os.walk(place):
            os.chmod(folder, 0o755)


def environment(package, **more):
    hidden = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "PYTHONWARNINGS")
    known = {name: value for name, value in os.environ.items() if name not in hidden}
    return {**known, "PYTHONPATH": str(package), **more}


def run(code, package, **more):
    command = [sys.executable, "-W", "error::RuntimeWarning", "-c", code]
    variables = environment(package, **more)
    done = subprocess.run(command, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), done.stderr


def bound_by_permissions():
    """For root: give up the right to write where permissions forbid it (CAP_DAC_OVERRIDE)."""
    if os.geteuid() == 0:
        drop, override = 24, 1
        if ctypes.CDLL(None).prctl(drop, override, 0, 0, 0):
            raise PermissionError("capabilities cannot be dropped")


def read_only(package):
    """What runs Python with a home, and a package, that it cannot write."""
    for folder, *_ in os.walk(package):
        os.chmod(folder, 0o555)
    variables = environment(package, HOME=os.devnull)

    def run_there(code):
        command = [sys.executable, "-c", code]
        return subprocess.run(
            command, env=variables, capture_output=True, text=True, preexec_fn=bound_by_permissions
        )

    try:
        wrote = run_there(f"open({str(package / 'dgtrees' / 'new')!r}, 'w')")
    except subprocess.SubprocessError:
        pytest.skip("root cannot be kept from writing here")
    assert "PermissionError" in wrote.stderr
    return run_there


@pytest.mark.slow
@linux
def test_without_a_folder_to_write_it_works_and_says_so_once(package):
    done = read_only(package)(PREDICT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["5.0", "0", "True"]
    assert done.stderr.count("\n") == 1  # of the two functions that it has compiled
    assert "set NUMBA_CACHE_DIR" in done.stderr and "'dgt warmup'" in done.stderr


@pytest.mark.slow
@linux
def test_code_that_was_kept_is_used_where_nothing_can_be_written(package):
    assert run(PREDICT, package)[0] == ["5.0", "0", "True"]
    done = read_only(package)(PREDICT)
    assert done.stdout.split() == ["5.0", "0", "False"]
    assert done.stderr == ""


@pytest.mark.slow
def test_a_folder_that_fails_while_it_is_used_changes_nothing(package, tmp_path):
    folder = tmp_path / "cache"
    gone = f"""
import shutil
from pathlib import Path
import dgtrees.tree
shutil.rmtree({str(folder)!r})
Path({str(folder)!r}).write_text("no longer a folder")
{PREDICT}"""
    out, error = run(gone, package, NUMBA_CACHE_DIR=str(folder))
    assert out == ["5.0", "0", "True"]
    assert error.count("set NUMBA_CACHE_DIR") == 1


@pytest.mark.slow
def test_code_is_compiled_anew_when_what_it_calls_has_changed(package):
    assert run(PREDICT, package)[0][-1] == "True"
    assert run(PREDICT, package)[0][-1] == "False"
    # The function that was called is routing's; what it calls is inside its compiled code.
    dot = package / "dgtrees" / "tree" / "dot.py"
    dot.write_text(dot.read_text() + "\n# changed\n")
    assert run(PREDICT, package)[0][-1] == "True"


@pytest.mark.slow
def test_code_kept_for_types_of_another_name_is_compiled_anew(package, tmp_path):
    kept = tmp_path / "cache"
    assert run(PREDICT, package, NUMBA_CACHE_DIR=str(kept))[0][-1] == "True"
    lists = list(kept.rglob("*.nbi"))
    # Numba's list of what is kept: its version, then what was kept, for which types.
    unknown = b"cdgtrees.no_such_module\nType\n."
    for path in lists:
        with path.open("rb") as stream:
            version = pickle.load(stream)
        path.write_bytes(pickle.dumps(version) + unknown)
    assert run(PREDICT, package, NUMBA_CACHE_DIR=str(kept))[0][-1] == "True"  # compiled, no error
    assert run(PREDICT, package, NUMBA_CACHE_DIR=str(kept))[0][-1] == "False"  # and kept again
    assert all(unknown not in path.read_bytes() for path in lists)


def on_a_terminal(code, package):
    """What a process writes on a terminal that is its standard error."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", code]
    process = subprocess.Popen(
        command, env=environment(package), stdout=subprocess.DEVNULL, stderr=theirs
    )
    os.close(theirs)
    said = b""
    try:
        while part := os.read(ours, 1000):
            said += part
    except OSError:  # how Linux says that the other side was closed
        pass
    os.close(ours)
    assert process.wait() == 0, said
    return said.decode()


FOREST = """
from dgtrees import ObliqueForest, ObliqueTree
from dgtrees.tree.compiled import COUNTS

tree = ObliqueTree.complete([[1.0]], [0.0], [[3.0], [5.0]])
print(ObliqueForest([tree, tree]).predict_row([2.0])[0], COUNTS["compiled"] > 0)
"""


@pytest.mark.slow
def test_a_terminal_is_told_once_that_code_is_compiled(package):
    assert on_a_terminal(PREDICT, package).count("is compiling code for this machine") == 1
    assert on_a_terminal(PREDICT, package) == ""
    assert run(FOREST, package) == (["5.0", "True"], "")  # compiled too, but nobody watches


FIRST_USE = """
import json
import numpy as np
import pandas as pd
import dgtrees
from dgtrees.bandit import simulate
from dgtrees.paper.baselines import ContextualBanditForest
from dgtrees.tree import online
from dgtrees.tree.compiled import COUNTS, FUNCTIONS

rng = np.random.default_rng(1)
X = rng.normal(size=(70, 5))
X.setflags(write=False)
frame = pd.DataFrame(X, columns=list("abcde")).assign(city=["Oslo", "Rome"] * 35)
classes, values = np.where(X[:, 0] > 0, "yes", "no"), X[:, 0] + 1.0
short = {"max_epochs": 1, "random_state": 1}
for rows, y, model in (
    (frame, classes, dgtrees.DGTClassifier(3, **short)),
    (X, values, dgtrees.DGTRegressor(3, leaf="linear", validation_fraction=0.2, **short)),
    (X, values, dgtrees.DGTRegressor(3, loss="huber", recipe="paper", **short)),
    (X, classes, dgtrees.DGTClassifier(3, refine="polish", **short)),
    (X, classes, dgtrees.DGTForestClassifier(3, max_depth=3, **short)),
    (X, values, dgtrees.DGTForestRegressor(3, max_depth=3, **short)),
    (X, classes, dgtrees.DGTForestClassifier(3, random_state=1)),
    (X, values, dgtrees.DGTForestRegressor(3, random_state=1)),
    (X, classes, dgtrees.DGTBoostingClassifier(4, random_state=1)),
    (X, np.arange(70) % 7, dgtrees.DGTBoostingClassifier(4, random_state=1)),
    (X, values, dgtrees.DGTBoostingRegressor(4, monotonic=[1] + [0] * (X.shape[1] - 1))),
):
    model.fit(rows, y).predict(rows)
    if rows is X:
        model.predict_row(X[0])
        inside = model.model_.encode(X).astype("f4")
        (model.tree_ if hasattr(model, "tree_") else model.forest_).predict(inside)
dgtrees.DGTClassifier(2, random_state=0).partial_fit(X, classes, classes=["no", "yes"])
policies = (
    dgtrees.DGTBandit(3, random_state=1),
    dgtrees.DGTBandit(3, 3, "linear", explore="softmax", random_state=1),
    dgtrees.DGTBandit(3, 3, recipe="paper", random_state=1),
    ContextualBanditForest(3, n_trees=3, max_depth=2, warm_up=10, random_state=1),
    dgtrees.DGTContinuousBandit(0.0, 1.0, 2, random_state=1),
    dgtrees.DGTContinuousBandit(0.0, 1.0, 2, feedback="two-point", random_state=1),
)
for policy in policies:
    for x in X:
        decision = policy.decide(x)
        two = getattr(policy, "feedback", "") == "two-point"
        policy.learn(x, decision, [0.1, 0.9] if two else 0.1)
    policy.predict(X)
simulate(policies[0], X, rng.integers(3, size=70))
simulate(policies[-1], X, rng.random(70), loss="absolute")
misses = {f.__name__: [str(s) for s in f.stats.cache_misses] for f in FUNCTIONS}
print(json.dumps({"misses": {k: v for k, v in misses.items() if v}, **COUNTS}))
"""


@pytest.mark.slow
def test_after_a_warmup_nothing_is_left_to_compile(package, tmp_path):
    cache = tmp_path / "cache"
    variables = environment(package, NUMBA_CACHE_DIR=str(cache))
    command = [sys.executable, "-m", "dgtrees.cli", "warmup", "--json"]
    done = subprocess.run(command, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["compiled"] > 50 and Path(said["folder"]).parent == cache
    # No function was forgotten, whoever will call it.
    names = {path.name.partition("-")[0] for path in cache.rglob("*.nbi")}
    listed = "from dgtrees.tree import *; from dgtrees.tree import online\n"
    listed += "from dgtrees.paper.baselines import _forest_bandit\n"
    listed += "from dgtrees.learn import boosting_tuning, descent, members\n"
    listed += "from dgtrees.bandit import mixed_learner\n"
    listed += "from dgtrees.tree.compiled import FUNCTIONS\n"
    listed += "print(*(f'{f.__module__.split(chr(46))[-1]}.{f.__name__}' for f in FUNCTIONS))"
    assert set(run(listed, package)[0]) == names
    out, _ = run(FIRST_USE, package, NUMBA_CACHE_DIR=str(cache))
    used = json.loads(" ".join(out))
    assert used["misses"] == {} and used["found"] > 20


@linux
def test_a_warmup_without_a_folder_is_refused(package):
    done = read_only(package)("from dgtrees.cli import main; main(['warmup'])")
    assert done.returncode == 2
    assert done.stderr.startswith("dgt: compiled code must be kept in a folder")
    assert done.stderr.count("\n") == 1
