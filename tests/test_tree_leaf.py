"""Leaves: constants or linear functions, asked by name and not by their arrays."""

import numpy as np
import pytest

from dgtrees import ObliqueTree
from dgtrees.tree.leaf import CONSTANT, LINEAR, agree, kind_of, move_from, outputs_at

RNG = np.random.default_rng(3)
VALUES, SLOPES = RNG.normal(size=(4, 2)), RNG.normal(size=(4, 2, 3))
NODES = RNG.normal(size=(3, 3)), RNG.normal(size=3)
TREES = {
    CONSTANT: ObliqueTree.complete(*NODES, VALUES),
    LINEAR: ObliqueTree.complete(*NODES, VALUES, SLOPES),
}
ROWS = RNG.normal(size=(20, 3))


@pytest.mark.parametrize("kind", TREES)
def test_a_row_gets_the_output_of_its_leaf(kind):
    tree = TREES[kind]
    assert kind_of(tree) == kind and tree.linear == (kind == LINEAR)
    leaves, outputs = tree.apply(ROWS), tree.predict(ROWS)
    for row, leaf, output in zip(ROWS, leaves, outputs, strict=True):
        assert np.allclose(outputs_at(tree, row)[leaf], output)
        assert np.array_equal(tree.predict_row(row), output)
    assert outputs_at(tree, None) is tree.leaf_values


@pytest.mark.parametrize("kind", TREES)
def test_moves_from_a_reference_add_up_to_the_output(kind):
    tree, reference = TREES[kind], ROWS.mean(axis=0)
    for leaf in range(tree.n_leaves):
        start, parts = move_from(tree, leaf, reference, ROWS)
        expected = [outputs_at(tree, row)[leaf] for row in ROWS]
        assert np.allclose(start + parts.sum(axis=1), expected)


@pytest.mark.parametrize("kind", TREES)
def test_units_may_change_and_answers_do_not(kind):
    tree, center, scale = TREES[kind], np.array([1.0, 2.0, 3.0]), np.array([2.0, 0.5, 4.0])
    unscaled = tree.on_unscaled_inputs(center, scale)
    assert np.allclose(unscaled.predict(ROWS * scale + center), tree.predict(ROWS))
    other = tree.on_scaled_outputs(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    assert np.allclose(other.predict(ROWS), tree.predict(ROWS) * [3.0, 4.0] + [1.0, 2.0])


def test_leaves_agree_where_all_of_them_does():
    same = np.stack([VALUES[0]] * 4)
    assert agree(ObliqueTree.complete(*NODES, same), 0, 3)
    assert not agree(ObliqueTree.complete(*NODES, same, SLOPES), 0, 3)
    assert not agree(TREES[CONSTANT], 0, 3)
