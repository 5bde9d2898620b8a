"""One model, one answer: Python, the loaded file, ONNX and C send every row to the same leaf."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier

import dgtrees
from dgtrees import (
    DGTClassifier,
    DGTForestClassifier,
    DGTForestRegressor,
    DGTRegressor,
    ObliqueForest,
)
from exported import COMPILER, CModel, OnnxModel, boundary_rows, random_tree

pytest.importorskip("onnxruntime", reason="onnxruntime runs the exported graphs")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")


def matrix_leaves(tree, X):
    """Leaves by one matrix product, which adds in an order of its own."""
    right = X @ tree.weights.T + tree.bias >= 0
    node = np.zeros(len(X), dtype=int)
    for _ in range(tree.depth):
        inside = np.maximum(node, 0)
        child = np.where(right[np.arange(len(X)), inside], tree.right[inside], tree.left[inside])
        node = np.where(node < 0, node, child)
    return ~node


@pytest.mark.parametrize(("d", "height"), [(16, 6), (54, 5), (90, 4), (200, 3)])
def test_random_and_boundary_rows_reach_the_same_leaf(d, height, tmp_path):
    rng = np.random.default_rng(d)
    tree = random_tree(rng, d, height)
    X = rng.normal(size=(5000, d))
    rows = np.concatenate([X, boundary_rows(tree, X, 1000, rng)])
    leaves = tree.apply(rows)
    assert np.array_equal(CModel(tree, tmp_path).apply(rows), leaves)
    assert np.array_equal(OnnxModel(tree).apply(rows), leaves)
    # Rows on which it matters how sums are added are among them.
    assert (matrix_leaves(tree, rows) != leaves).any()


@settings(max_examples=25)
@given(st.data())
def test_trees_of_any_shape_agree_in_leaves_and_values(tmp_path_factory, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1), label="seed"))
    d = data.draw(st.integers(1, 20), label="features")
    look = {
        "outputs": data.draw(st.integers(1, 3), label="outputs"),
        "linear": data.draw(st.booleans(), label="linear leaves"),
        "whole": data.draw(st.booleans(), label="small whole numbers, with exact ties"),
    }
    heights = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=3), label="heights")
    trees = [random_tree(rng, d, height, **look) for height in heights]
    # At random some leaves are dropped, down to trees of a single leaf.
    trees = [tree.keep_leaves(_some(rng, tree.n_leaves)) for tree in trees]
    model = trees[0]
    if len(trees) > 1:
        model = ObliqueForest(trees, data.draw(st.sampled_from(["mean", "vote"])))
    X = np.round(rng.normal(size=(200, d)), 0 if look["whole"] else 6)
    rows = np.concatenate([X, boundary_rows(trees[0], X, 50, rng)])
    leaves, values = model.apply(rows), model.predict(rows)
    compiled = CModel(model, tmp_path_factory.mktemp("c"))
    assert np.array_equal(compiled.apply(rows), leaves)
    assert np.array_equal(compiled.predict(rows), values)
    answers = OnnxModel(model).run(rows)
    assert np.array_equal(answers["leaf"], leaves)
    assert np.array_equal(answers["variable"], values)


def _some(rng, leaves):
    keep = rng.random(leaves) < rng.choice([0.1, 0.5, 1.0])
    keep[rng.integers(leaves)] = True
    return keep


KINDS = {
    "classifier": DGTClassifier(4),
    "regressor": DGTRegressor(4),
    "soft voting": DGTForestClassifier(3, 3),
    "hard voting": DGTForestClassifier(4, 3, voting="hard"),
    "forest of values": DGTForestRegressor(3, 3),
    "chosen voting": DGTForestClassifier(3),
    "chosen values": DGTForestRegressor(3),
}


@pytest.mark.parametrize("leaf", ["constant", "linear"])
@pytest.mark.parametrize("kind", KINDS)
def test_estimators_agree_with_their_file_and_exports(kind, leaf, tmp_path):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(1500, 9))
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, 8] = rng.normal(size=1500)  # one column without gaps
    y = np.nan_to_num(X[:, 0]) + X[:, 8] ** 2
    epochs = None if kind.startswith("chosen") else 3
    model = clone(KINDS[kind]).set_params(leaf=leaf, max_epochs=epochs, random_state=0)
    model.fit(X, np.digitize(y, [0.0, 1.0]) if is_classifier(model) else y)
    model.save(tmp_path / "model.dgt")
    loaded = dgtrees.load(tmp_path / "model.dgt")
    compiled, graph = CModel(model, tmp_path), OnnxModel(model)
    leaves = model.apply(X)
    assert np.array_equal(loaded.apply(X), leaves)
    assert np.array_equal(compiled.apply(X), leaves)
    answers = graph.run(X)
    assert np.array_equal(answers["leaf"], leaves)
    if not is_classifier(model):
        values = model.predict(X)[:, None]
        assert np.array_equal(compiled.predict(X), values)
        assert np.array_equal(answers["variable"], values)
        return
    assert np.array_equal(answers["label"], model.predict(X))
    assert np.array_equal(model.classes_[compiled.label(X)], model.predict(X))
    shares = model.predict_proba(X)
    # Everybody has an exp of their own, which linear leaves and powers call for every row.
    tolerance = 1e-15 if leaf == "linear" and kind != "hard voting" else 0.0
    if kind == "chosen voting":
        assert model.model_.answer.exponent != 1.0
        tolerance = 1e-14
    assert np.abs(compiled.predict(X) - shares).max() <= tolerance
    assert np.abs(answers["probabilities"] - shares).max() <= tolerance


def test_a_table_with_categories_agrees_in_onnx():
    frame = table(np.random.default_rng(1), 600)
    y = np.where(frame["income"] + 20 * (frame["city"] == "Oslo") > 30, "rich", "poor")
    model = DGTClassifier(3, max_epochs=3, random_state=0).fit(frame, y)
    new = table(np.random.default_rng(2), 300)
    new.loc[::9, "city"] = "Atlantis"
    answers = OnnxModel(model).run(new)
    assert np.array_equal(answers["leaf"], model.apply(new))
    assert np.array_equal(answers["label"], model.predict(new))
    assert np.array_equal(answers["probabilities"], model.predict_proba(new))


def table(rng, rows):
    city = rng.choice(["Oslo", "Rome", "São Paulo", None], rows)
    income = np.where(rng.random(rows) < 0.1, np.nan, rng.normal(30, 10, rows))
    return pd.DataFrame({"income": income, "city": city, "age": rng.normal(50, 9, rows)})
