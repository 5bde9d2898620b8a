"""The network of LCN: its tree, its derivatives, its annealing."""

import numpy as np
import pytest
import torch

from dgtrees.paper.baselines.lcn_network import LocallyConstantNetwork


def network(**changes):
    options = {"hidden_layers": 1, "hidden_width": 16, "dropout": 0.0, "anneal": True}
    generator = torch.Generator().manual_seed(0)
    return LocallyConstantNetwork(5, 3, 4, generator=generator, **(options | changes))


@pytest.mark.parametrize("hidden_layers", [0, 1, 3])
def test_the_network_and_its_tree_predict_the_same(hidden_layers):
    net = network(hidden_layers=hidden_layers).eval()
    x = torch.randn(300, 5, generator=torch.Generator().manual_seed(1))
    tree = net.harden()
    with torch.no_grad():
        np.testing.assert_array_equal(tree.apply(x.numpy()), net.pattern(x).numpy())
        np.testing.assert_allclose(tree.predict(x.numpy()), net(x).numpy(), atol=1e-6)
    assert tree.n_leaves == 16


def test_the_hard_units_derivatives_are_those_of_the_leaves():
    net = network(anneal=False)
    x = torch.randn(50, 5, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        trained = net.train()(x)
        evaluated = net.eval()(x)
    torch.testing.assert_close(trained, evaluated, atol=1e-5, rtol=1e-4)


def test_slopes_are_the_derivatives_of_the_activations():
    net = network()
    net.set_progress(0.3)
    x = torch.randn(1, 5, generator=torch.Generator().manual_seed(1))

    def active(row):
        return net._units(row @ net.weights.T + net.bias, torch.tril(net.chain, -1)[None])[0][0]

    # The step of the mixed unit's derivative has none of its own, so autograd sees what we see.
    expected = torch.autograd.functional.jacobian(active, x)[:, 0]
    seen = net._derivatives(x)[0]
    torch.testing.assert_close(seen[:20].view(4, 5), expected)
    torch.testing.assert_close(seen[20:], active(x) - expected @ x[0])


def test_annealing_goes_from_softplus_to_relu():
    net = network()
    assert net.hardness == 0.0
    net.set_progress(1.0)
    assert net.hardness == 1.0
    hard = network(anneal=False)
    hard.set_progress(0.0)
    assert hard.hardness == 1.0
