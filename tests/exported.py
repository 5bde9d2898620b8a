"""Exported models, run: C through the system's compiler, ONNX through onnxruntime.

And rows that are hard to agree on: on the boundary of a node that they pass.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np

from dgtrees import export_c, export_onnx
from dgtrees.tree import ObliqueForest, ObliqueTree

COMPILER = next(filter(shutil.which, ("cc", "gcc", "clang")), None)
STRICT = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O2")


class CModel:
    """A model compiled to a library in `folder`, for rows of numbers."""

    def __init__(self, model, folder, flags=STRICT):
        assert COMPILER is not None
        source = Path(folder, "exported.c")
        export_c(model, source, name="m")
        library = source.with_suffix(".so")
        compile_c(source, library, "-shared", "-fPIC", *flags)
        self.library = ctypes.CDLL(str(library))
        forest = getattr(model, "forest_", getattr(model, "tree_", model))
        self.trees = len(forest) if isinstance(forest, ObliqueForest) else 1
        self.outputs = forest.n_outputs

    def apply(self, X):
        leaves = np.empty((len(X), self.trees), dtype=np.int32)
        self._run("m_apply_rows", X, leaves)
        return leaves[:, 0] if self.trees == 1 else leaves

    def predict(self, X):
        outputs = np.empty((len(X), self.outputs))
        self._run("m_predict_rows", X, outputs)
        return outputs

    def label(self, X):
        X = np.ascontiguousarray(X, dtype=np.float64)
        return np.array([self.library.m_label(ctypes.c_void_p(x.ctypes.data)) for x in X])

    def _run(self, name, X, result):
        X = np.ascontiguousarray(X, dtype=np.float64)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (X, result)]
        getattr(self.library, name)(pointers[0], ctypes.c_size_t(len(X)), pointers[1])


def compile_c(source, target, *flags):
    """Compile with the system's compiler; its complaints are the error."""
    command = [COMPILER, *flags, str(source), "-o", str(target), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target


class OnnxModel:
    """A model in an onnxruntime session, on one thread."""

    def __init__(self, model, **options):
        import onnxruntime

        self.proto = export_onnx(model, **options)
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(self.proto.SerializeToString(), settings)
        self.names = [output.name for output in self.session.get_outputs()]

    def run(self, X):
        """Outputs by name, for an array or a frame."""
        if isinstance(X, np.ndarray):
            feed = {"X": X}
        else:
            feed = {}
            for declared in self.session.get_inputs():
                text = declared.type == "tensor(string)"
                column = X[[declared.name]]
                filled = (
                    column.astype(object).where(column.notna(), "(missing)") if text else column
                )
                feed[declared.name] = filled.to_numpy(object if text else np.float64)
        return dict(zip(self.names, self.session.run(None, feed), strict=True))

    def output(self, name, X, rows_at_once=10_000):
        parts = [X[i : i + rows_at_once] for i in range(0, len(X), rows_at_once)]
        return np.concatenate([self.run(part)[name] for part in parts])

    def apply(self, X):
        return self.output("leaf", X)


def random_tree(rng, d, height, outputs=2, linear=False, whole=False):
    """A complete tree; `whole` weights make exact ties common."""
    nodes = 2**height - 1

    def draw(*shape):
        return rng.integers(-2, 3, shape).astype(float) if whole else rng.normal(size=shape)

    return ObliqueTree.complete(
        draw(nodes, d),
        draw(nodes),
        rng.normal(size=(nodes + 1, outputs)),
        rng.normal(size=(nodes + 1, outputs, d)) if linear else None,
    )


def boundary_rows(tree, X, count, rng, within=1e-6):
    """Rows near those of X with a margin of at most `within` at a node that they pass.

    Margins are of all sizes, down to those that rounding makes, and there are exact zeros.
    """
    if not tree.n_nodes:
        return X[rng.integers(0, len(X), count)]
    found, total = [], 0
    for _ in range(200):
        rows = X[rng.integers(0, len(X), count)].astype(np.float64)
        path = tree.decision_path(rows)[:, : tree.n_nodes]
        place = path.indptr[:-1] + (rng.random(count) * np.diff(path.indptr)).astype(int)
        node = path.indices[place]
        weights = tree.weights[node]
        size = within * 10.0 ** rng.uniform(-12, 0, count) * rng.choice([-1, 0, 1], count)
        for _ in range(2):  # the second time removes what rounding left of a large margin
            margin = (rows * weights).sum(axis=1) + tree.bias[node]
            square = np.maximum((weights * weights).sum(axis=1), 1e-300)
            rows += ((size - margin) / square)[:, None] * weights
        passed = tree.decision_path(rows)[:, : tree.n_nodes].toarray() > 0
        margins = np.abs(rows @ tree.weights.T + tree.bias)
        rows = rows[(passed & (margins <= within)).any(axis=1)]
        found.append(rows)
        total += len(rows)
        if total >= count:
            return np.concatenate(found)[:count]
    raise AssertionError(f"only {total} of {count} rows found on a boundary")
