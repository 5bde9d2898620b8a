"""export_text: rules in scikit-learn's manner."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from dgtrees import DGTClassifier, ObliqueForest, ObliqueTree, export_text
from dgtrees.errors import StateError
from exported import random_tree


@pytest.fixture(scope="module")
def iris():
    data = load_iris(as_frame=True)
    labels = data.target_names[data.target]
    return DGTClassifier(3, max_epochs=20, random_state=0).fit(data.data, labels), data.data


def test_every_leaf_is_a_line_with_its_class(iris):
    model, _ = iris
    text = export_text(model)
    lines = [line.split("--- ")[1] for line in text.splitlines() if "class: " in line]
    assert len(lines) == model.get_n_leaves()
    assert set(lines) <= {f"class: {name}" for name in model.classes_}
    assert "petal length (cm)" in text


def test_options_do_what_they_do_in_scikit_learn(iris):
    model, _ = iris
    short = export_text(model, max_depth=1, spacing=2, max_weights=1)
    assert "|  |-- truncated branch of depth" in short and "(3 more)" in short
    shown = export_text(model, show_weights=True, decimals=3, class_names=["A", "B", "C"])
    leaf = next(line for line in shown.splitlines() if "weights: " in line)
    shares = [float(x) for x in leaf.split("[")[1].split("]")[0].split(",")]
    assert sum(shares) == pytest.approx(1.0, abs=2e-3)
    assert leaf.endswith(f"class: {'ABC'[int(np.argmax(shares))]}")
    everything = export_text(model, max_weights=None, feature_names=list("abcd"))
    assert all(f" {name} " in everything.splitlines()[0] for name in "abcd")


def test_linear_leaves_show_their_functions():
    tree = ObliqueTree.complete([[1.0, 0.0]], [0.0], [[1.0], [2.0]], [[[0.5, -3.0]], [[0.0, 4.0]]])
    assert export_text(tree).splitlines() == [
        "|--- 1 x0 + 0 <  0",
        "|   |--- value: -3 x1 + 0.5 x0 + 1",
        "|--- 1 x0 + 0 >= 0",
        "|   |--- value: 4 x1 + 2",
    ]


def test_names_keep_to_their_line_and_zero_has_no_sign():
    tree = ObliqueTree.complete([[1.0, 0.0]], [-0.0], [[1.0, 0.0], [0.0, 1.0]])
    text = export_text(tree, feature_names=["a\nb", "c"], class_names=["no\r\nway", "yes"])
    assert text.splitlines()[:2] == ["|--- 1 a b + 0 <  0", "|   |--- class: no way"]


def test_forests_show_tree_after_tree():
    rng = np.random.default_rng(0)
    text = export_text(ObliqueForest([random_tree(rng, 2, 1), random_tree(rng, 2, 0)]))
    assert text.splitlines()[0] == "tree 0" and "tree 1" in text.splitlines()


def test_wrong_arguments_are_refused(iris):
    model, _ = iris
    with pytest.raises(ValueError, match="name the 4 columns, or all 4 encoded ones, got 1"):
        export_text(model, feature_names=["a"])
    with pytest.raises(ValueError, match="name the 3 outputs of the model, got 1"):
        export_text(model, class_names=["a"])
    with pytest.raises(ValueError, match="max_depth must be at least 0, got -1"):
        export_text(model, max_depth=-1)
    with pytest.raises(ValueError, match="max_weights must be at least 1, got 0"):
        export_text(model, max_weights=0)
    with pytest.raises(StateError, match="call fit"):
        export_text(DGTClassifier())
