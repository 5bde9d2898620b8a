"""TrainableTree against the dense reference: outputs, gradients, hardening."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import reference
from dgtrees.learn import TrainableTree, module
from dgtrees.learn.quantizers import QUANTIZERS

seeds = st.integers(0, 2**31 - 1)


def make(seed, **options):
    torch.manual_seed(seed)
    tree = TrainableTree(**({"in_features": 5, "out_features": 3, "max_depth": 3} | options))
    with torch.no_grad():  # biases and slopes start at zero: move them
        for parameter in tree.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return tree.double()


def gradients(tree, output, target):
    tree.zero_grad()
    torch.nn.functional.mse_loss(output, target).backward()
    return [p.grad.clone() for p in tree.parameters()]


@given(
    seed=seeds,
    height=st.integers(1, 5),
    n_layers=st.integers(1, 3),
    leaf=st.sampled_from(["constant", "linear"]),
    path=st.sampled_from(["sum", "product"]),
    scale=st.sampled_from([0.5, 1.0, 2.0]),
)
def test_output_and_every_gradient_are_the_references(seed, height, n_layers, leaf, path, scale):
    scale = 1.0 if path == "product" else scale
    tree = make(
        seed,
        max_depth=height,
        n_layers=n_layers,
        hidden=7,
        leaf=leaf,
        path=path,
        softmax_scale=scale,
    )
    x, target = torch.randn(20, 5).double(), torch.randn(20, 3).double()
    leaves = tree.leaf_values
    if leaf == "linear":
        leaves = leaves + torch.einsum("lkd,bd->blk", tree.leaf_weights, x)
    expected = reference.tree_output(tree.activations(x), leaves, scale, path)
    output = tree(x)
    torch.testing.assert_close(output, expected)
    wanted = gradients(tree, expected, target)
    for mine, other in zip(gradients(tree, output, target), wanted, strict=True):
        torch.testing.assert_close(mine, other, atol=1e-10, rtol=1e-8)


@pytest.mark.parametrize("leaf", ["constant", "linear"])
@pytest.mark.parametrize("quantizer", sorted(QUANTIZERS))
@pytest.mark.parametrize("n_layers", [1, 3])
def test_harden_predicts_as_the_layer_does(leaf, quantizer, n_layers):
    tree = make(1, n_layers=n_layers, hidden=6, quantizer=quantizer, leaf=leaf, max_depth=5).eval()
    x = torch.randn(300, 5).double()
    np.testing.assert_allclose(tree(x).detach().numpy(), tree.to_tree().predict(x.numpy()))


@pytest.mark.parametrize("n_layers", [1, 3])
def test_a_tree_of_height_0_is_its_leaf(n_layers):
    tree = TrainableTree(3, 2, 0, n_layers=n_layers)
    x = torch.randn(4, 3)
    tree(x).sum().backward()
    assert tree.leaf_values.grad.tolist() == [[4.0, 4.0]]
    assert tree.to_tree().predict(x.numpy()).shape == (4, 2)


def test_as_a_layer_it_passes_gradients_to_its_input():
    tree = TrainableTree(4, 2, 3)
    x = torch.randn(6, 4, requires_grad=True)
    tree(x).square().sum().backward()
    assert x.grad is not None and x.grad.abs().sum() > 0


@pytest.mark.parametrize("height", [2, 4, 6, 8, 10])
def test_hidden_widths_of_the_papers_table(height):
    width = {2: 240, 4: 600, 6: 1008, 8: 1530, 10: 2046}[height]
    assert module.hidden_widths(height, 3) == (width, width)
    assert module.hidden_widths(height, 1) == ()


def test_hidden_widths_between_and_beyond_the_table():
    assert module.hidden_widths(3, 3) == (600, 600)
    assert module.hidden_widths(12, 2) == (2046,)
    assert module.hidden_widths(3, 3, (5, 6)) == (5, 6)
    for wrong in ((5,), -3, 0, 2.5, (5, 0), "wide"):
        with pytest.raises(ValueError, match="n_layers - 1 = 2 of them"):
            module.hidden_widths(3, 3, wrong)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_depth": -1}, "max_depth must be at least 0, got -1"),
        ({"path": "mean"}, "path must be one of sum, product, got 'mean'"),
        ({"leaf": "tree"}, "leaf must be one of constant, linear, got 'tree'"),
        ({"quantizer": "tanh"}, "quantizer must be one of"),
        ({"n_layers": 0}, "n_layers must be at least 1, got 0"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        TrainableTree(**({"in_features": 2, "out_features": 1, "max_depth": 2} | options))
