"""Models as ONNX graphs."""

import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dgtrees import (
    DGTBandit,
    DGTClassifier,
    DGTContinuousBandit,
    DGTRegressor,
    ObliqueForest,
    ObliqueTree,
    export_onnx,
)
from dgtrees.errors import StateError
from dgtrees.model.answer import Classes
from dgtrees.paper.baselines import TELClassifier
from exported import OnnxModel, boundary_rows, random_tree

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime", reason="onnxruntime runs the exported graphs")


def rows(count=400, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(count, d))


def quick(kind, X, y, **options):
    return kind(3, max_epochs=2, random_state=0, **options).fit(X, y)


def test_graphs_are_valid_and_old_enough_for_common_runtimes(tmp_path):
    forest = ObliqueForest([random_tree(np.random.default_rng(k), 9, 3, 2, True) for k in range(3)])
    proto = export_onnx(forest, tmp_path / "forest.onnx")
    onnx.checker.check_model(proto, full_check=True)
    assert onnx.load(tmp_path / "forest.onnx") == proto
    assert {(opset.domain, opset.version) for opset in proto.opset_import} == {
        ("", 18),
        ("ai.onnx.ml", 3),
    }
    assert proto.ir_version == 8


def test_a_tree_is_a_gemm_and_a_tree_ensemble():
    proto = export_onnx(random_tree(np.random.default_rng(0), 5, 3))
    operators = [node.op_type for node in proto.graph.node]
    assert operators.count("Gemm") == operators.count("TreeEnsembleRegressor") == 1


@pytest.mark.parametrize(
    "classes",
    [["no", "yes"], [3, 7], [1.0, 2.0], [False, True], [2**63, 2**64 - 1]],
    ids=["text", "whole", "floats", "truth", "beyond 63 bits"],
)
def test_labels_keep_their_type(classes):
    X = rows()
    model = quick(DGTClassifier, X, np.array(classes)[(X[:, 0] > 0).astype(int)])
    answers = OnnxModel(model).run(X)
    assert np.array_equal(answers["label"], model.predict(X))
    assert answers["label"].dtype.kind == np.array(classes).dtype.kind.replace("U", "O")


def test_labels_of_several_types_are_refused_and_c_is_offered():
    X = rows()
    model = quick(DGTClassifier, X, (X[:, 0] > 0).astype(int))
    model = replace(model.model_, answer=Classes(np.array([1, "one"], dtype=object)))
    with pytest.raises(ValueError, match=r"all text or all numbers.*export C"):
        export_onnx(model)


def test_several_outputs_and_numbers_in_float32():
    X = rows().astype(np.float32)
    X[::5, 1] = np.nan
    model = quick(DGTRegressor, X, np.nan_to_num(X[:, :2]))
    answers = OnnxModel(model, dtype="float").run(X)
    assert np.array_equal(answers["variable"], model.predict(X))
    assert np.array_equal(answers["leaf"], model.apply(X))
    assert np.array_equal(model.predict(X), model.predict(X.astype(np.float64)))


def test_a_column_called_like_an_output_keeps_its_name():
    X = pd.DataFrame({"label": np.tile(["a", "b"], 50), "leaf": np.arange(100.0) / 2})
    model = quick(DGTClassifier, X, np.arange(100) > 40)
    graph = OnnxModel(model)
    assert graph.names == ["label_", "probabilities", "leaf_"]
    assert np.array_equal(graph.run(X)["leaf_"], model.apply(X))


def test_columns_may_be_called_like_the_graphs_own_values_but_not_alike():
    X = pd.DataFrame({"dgt_1": np.tile(["a", "b"], 50), "dgt_4": np.arange(100.0) / 2})
    model = quick(DGTClassifier, X, np.arange(100) > 40)
    assert np.array_equal(OnnxModel(model).run(X)["leaf"], model.apply(X))
    columns = model._encoder.columns
    model._encoder.columns = [columns[0], replace(columns[1], name="dgt_1")]
    with pytest.raises(ValueError, match=r"different names.*export C"):
        export_onnx(model)


