"""Sums of trees of which some have linear leaves: one answer everywhere."""

import numpy as np
import pytest

import reference
from dgtrees.errors import ModelFileError
from dgtrees.model.file import forest_arrays, forest_from
from dgtrees.tree import ObliqueForest
from exported import COMPILER, CModel, OnnxModel, random_tree

RNG = np.random.default_rng(4)
X = RNG.normal(size=(5000, 10))
KINDS = {"some": (True, False, True, False), "all": (True,) * 3, "last": (False, False, True)}


def forest_of(linear, outputs=3, **given):
    trees = [random_tree(RNG, 10, 2 + k % 3, outputs, on) for k, on in enumerate(linear)]
    return ObliqueForest(trees, "sum", **given)


@pytest.mark.parametrize("linear", KINDS.values(), ids=KINDS)
def test_sums_are_those_of_the_trees_in_order(linear):
    base = random_tree(RNG, 10, 0, 3, True)
    forest = forest_of(linear, bounds=([-2.0] * 3, [2.0] * 3), base=base)
    total = np.zeros((len(X), 3))
    for tree in forest.trees:
        total += tree.predict(X)
    total += base.predict(X)
    found = forest.predict(X)
    assert np.array_equal(found, np.clip(total, -2.0, 2.0))
    assert np.array_equal(forest.predict(X, n_threads=3), found)
    assert np.array_equal([forest.predict_row(x) for x in X[:50]], found[:50])
    assert forest.linear and np.array_equal(forest.apply(X)[0], forest.apply_row(X[0]))


def test_sums_are_what_a_slow_pass_says():
    forest = forest_of(KINDS["some"])
    for row in X[:30]:
        total = np.zeros(3)
        for tree in forest.trees:
            leaf = reference.route_slowly(row, tree)
            slopes = tree.leaf_weights
            for k in range(3):
                slope = 0.0 if slopes is None else reference.fixed_order_dot(slopes[leaf, k], row)
                total[k] += tree.leaf_values[leaf, k] + slope
        assert forest.predict_row(row).tolist() == total.tolist()


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
@pytest.mark.parametrize("linear", KINDS.values(), ids=KINDS)
def test_onnx_and_c_answer_the_same(linear, tmp_path):
    base = random_tree(RNG, 10, 0, 3, True)
    forest = forest_of(linear, bounds=([-2.0] * 3, [2.0] * 3), base=base)
    assert np.array_equal(CModel(forest, tmp_path).predict(X), forest.predict(X))
    graph = OnnxModel(forest).run(X)
    assert np.array_equal(graph["variable"], forest.predict(X))
    assert np.array_equal(graph["leaf"], forest.apply(X))


@pytest.mark.parametrize("linear", KINDS.values(), ids=KINDS)
def test_files_hold_slopes_of_linear_trees_only(linear):
    forest = forest_of(linear)
    arrays = forest_arrays(forest.trees)
    leaves = sum(tree.n_leaves for tree in forest.trees if tree.linear)
    assert arrays["forest.leaf_weights"].shape == (leaves, 3, 10)
    assert ("forest.linear" in arrays) == (not all(linear))
    again = ObliqueForest(forest_from(arrays), "sum")
    assert np.array_equal(again.predict(X), forest.predict(X))


def test_damaged_files_are_refused():
    arrays = forest_arrays(forest_of(KINDS["some"]).trees)
    wrong = {
        "0 or 1 for every tree": np.array([1, 0, 2, 0], dtype=np.int32),
        "0 or 1": np.array([1, 0], dtype=np.int32),
        "rows where": np.array([1, 1, 1, 0], dtype=np.int32),
    }
    for said, linear in wrong.items():
        with pytest.raises(ModelFileError, match=said):
            forest_from(arrays | {"forest.linear": linear})
    del arrays["forest.leaf_weights"]
    with pytest.raises(ModelFileError, match=r"there is no forest\.leaf_weights"):
        forest_from(arrays)
