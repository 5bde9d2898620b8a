"""What is tried in a clean environment: the package alone, and each extra.

Every probe of an extra runs twice, in the installation without extras, where it must end with an
error that names the extra, and in the one with it, where it must end well.
"""

ALONE = """
import pathlib, subprocess, sys
import numpy as np
from importlib.metadata import version
import dgtrees
from dgtrees import DGTBandit, DGTClassifier, DGTForestRegressor, export_c, explain, load

assert dgtrees.__version__ == version("dgtrees"), (dgtrees.__version__, version("dgtrees"))
assert (pathlib.Path(dgtrees.__file__).parent / "py.typed").exists()
random = np.random.default_rng(0)
X = random.normal(size=(300, 4))
y = (X[:, 0] + X[:, 1] > 0).astype(int)
tree = DGTClassifier(random_state=0).fit(X[:200], y[:200])
assert tree.score(X[200:], y[200:]) > 0.85
tree.save("tree.dgt")
assert (load("tree.dgt").predict(X) == tree.predict(X)).all()
assert str(explain(tree, X[0])).startswith("prediction: ") and export_c(tree)
DGTForestRegressor(max_depth=3, n_estimators=3, random_state=0).fit(X, X[:, 0]).predict(X)
policy = DGTBandit(actions=["a", "b"], random_state=0)
for row in X[:50]:
    decision = policy.decide(row)
    policy.learn(row, decision, reward=float(decision.action == "a"))
assert "torch" not in sys.modules and "matplotlib" not in sys.modules

np.savetxt("t.csv", np.column_stack([X, y]), delimiter=",", header="a,b,c,d,y", comments="")
dgt = str(pathlib.Path(sys.executable).parent / "dgt")
for line in ("--version", "fit t.csv --target y -o m.dgt", "predict m.dgt t.csv -o p.csv",
             "evaluate m.dgt t.csv --target y", "show m.dgt", "data list", "warmup --help"):
    subprocess.run([dgt, *line.split()], check=True, stdout=subprocess.DEVNULL)
"""

_DATA = """
import numpy as np
X = np.random.default_rng(0).normal(size=(300, 4))
y = (X[:, 0] + X[:, 1] > 0).astype(int)
"""
_TREE = f"""{_DATA}
from dgtrees import DGTClassifier
tree = DGTClassifier(max_depth=2, max_epochs=5, random_state=0).fit(X, y)
"""
_COMMAND = f"""{_DATA}
import pathlib, subprocess, sys
np.savetxt("t.csv", np.column_stack([X, y]), delimiter=",", header="a,b,c,d,y", comments="")
def dgt(line):
    command = [str(pathlib.Path(sys.executable).parent / "dgt"), *line.split()]
    done = subprocess.run(command, text=True, capture_output=True)
    if done.returncode:
        raise ImportError(done.stderr)
"""

EXTRAS = {
    "plot": f"""{_TREE}
from dgtrees import plot_tree
plot_tree(tree).figure.savefig("tree.png")
""",
    "torch": """
from dgtrees.nn import TrainableTree
import torch
layer = TrainableTree(4, 2, max_depth=2)
layer(torch.zeros(3, 4)).sum().backward()
""",
    "chem": """
from dgtrees.paper.molecules import morgan_bits
assert morgan_bits(["CCO", "c1ccccc1"]).shape == (2, 2048)
""",
    "tune": f"""{_COMMAND}
dgt("tune t.csv --target y --trials 2 --max-epochs 5 -o tuned.dgt")
""",
    "vw": """
from dgtrees.paper.baselines import VWBandit
policy = VWBandit(2)
decision = policy.decide([1.0, 2.0])
policy.learn([1.0, 2.0], decision, 0.0)
""",
    "ray": f"""{_COMMAND}
dgt("fit t.csv --target y --trees 2 --backend ray --no-judge -o m.dgt")
""",
    "dask": f"""{_COMMAND}
dgt("fit t.csv --target y --trees 2 --backend dask --no-judge -o m.dgt")
""",
    "onnx": f"""{_TREE}
from dgtrees import export_onnx
export_onnx(tree, "tree.onnx")
""",
    "bench": "import lightgbm, onnxruntime, xgboost",
}
"""Programs by extra. `bench` has what benchmarks compare with, so no message names it."""
