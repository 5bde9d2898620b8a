"""Do Python, the loaded file, ONNX and C send every row to the same leaf? `make agreement`.

For every model 100,000 random rows (the trained ones': rows of their table with noise) and 10,000
boundary rows: a margin of at most 1e-6 at a node that the row passes, most of them far less. The
last columns show what one matrix product, which adds in an order of its own, would have done.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from tests.exported import COMPILER, STRICT, CModel, OnnxModel, boundary_rows, random_tree

import dgtrees
from dgtrees import DGTClassifier, DGTRegressor, ObliqueForest, ObliqueTree
from dgtrees.model import file as model_file
from dgtrees.paper import catalog

RANDOM, TRAINED = (16, 54, 90, 784), ("pendigits", "covtype", "mnist", "ailerons")
NATIVE = ("-O3", "-march=native")


def trained(name: str, rng: np.random.Generator, rows: int) -> tuple:
    """A quickly trained model of height 8, and noisy rows of its table."""
    parts = catalog.load(name, 0, catalog.data_folder())
    X, y = np.asarray(parts.X_train, dtype=np.float64)[:20_000], parts.y_train[:20_000]
    kind = DGTRegressor if parts.y_train.dtype.kind == "f" else DGTClassifier
    model = kind(8, max_epochs=3, random_state=0).fit(X, y)
    noise = 0.1 * X.std(axis=0) * rng.normal(size=(rows, X.shape[1]))
    return model, X[rng.integers(0, len(X), rows)] + noise


def reloaded(model, folder: Path):
    """The model after a way through a file."""
    path = folder / "model.dgt"
    if isinstance(model, ObliqueTree):
        model_file.write(path, {"kind": "ObliqueTree"}, model_file.tree_arrays(model))
        return model_file.tree_from(model_file.read(path)[1])
    model.save(path)
    return dgtrees.load(path)


def by_matrix_product(tree: ObliqueTree, X: np.ndarray) -> tuple[int, float]:
    """Rows that one matrix product sends elsewhere, and the largest margin that it got wrong."""
    leaves, wrong, largest = tree.apply(X), 0, 0.0
    for start in range(0, len(X), 10_000):
        part = X[start : start + 10_000]
        margins = part @ tree.weights.T + tree.bias
        passed = tree.decision_path(part)[:, : tree.n_nodes].toarray() > 0
        # The side that the row really takes at every node it passes, from the next step's node.
        right = np.zeros_like(passed)
        for node in range(tree.n_nodes):
            child = int(tree.right[node])
            into = leaves[start : start + 10_000] == ~child if child < 0 else passed[:, child]
            right[:, node] = passed[:, node] & into
        other = passed & ((margins >= 0) != right)
        wrong += int(other.any(axis=1).sum())
        largest = max(largest, float(np.abs(margins[other]).max(initial=0.0)))
    return wrong, largest


class Exports:
    """A model in all its forms."""

    def __init__(self, model, folder: Path) -> None:
        self.model, self.forms = model, {}
        if not isinstance(model, ObliqueForest):
            self.forms["file"] = reloaded(model, folder)
        self.forms["onnx"] = OnnxModel(model)
        for name, flags in {"c": STRICT, "c native": NATIVE}.items():
            place = folder / name.replace(" ", "_")
            place.mkdir()
            self.forms[name] = CModel(model, place, flags)

    def differences(self, X: np.ndarray) -> dict[str, int]:
        """Rows whose leaf differs from Python's by form, and rows whose values do in any."""
        leaves, values = self.model.apply(X), _values(self.model, X)
        found, other = {}, np.zeros(len(X), dtype=bool)
        for name, form in self.forms.items():
            found[name] = int((form.apply(X) != leaves).reshape(len(X), -1).any(axis=1).sum())
            other |= (_values(form, X) != values).any(axis=1)
        return found | {"values": int(other.sum())}


def _values(model, X: np.ndarray) -> np.ndarray:
    """Probabilities or values, (rows, outputs)."""
    if isinstance(model, OnnxModel):
        name = next(name for name in model.names if name in ("probabilities", "variable"))
        return model.output(name, X)
    answer = model.predict_proba if hasattr(model, "predict_proba") else model.predict
    return answer(X).reshape(len(X), -1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--boundary", type=int, default=10_000)
    options = parser.parse_args()
    if COMPILER is None:
        print("there is no C compiler: install one", file=sys.stderr)
        return 2
    forms = ("file", "onnx", "c", "c native", "values")
    table = Table("model", "leaves", "rows", *forms, "product", "margin")
    failed = 0
    present = [name for name in TRAINED if catalog.status(name, catalog.data_folder()).present]
    jobs = [("random", d) for d in RANDOM] + [("trained", name) for name in present]
    for kind, what in track([*jobs, ("forest", 54)], console=Console(stderr=True)):
        rng = np.random.default_rng(0)
        if kind == "trained":
            model, X = trained(what, rng, options.rows)
            tree = model.tree_
        else:
            X = rng.normal(size=(options.rows, what))
            model = tree = random_tree(rng, what, 8)
            if kind == "forest":
                model = ObliqueForest([tree, *(random_tree(rng, what, 8) for _ in range(9))])
        near = boundary_rows(tree, X, options.boundary, rng)
        with tempfile.TemporaryDirectory() as folder:
            exports = Exports(model, Path(folder))
            for label, rows in (("random", X), ("boundary", near)):
                found = exports.differences(rows)
                wrong, largest = by_matrix_product(tree, rows)
                failed += sum(found.values())
                table.add_row(
                    f"{kind}, {what}" + (" columns" if kind != "trained" else ""),
                    f"{getattr(model, 'tree_', model).n_leaves:,}",
                    f"{len(rows):,} {label}",
                    *(f"{found[form]:,}" if form in found else "-" for form in forms),
                    f"{wrong:,}",
                    f"{largest:.0e}" if wrong else "",
                )
    console = Console(width=110)
    console.print(
        "Rows whose leaf (file, onnx, c) or values are not Python's; rows that one matrix"
    )
    console.print("product sends elsewhere, and the largest margin that it gets wrong")
    console.print(table)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
