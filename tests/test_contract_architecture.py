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


def test_a_bandit_leaves_torch_and_scikit_learn_alone(tmp_path):
    code = f"""
import sys, dgtrees
from dgtrees.bandit import simulate
policy = dgtrees.DGTBandit(2, 2, random_state=0)
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


COMPILED = ("compiled.py", "dot.py", "gradient.py", "vectors.py")


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
