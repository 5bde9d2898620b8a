"""The torch side of the baselines: scaling and the way back, layers and masks from our own seed."""

import numpy as np
import pytest
import torch

from dgtrees.paper.baselines import training
from dgtrees.tables.examples import Examples
from dgtrees.tree.oblique import ObliqueTree


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3)) * [1.0, 10.0, 0.0] + [5.0, 0.0, 2.0]
    y = 3.0 + 4.0 * rng.normal(size=(50, 1))
    return Examples(X, y, np.ones(50), 50)


def test_rows_are_standardised_and_constant_columns_are_0(rows):
    scaled = training.Standardiser(rows, 0).rows(rows)
    np.testing.assert_allclose(scaled.X.mean(dim=0), 0.0, atol=1e-6)
    np.testing.assert_allclose(scaled.X.std(dim=0, unbiased=False), [1.0, 1.0, 0.0], atol=1e-6)
    np.testing.assert_allclose([scaled.y.mean(), scaled.y.std(unbiased=False)], [0, 1], atol=1e-6)
    assert scaled.weight is None  # all the same


def test_an_unscaled_tree_answers_on_the_rows_themselves(rows):
    data = training.Standardiser(rows, 0)
    rng = np.random.default_rng(1)
    children = np.array([-1], dtype=np.int32), np.array([-2], dtype=np.int32)
    tree = ObliqueTree(rng.normal(size=(1, 3)), np.zeros(1), *children, np.array([[-1.0], [1.0]]))
    expected = data.y_center + data.y_scale * tree.predict(data.inputs(rows.X).astype(float))
    np.testing.assert_allclose(data.unscale(tree).predict(rows.X), expected, rtol=1e-6)


def test_layers_and_masks_are_those_of_the_generator():
    def draw():
        generator = torch.Generator().manual_seed(0)
        layer = training.make_linear(16, 3, generator)
        return layer.weight, training.draw_mask((1000, 4), 0.25, generator)

    (weight, mask), (again, same) = draw(), draw()
    assert torch.equal(weight, again) and torch.equal(mask, same)
    assert weight.abs().max() <= 0.25
    assert mask.unique().tolist() == pytest.approx([0.0, 1 / 0.75])
    assert 0.7 < (mask > 0).float().mean() < 0.8
