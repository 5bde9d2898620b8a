"""The layer on every device there is, in every type: nothing on its path is for the CPU only.

The device "meta" has shapes and no numbers, so that whatever asks for numbers, or mixes devices,
fails there on every machine.
"""

import numpy as np
import pytest
import torch
from torch import nn

from dgtrees.nn import QUANTIZERS, TrainableTree, fit_network
from dgtrees.nn.torch_threads import one_torch_thread

DEVICES = ["cpu"]
if torch.cuda.is_available():
    DEVICES.append("cuda")
if torch.backends.mps.is_available():
    DEVICES.append("mps")
TYPES = [
    (device, dtype)
    for device in DEVICES
    for dtype in (torch.float32, torch.float64, torch.bfloat16)
    if (device, dtype) != ("mps", torch.float64)  # which it lacks
]


@pytest.fixture(autouse=True)
def one_thread():
    """On a busy machine, two threads wait for each other at every small step."""
    with one_torch_thread():
        yield


def build(device, dtype, quantizer="margin", leaf="constant", path="sum"):
    generator = torch.Generator().manual_seed(0)
    form = "sum" if path == "local" else path
    tree = TrainableTree(5, 3, 4, quantizer=quantizer, leaf=leaf, path=form, generator=generator)
    tree.local = path == "local"
    return tree.to(device=device, dtype=dtype)


@pytest.mark.parametrize(("device", "dtype"), TYPES)
@pytest.mark.parametrize("path", ["sum", "product", "local"])
@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_outputs_and_gradients_stay_on_their_device_and_in_their_type(device, dtype, path, leaf):
    for quantizer in sorted(QUANTIZERS):
        tree = build(device, dtype, quantizer, leaf, path)
        x = torch.randn(16, 5, device=device, dtype=dtype, requires_grad=True)
        output = tree(x)
        output.square().sum().backward()
        assert (output.device.type, output.dtype, x.grad.dtype) == (device, dtype, dtype)
        for parameter in tree.parameters():
            assert parameter.grad is not None and parameter.grad.isfinite().all()


@pytest.mark.parametrize("path", ["sum", "product", "local"])
@pytest.mark.parametrize("leaf", ["constant", "linear"])
@pytest.mark.parametrize("quantizer", sorted(set(QUANTIZERS) - {"lsq"}))
def test_nothing_asks_for_numbers_or_leaves_the_device(quantizer, leaf, path):
    """LSQ asks once whether it has started."""
    tree = build("meta", torch.float32, quantizer, leaf, path)
    x = torch.randn(16, 5, device="meta", requires_grad=True)
    output = tree(x)
    output.square().sum().backward()
    assert output.device.type == x.grad.device.type == "meta" and output.shape == (16, 3)
    assert tree.eval()(x).device.type == "meta"


@pytest.mark.parametrize("device", DEVICES)
def test_a_network_is_trained_and_hardened_wherever_it_is(device):
    torch.manual_seed(0)
    X = torch.randn(200, 9)
    y = (X[:, 0] > 0).long()
    net = nn.Sequential(nn.Linear(9, 5), nn.BatchNorm1d(5), TrainableTree(5, 2, 3)).to(device)
    batches = list(zip(X.split(50), y.split(50), strict=True))  # of the CPU
    losses = fit_network(net, batches, nn.functional.cross_entropy, epochs=8)
    assert losses[-1] < 0.8 * losses[0]
    with torch.no_grad():
        below = net[:2](X.to(device))
        wanted = net[2](below).argmax(dim=1)
    model = net[2].harden(classes=[0, 1])
    found = model.predict(below.cpu().double().numpy())
    assert np.mean(found == wanted.cpu().numpy()) > 0.99
