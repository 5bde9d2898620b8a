"""The tree's backward pass: compiled, in torch operations, and as the reference has it."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import reference
from dgtrees.learn import TrainableTree, autograd, module, quantizers
from dgtrees.learn.quantizers import QUANTIZERS
from dgtrees.tree import gradient

seeds = st.integers(0, 2**31 - 1)


FORMS = ("SUM_EQUAL", "SUM_GENERAL", "PRODUCT", "HARD")

CONSTANTS = {name: getattr(gradient, name) for name in FORMS}


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


@pytest.mark.parametrize("form", CONSTANTS.values(), ids=FORMS)
@given(seed=seeds, height=st.integers(1, 6))
def test_torch_closed_form_equals_the_numba_kernel(form, seed, height):
    rng = np.random.default_rng(seed)
    decisions = torch.tensor(rng.uniform(-1, 1, size=(9, 2**height - 1)))
    if form == gradient.SUM_EQUAL:
        decisions = 0.7 * decisions.sign()
    scores = torch.tensor(rng.normal(size=(9, 2**height)))
    fast = autograd.decision_gradient(decisions, scores, form)
    torch.testing.assert_close(autograd.closed_form_gradient(decisions, scores, form), fast)


@pytest.mark.parametrize("quantizer", sorted(QUANTIZERS))
@pytest.mark.parametrize("leaf", ["constant", "linear"])
@pytest.mark.parametrize("path", ["sum", "product", "local"])
def test_the_path_for_other_devices_gives_the_same(quantizer, leaf, path, monkeypatch):
    """Everything in torch operations, as on a GPU, run here on the CPU."""
    form = "sum" if path == "local" else path
    tree = make(0, max_depth=4, leaf=leaf, path=form, quantizer=quantizer)
    tree.local = path == "local"
    x, target = torch.randn(16, 5).double(), torch.randn(16, 3).double()
    wanted_output = tree(x)
    wanted = gradients(tree, wanted_output, target)
    for place in (module, autograd, quantizers):
        monkeypatch.setattr(place, "on_cpu", lambda tensor: False)
    for place in (module, autograd):  # no kernel is in reach
        monkeypatch.setattr(place, "gradient", SimpleNamespace(**CONSTANTS))
    output = tree(x)
    torch.testing.assert_close(output, wanted_output)
    for mine, other in zip(gradients(tree, output, target), wanted, strict=True):
        torch.testing.assert_close(mine, other)


@given(seed=seeds, path=st.sampled_from(["sum", "product"]), height=st.integers(1, 5))
def test_annealed_training_mixes_leaves_and_has_the_exact_gradient(seed, path, height):
    tree = make(seed, max_depth=height, path=path, quantizer="annealed")
    tree.quantizer.set_progress(0.3)
    x, target = torch.randn(12, 5).double(), torch.randn(12, 3).double()
    steep = tree.quantizer.steepness
    decisions = 2 * torch.sigmoid(steep * tree.activations(x)) - 1
    expected = reference.soft_leaves(decisions, path) @ tree.leaf_values
    torch.testing.assert_close(tree(x), expected)
    wanted = gradients(tree, expected, target)
    for mine, other in zip(gradients(tree, tree(x), target), wanted, strict=True):
        torch.testing.assert_close(mine, other, atol=1e-10, rtol=1e-8)
    tree.eval()
    np.testing.assert_allclose(tree(x).detach().numpy(), tree.to_tree().predict(x.numpy()))


@given(seed=seeds, path=st.sampled_from(["sum", "product"]), height=st.integers(1, 5))
def test_margins_pick_one_leaf_and_pass_on_the_gradient_of_the_mixture(seed, path, height):
    tree = make(seed, max_depth=height, path=path, quantizer="margin")
    tree.quantizer.set_progress(0.3)
    x, target = torch.randn(12, 5).double(), torch.randn(12, 3).double()
    output = tree(x)
    np.testing.assert_allclose(output.detach().numpy(), tree.to_tree().predict(x.numpy()))
    decisions = 2 * torch.sigmoid(tree.quantizer.steepness * tree.activations(x)) - 1
    mixture = reference.soft_leaves(decisions, path) @ tree.leaf_values.detach()
    # The loss's derivative at the leaf that was picked, carried to the decisions by the mixture.
    slope = 2 * (output - target).detach()
    wanted = torch.autograd.grad((mixture * slope).sum(), list(tree.layers.parameters()))
    mine = torch.autograd.grad((output - target).square().sum(), list(tree.layers.parameters()))
    for one, other in zip(mine, wanted, strict=True):
        torch.testing.assert_close(one, other, atol=1e-10, rtol=1e-8)
