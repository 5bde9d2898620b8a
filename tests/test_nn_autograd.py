"""The tree's backward pass: compiled, in torch operations, and as the reference has it."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import reference_torch
from dgtrees.nn import QUANTIZERS, TrainableTree, autograd

seeds = st.integers(0, 2**31 - 1)
FORMS = ("equal", "margins", "product", "local")
PLAIN = {"n_layers": 1, "quantizer": "sign", "softmax_scale": 1.0}


def make(seed, **options):
    torch.manual_seed(seed)
    tree = TrainableTree(
        **({"in_features": 5, "out_features": 3, "max_depth": 3} | PLAIN | options)
    )
    with torch.no_grad():  # biases and slopes start at zero: move them
        for parameter in tree.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return tree.double()


def gradients(tree, output, target):
    tree.zero_grad()
    torch.nn.functional.mse_loss(output, target).backward()
    return [p.grad.clone() for p in tree.parameters()]


@pytest.mark.parametrize("form", FORMS)
@given(seed=seeds, height=st.integers(0, 6), rows=st.sampled_from([0, 1, 9, 40]))
def test_the_compiled_gradient_is_the_closed_form(form, seed, height, rows):
    rng = np.random.default_rng(seed)
    decisions = torch.tensor(rng.uniform(-1, 1, size=(rows, 2**height - 1)), dtype=torch.float32)
    if form == "equal":
        decisions = 0.7 * decisions.sign()
    scores = torch.tensor(rng.normal(size=(rows, 2**height)), dtype=torch.float32)
    slow = autograd.closed_form_gradient(decisions.double(), scores.double(), form)
    fast = autograd.decision_gradient(decisions, scores, form)
    torch.testing.assert_close(fast, slow.float(), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("quantizer", sorted(QUANTIZERS))
@pytest.mark.parametrize("leaf", ["constant", "linear"])
@pytest.mark.parametrize("path", ["sum", "product", "local"])
def test_float32_on_the_cpu_gives_what_other_devices_do(quantizer, leaf, path):
    """In float64 everything is in torch operations, as on a GPU."""
    form = "sum" if path == "local" else path
    tree = make(0, max_depth=4, leaf=leaf, path=form, quantizer=quantizer)
    tree.local = path == "local"
    x, target = torch.randn(16, 5).double(), torch.randn(16, 3).double()
    wanted_output = tree(x)
    wanted = gradients(tree, wanted_output, target)
    tree = tree.float()
    output = tree(x.float())
    torch.testing.assert_close(output, wanted_output.float(), atol=1e-4, rtol=1e-3)
    for mine, other in zip(gradients(tree, output, target.float()), wanted, strict=True):
        torch.testing.assert_close(mine, other.float(), atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_it_learns_under_autocast(leaf):
    tree = make(0, leaf=leaf).float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = tree(torch.randn(8, 5, dtype=torch.bfloat16))
    output.float().square().sum().backward()
    assert all(p.grad is not None and p.grad.dtype == p.dtype for p in tree.parameters())


@given(seed=seeds, path=st.sampled_from(["sum", "product"]), height=st.integers(1, 5))
def test_annealed_training_mixes_leaves_and_has_the_exact_gradient(seed, path, height):
    tree = make(seed, max_depth=height, path=path, quantizer="annealed")
    tree.set_progress(0.3)
    x, target = torch.randn(12, 5).double(), torch.randn(12, 3).double()
    steep = tree.quantizer.steepness
    decisions = 2 * torch.sigmoid(steep * tree.activations(x)) - 1
    expected = reference_torch.soft_leaves(decisions, path) @ tree.leaf_values
    torch.testing.assert_close(tree(x), expected)
    wanted = gradients(tree, expected, target)
    for mine, other in zip(gradients(tree, tree(x), target), wanted, strict=True):
        torch.testing.assert_close(mine, other, atol=1e-10, rtol=1e-8)
    tree.eval()
    np.testing.assert_allclose(tree(x).detach().numpy(), tree.to_tree().predict(x.numpy()))


@given(seed=seeds, path=st.sampled_from(["sum", "product"]), height=st.integers(1, 5))
def test_margins_pick_one_leaf_and_pass_on_the_gradient_of_the_mixture(seed, path, height):
    tree = make(seed, max_depth=height, path=path, quantizer="margin")
    tree.set_progress(0.3)
    x, target = torch.randn(12, 5).double(), torch.randn(12, 3).double()
    output = tree(x)
    np.testing.assert_allclose(output.detach().numpy(), tree.to_tree().predict(x.numpy()))
    decisions = 2 * torch.sigmoid(tree.quantizer.steepness * tree.activations(x)) - 1
    mixture = reference_torch.soft_leaves(decisions, path) @ tree.leaf_values.detach()
    # The loss's derivative at the leaf that was picked, carried to the decisions by the mixture.
    slope = 2 * (output - target).detach()
    wanted = torch.autograd.grad((mixture * slope).sum(), list(tree.layers.parameters()))
    mine = torch.autograd.grad((output - target).square().sum(), list(tree.layers.parameters()))
    for one, other in zip(mine, wanted, strict=True):
        torch.testing.assert_close(one, other, atol=1e-10, rtol=1e-8)
