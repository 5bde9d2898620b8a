"""The models that prediction is timed with, as functions of one row and of many.

Ours, its exports and NumPy share one random model of height 8: normal weights and rows spread over
all leaves, so that every decision is as hard to guess as can be. The others are trained to depth 8
on a smooth function of the same rows. All predict one number a row. Rivals get float32 rows, which
scikit-learn's trees and XGBoost compute with; ours, C and ONNX get float64 unless said otherwise.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import lightgbm
import numpy as np
import onnxruntime
import xgboost
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor
from tests import reference
from tests.exported import COMPILER, CModel, OnnxModel

from dgtrees import DGTRegressor
from dgtrees.tree import ObliqueForest, ObliqueTree

__all__ = ["HEIGHT", "OURS", "ROWS", "Task"]

HEIGHT, ROWS = 8, 10_000
OURS = "dgtrees"
FLAGS = ("-std=c99", "-O3", "-march=native", "-ffp-contract=off")
LARGEST_C = 2_000_000
"""Numbers from which on a C source takes minutes to compile."""

ONNX_ROWS = 1_000
"""Rows that ONNX is given at once: faster than all 10,000, whose products take gigabytes."""

Predict = Callable[[np.ndarray], object]


class Task:
    """All models for d features and a number of trees."""

    def __init__(self, d: int, n_trees: int, folder: Path) -> None:
        rng = np.random.default_rng(d + n_trees)
        self.d, self.n_trees = d, n_trees
        trees = [_random_tree(rng, d) for _ in range(n_trees)]
        self.model = trees[0] if n_trees == 1 else ObliqueForest(trees)
        self.trees = trees
        self.X = rng.normal(size=(ROWS, d))
        self.narrow = self.X.astype(np.float32)
        self.y = np.tanh(self.X @ rng.normal(size=(d, 4)) / np.sqrt(d)).sum(axis=1)
        self.c = CModel(self.model, folder, FLAGS) if self._compiles() else None
        self.onnx = OnnxModel(self.model)
        self.rivals = self._trained()
        self._check()

    def _compiles(self) -> bool:
        numbers = sum(tree.weights.size for tree in self.trees)
        return COMPILER is not None and numbers < LARGEST_C

    def _trained(self) -> dict[str, Predict]:
        """Predictions of float32 rows on one thread."""
        rows, y, count = self.narrow[:4_000], self.y[:4_000], self.n_trees
        options = {"n_estimators": count, "max_depth": HEIGHT, "n_jobs": 1}
        if count == 1:
            peer = "scikit-learn tree"
            self.sklearn = DecisionTreeRegressor(max_depth=HEIGHT, random_state=0).fit(rows, y)
        else:
            peer = "scikit-learn forest"
            self.sklearn = RandomForestRegressor(
                **options, max_features="sqrt", random_state=0
            ).fit(rows, y)
        self.xgboost = xgboost.XGBRegressor(**options).fit(rows, y).get_booster()
        leaves = {"num_leaves": 2**HEIGHT, "min_child_samples": 5, "verbose": -1}
        self.lightgbm = lightgbm.LGBMRegressor(**options, **leaves).fit(rows, y).booster_
        return {
            peer: self.sklearn.predict,
            "XGBoost": self.xgboost.inplace_predict,
            "LightGBM": lambda X: self.lightgbm.predict(X, num_threads=1),
        }

    def _check(self) -> None:
        """The same model has to give the same answers, from rows that reach most leaves."""
        expected = self.model.predict(self.X)
        for form in filter(None, (self.c, self.onnx)):
            leaves = self.model.apply(self.X[:500])
            assert np.array_equal(form.apply(self.X[:500]), leaves), form
        reached = [len(np.unique(tree.apply(self.X))) for tree in self.trees]
        assert min(reached) > 0.9 * 2**HEIGHT, reached
        alone = np.array([self.model.predict_row(x) for x in self.X[:500]])
        assert np.array_equal(alone, expected[:500])

    def single(self) -> dict[str, Callable[[], object]]:
        """Predictions of one row from Python, each given it as it likes it."""
        x, row, narrow = self.X[7].copy(), self.X[7:8].copy(), self.narrow[7:8].copy()
        works: dict[str, Callable[[], object]] = {OURS: lambda: self.model.predict_row(x)}
        if self.n_trees == 1:
            estimator = DGTRegressor(HEIGHT, max_epochs=1, random_state=0)
            estimator.fit(self.X[:500], self.y[:500])
            # Timed by the same tree as the others.
            estimator.model_ = estimator._finished((self.model,))
            works["dgtrees, estimator"] = lambda: estimator.predict_row(x)
        works["dgtrees, batch of 1"] = lambda: self.model.predict(row)
        for name, predict in self.rivals.items():
            works[name] = lambda predict=predict: predict(narrow)
        works["onnxruntime"] = lambda: self.onnx.session.run(["variable"], {"X": row})
        if self.c:
            alone, one = self.c.library.m_predict, (_pointer(x), _pointer(np.empty(1)))
            works["exported C, by ctypes"] = lambda: alone(*one)
        return works

    def batch(self) -> dict[str, Callable[[], object]]:
        """Predictions of all rows on one thread."""
        X, narrow = self.X, self.narrow
        works: dict[str, Callable[[], object]] = {
            OURS: lambda: self.model.predict(X, n_threads=1),
            "dgtrees, float32": lambda: self.model.predict(narrow, n_threads=1),
        }
        for name, predict in self.rivals.items():
            works[name] = lambda predict=predict: predict(narrow)
        works["onnxruntime"] = self._by_onnx(self.onnx.session)
        if self.c:
            many = self.c.library.m_predict_rows
            places = _pointer(X), ctypes.c_size_t(ROWS), _pointer(np.empty(ROWS))
            works["exported C"] = lambda: many(*places)
        if self.n_trees == 1:
            tree = self.trees[0]
            works["NumPy, all nodes"] = lambda: tree.leaf_values[
                reference.route_all_nodes(X, tree.weights, tree.bias)
            ]
        return works

    def batch_on_all(self, threads: int) -> dict[str, Callable[[], object]]:
        """Predictions of all rows on all threads, of those that know how to."""
        self.xgboost.set_param({"nthread": threads})
        works = {
            OURS: lambda: self.model.predict(self.X, n_threads=threads),
            "XGBoost": lambda: self.xgboost.inplace_predict(self.narrow),
            "LightGBM": lambda: self.lightgbm.predict(self.narrow, num_threads=threads),
            "onnxruntime": self._onnx_on(threads),
        }
        if self.n_trees == 1:
            tree = self.trees[0]
            works["NumPy, all nodes"] = lambda: tree.leaf_values[
                reference.route_all_nodes(self.X, tree.weights, tree.bias)
            ]
        else:
            self.sklearn.set_params(n_jobs=threads)
            works["scikit-learn forest"] = lambda: self.sklearn.predict(self.narrow)
        return works

    def _onnx_on(self, threads: int) -> Callable[[], object]:
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = threads
        model = self.onnx.proto.SerializeToString()
        return self._by_onnx(onnxruntime.InferenceSession(model, settings))

    def _by_onnx(self, session: onnxruntime.InferenceSession) -> Callable[[], object]:
        parts = [self.X[start : start + ONNX_ROWS] for start in range(0, ROWS, ONNX_ROWS)]

        def predict() -> None:
            for part in parts:
                session.run(["variable"], {"X": part})

        return predict


def _random_tree(rng: np.random.Generator, d: int) -> ObliqueTree:
    nodes = 2**HEIGHT - 1
    bias = 0.1 * np.sqrt(d) * rng.normal(size=nodes)
    return ObliqueTree.complete(rng.normal(size=(nodes, d)), bias, rng.normal(size=(nodes + 1, 1)))


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    pointer = ctypes.c_void_p(array.ctypes.data)
    pointer.array = array  # keeps it alive
    return pointer