def test_greedy_answers_of_policies():
    X = rows()
    policy = DGTBandit(3, 3, "constant", random_state=0)
    price = DGTContinuousBandit(0.0, 1.0, 2, "linear", random_state=0)
    for x in X:
        decision = policy.decide(x)
        policy.learn(x, decision, float(decision.action != 1 + (x[0] > 0)))
        offer = price.decide(x)
        price.learn(x, offer, (offer.action - x[0]) ** 2)
    answers = OnnxModel(policy).run(X)
    assert np.array_equal(answers["label"], policy.predict(X))
    assert np.array_equal(answers["scores"], policy.tree_.predict(X))
    far = 50 * X  # where linear leaves leave the range of actions
    priced = OnnxModel(price).run(far)["variable"][:, 0]
    unbounded = price.tree_.predict(far)[:, 0]
    assert np.array_equal(priced, np.clip(unbounded, 0.0, 1.0))
    assert unbounded.max() > 1.0 and unbounded.min() < 0.0


def test_ties_that_every_order_of_adding_finds_go_right():
    tree = ObliqueTree.complete(np.ones((1, 12)), [-3.0], [[0.0], [1.0]])
    X = np.zeros((3, 12))
    X[0, [0, 5, 11]] = 1.0
    X[1, [1, 9]] = 1.0
    X[2, 8] = 3.0
    assert OnnxModel(tree).run(X)["leaf"].tolist() == [1, 0, 1] == tree.apply(X).tolist()


@pytest.mark.parametrize("case", ["huge rows", "NaN", "tiny weights", "huge weights", "dead nodes"])
def test_numbers_at_the_ends_of_the_scale(case):
    rng = np.random.default_rng(3)
    X, tree = rows(500, 11), random_tree(rng, 11, 4)
    scale = {"tiny weights": 1e-310, "huge weights": 1e300}.get(case, 1.0)
    weights, bias = tree.weights * scale, tree.bias * scale
    if case == "dead nodes":
        weights[::2], bias[::2] = 0.0, 0.0
    if case == "huge rows":
        X[::2] *= 1e307
    if case == "NaN":
        X[::3, 4] = np.nan
    tree = ObliqueTree.complete(weights, bias, tree.leaf_values)
    assert np.array_equal(OnnxModel(tree).apply(X), tree.apply(X))


def test_forests_of_probabilities_differ_by_rounding_at_most():
    rng = np.random.default_rng(0)
    trees = [random_tree(rng, 6, 3, 3, linear=True) for _ in range(5)]
    forest = ObliqueForest(trees, "softmax")
    X = np.concatenate([rows(300, 6), boundary_rows(trees[2], rows(300, 6), 100, rng)])
    answers = OnnxModel(forest).run(X)
    assert np.array_equal(answers["leaf"], forest.apply(X))
    assert np.abs(answers["variable"] - forest.predict(X)).max() <= 1e-15


def test_no_rows_give_no_answers():
    answers = OnnxModel(random_tree(np.random.default_rng(0), 9, 2)).run(np.empty((0, 9)))
    assert answers["leaf"].shape == (0,) and answers["variable"].shape == (0, 2)


def test_what_cannot_be_exported_says_so():
    with pytest.raises(StateError, match=r"DGTClassifier has learnt nothing yet.*call fit"):
        export_onnx(DGTClassifier())
    with pytest.raises(StateError):
        export_onnx(DGTBandit(2, 2, "constant"))
    for other in ({}, TELClassifier()):
        with pytest.raises(TypeError, match=rf"tree of dgtrees, got {type(other).__name__}"):
            export_onnx(other)
    with pytest.raises(ValueError, match="dtype must be one of double, float, got 'half'"):
        export_onnx(random_tree(np.random.default_rng(0), 2, 1), dtype="half")


def test_limits_of_the_format_are_told(monkeypatch):
    tree = random_tree(np.random.default_rng(0), 4, 3)
    monkeypatch.setattr("dgtrees.model.onnx_routing._MOST_LEAVES", 7)
    with pytest.raises(ValueError, match="up to 7 leaves, got 8: prune it, or export C"):
        export_onnx(tree)
    monkeypatch.setattr("dgtrees.model.onnx._LARGEST", 100)
    with pytest.raises(ValueError, match="can hold 2 GiB, this ObliqueTree needs"):
        export_onnx(tree)


def test_without_onnx_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'dgtrees\[onnx\]'"):
        export_onnx(random_tree(np.random.default_rng(0), 2, 1))
