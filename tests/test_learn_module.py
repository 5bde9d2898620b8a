"""TrainableTree against the dense reference: outputs, gradients, hardening."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import reference
from dgtrees.learn import TrainableTree, autograd, module, quantizers
from dgtrees.learn.quantizers import QUANTIZERS, AnnealedSigmoid
from dgtrees.learn.recipe import QUANTIZER_NAMES
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
    for place in (module, quantizers):
        monkeypatch.setattr(place, "compiled", lambda tensor: False)
    monkeypatch.setattr(module, "gradient", SimpleNamespace(**CONSTANTS))  # no kernel is in reach
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
    np.testing.assert_allclose(tree(x).detach().numpy(), tree.harden().predict(x.numpy()))


@given(seed=seeds, path=st.sampled_from(["sum", "product"]), height=st.integers(1, 5))
def test_margins_pick_one_leaf_and_pass_on_the_gradient_of_the_mixture(seed, path, height):
    tree = make(seed, max_depth=height, path=path, quantizer="margin")
    tree.quantizer.set_progress(0.3)
    x, target = torch.randn(12, 5).double(), torch.randn(12, 3).double()
    output = tree(x)
    np.testing.assert_allclose(output.detach().numpy(), tree.harden().predict(x.numpy()))
    decisions = 2 * torch.sigmoid(tree.quantizer.steepness * tree.activations(x)) - 1
    mixture = reference.soft_leaves(decisions, path) @ tree.leaf_values.detach()
    # The loss's derivative at the leaf that was picked, carried to the decisions by the mixture.
    slope = 2 * (output - target).detach()
    wanted = torch.autograd.grad((mixture * slope).sum(), list(tree.layers.parameters()))
    mine = torch.autograd.grad((output - target).square().sum(), list(tree.layers.parameters()))
    for one, other in zip(mine, wanted, strict=True):
        torch.testing.assert_close(one, other, atol=1e-10, rtol=1e-8)


@pytest.mark.parametrize("leaf", ["constant", "linear"])
@pytest.mark.parametrize("quantizer", sorted(QUANTIZERS))
@pytest.mark.parametrize("n_layers", [1, 3])
def test_harden_predicts_as_the_layer_does(leaf, quantizer, n_layers):
    tree = make(1, n_layers=n_layers, hidden=6, quantizer=quantizer, leaf=leaf, max_depth=5).eval()
    x = torch.randn(300, 5).double()
    np.testing.assert_allclose(tree(x).detach().numpy(), tree.harden().predict(x.numpy()))


@pytest.mark.parametrize("n_layers", [1, 3])
def test_a_tree_of_height_0_is_its_leaf(n_layers):
    tree = TrainableTree(3, 2, 0, n_layers=n_layers)
    x = torch.randn(4, 3)
    tree(x).sum().backward()
    assert tree.leaf_values.grad.tolist() == [[4.0, 4.0]]
    assert tree.harden().predict(x.numpy()).shape == (4, 2)


def test_as_a_layer_it_passes_gradients_to_its_input():
    tree = TrainableTree(4, 2, 3)
    x = torch.randn(6, 4, requires_grad=True)
    tree(x).square().sum().backward()
    assert x.grad is not None and x.grad.abs().sum() > 0


def test_scaled_sign_uses_the_mean_activation():
    a = torch.tensor([[0.5, -1.5, 0.1]], requires_grad=True)
    decisions = QUANTIZERS["scaled_sign"]()(a)
    torch.testing.assert_close(decisions, torch.tensor([[0.7, -0.7, 0.7]]))
    decisions.sum().backward()
    assert a.grad.tolist() == [[1.0, 0.0, 1.0]]


def test_lsq_learns_its_step():
    quantizer = QUANTIZERS["lsq"]()
    a = torch.tensor([[0.5, -1.5, 0.25]], requires_grad=True)
    decisions = quantizer(a)
    alpha = quantizer.alpha.item()
    assert alpha == pytest.approx(2 * 2.25 / 3)
    (decisions * torch.tensor([[1.0, 2.0, 3.0]])).sum().backward()
    # Inside the step: sign(a) - a / alpha, weighted by the incoming gradient.
    expected = (1 - 0.5 / alpha) + 2 * (-1 + 1.5 / alpha) + 3 * (1 - 0.25 / alpha)
    assert quantizer.alpha.grad.item() == pytest.approx(expected / 3**0.5, rel=1e-5)
    assert a.grad.tolist() == [[1.0, 2.0, 3.0]]


@pytest.mark.parametrize(("schedule", "middle"), [("linear", 50.5), ("log", 10.0)])
def test_annealing_schedules(schedule, middle):
    quantizer = AnnealedSigmoid(1.0, 1.0, 100.0, schedule)
    seen = []
    for fraction in (0.0, 0.5, 1.0):
        quantizer.set_progress(fraction)
        seen.append(quantizer.steepness)
    assert seen == pytest.approx([1.0, middle, 100.0])


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


def test_recipes_know_every_quantizer():
    assert set(QUANTIZER_NAMES) == set(QUANTIZERS)


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
