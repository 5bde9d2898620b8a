"""Who may import whom, and what a light-weight use may not drag in."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]


def test_rooms_import_downwards_only():
    program = Path(sys.executable).parent / "lint-imports"
    if not program.exists():
        pytest.skip("import-linter is not installed beside this Python")
    done = subprocess.run([program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_the_package_imports_nothing_heavy():
    heavy = "{'torch', 'sklearn', 'numba', 'numpy', 'scipy', 'pandas', 'rich'}"
    assert run(f"import sys, dgtrees; print(sorted({heavy} & set(sys.modules)))") == "[]"


@pytest.mark.parametrize("kind", ["DGTClassifier", "DGTRegressor"])
def test_loading_and_predicting_leave_torch_alone(kind, tmp_path):
    import dgtrees

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 3
    model = getattr(dgtrees, kind)(2, max_epochs=2, random_state=0).fit(X, y)
    path = tmp_path / "model.dgt"
    model.save(path)
    code = f"""
import sys, dgtrees
model = dgtrees.load({str(path)!r})
row = [[0.0, 1.0, 2.0]]
print(model.predict(row)[0], model.apply(row)[0], 'torch' in sys.modules)
"""
    row = [[0.0, 1.0, 2.0]]
    assert run(code) == f"{model.predict(row)[0]} {model.apply(row)[0]} False"


NO_TORCH = """
class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] == 'torch':
            raise ImportError('there is no torch here')
sys.meta_path.insert(0, NoTorch())
"""
"""Not sys.modules['torch'] = None: SciPy takes what is there for the library."""

EVERYTHING = """
import sys
{before}
import numpy as np, dgtrees
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
for model, y in (
    (dgtrees.DGTClassifier(2, max_epochs=2, random_state=0), X[:, 0] > 0),
    (dgtrees.DGTRegressor(2, leaf="linear", max_epochs=2, random_state=0), X[:, 0]),
):
    model.fit(X, y)
    model.partial_fit(X, y)
    model.save({path!r})
    assert (dgtrees.load({path!r}).predict(X) == model.predict(X)).all()
policy = dgtrees.DGTBandit(2, 2, "constant", random_state=0)
for i in range(20):
    policy.learn(X[i], policy.decide(X[i]), 0.5)
policy.save({path!r})
dgtrees.load({path!r}).decide(X[0])
print('torch' in sys.modules)
"""


@pytest.mark.parametrize("before", ["", NO_TORCH], ids=["with", "without"])
def test_fitting_predicting_saving_and_loading_take_no_torch(before, tmp_path):
    """As it is installed without the extra; and where it is there, it is not imported."""
    code = EVERYTHING.format(before=before, path=str(tmp_path / "model.dgt"))
    assert run(code) == "False"


def test_all_public_names_are_there_without_torch():
    code = f"""
import sys
{NO_TORCH}
from dgtrees import *
print(DGTClassifier().max_depth)
"""
    assert run(code) == "auto"


def test_what_needs_torch_says_so_in_one_line_where_it_is_missing():
    code = f"""
import sys
{NO_TORCH}
import numpy as np, dgtrees
loss = lambda prediction, target: (prediction - target) ** 2
X = np.arange(60.0).reshape(20, 3)
try:
    dgtrees.DGTRegressor(2, recipe=dgtrees.Recipe(loss=loss), max_epochs=1).fit(X, X[:, 0])
except ValueError as error:
    print(error)
"""
    said = run(code)
    assert "needs torch: return (losses, gradient), or pip install" in said
    assert len(said.splitlines()) == 1


def test_a_bandit_leaves_torch_and_scikit_learn_alone(tmp_path):
    code = f"""
import sys, dgtrees
from dgtrees.bandit import simulate
policy = dgtrees.DGTBandit(2, 2, "constant", random_state=0)
for i in range(20):
    x = [i % 2, i % 3]
    policy.learn(x, policy.decide(x), 0.5)
policy.save({str(tmp_path / "p.dgt")!r})
dgtrees.load({str(tmp_path / "p.dgt")!r}).decide(x)
print(sorted({{'torch', 'sklearn'}} & set(sys.modules)))
"""
    assert run(code) == "[]"


def test_exporting_leaves_torch_alone_and_onnx_until_it_is_needed():
    code = """
import sys
from dgtrees import ObliqueTree, export_c, export_dot, export_onnx, export_text
tree = ObliqueTree.complete([[1.0]], [0.0], [[0.0], [1.0]])
for export in (export_c, export_dot, export_text):
    export(tree)
print(sorted({'torch', 'sklearn', 'onnx', 'onnxruntime', 'matplotlib'} & set(sys.modules)))
"""
    assert run(code) == "[]"


COMPILED = ("by_reference.py", "compiled.py", "dot.py", "small_trees.py", "sweeps.py", "vectors.py")


def test_only_kernels_use_numba_and_only_the_command_prints():
    for path in (ROOT / "src" / "dgtrees").rglob("*.py"):
        text = path.read_text()
        own = path.name.startswith("_") and not path.name.startswith("__")
        if not own and (path.parent.name != "tree" or path.name not in COMPILED):
            assert "import numba" not in text, path
            assert "from numba" not in text, path
        if path.parent.name != "cli":
            code = [line for line in text.splitlines() if ">>>" not in line]
            assert not any(line.lstrip().startswith("print(") for line in code), path


def test_the_package_never_imports_its_benchmarks():
    for path in (ROOT / "src" / "dgtrees").rglob("*.py"):
        text = path.read_text()
        assert "import benchmarks" not in text, path
        assert "from benchmarks" not in text, path
